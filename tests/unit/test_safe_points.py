# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Long operations of LuaJIT have safe points, at which limits end them.

In the kernel these are also where other tasks get the CPU; `make bench-latency` counts them.
"""

from __future__ import annotations

import errno
import time

import pytest
from library import Library

USER = 2  # SYSCRIPT_BACKEND_USER
LUAJIT = 0x100  # SYSCRIPT_LUA_ON_LUAJIT
MEMORY = 16 << 20
NO_LIMIT, LIMIT = 9_000_000_000, 1_000_000  # ns
TRIES = 30

# Setup, and an operation that takes quadratic or cubic time, or processes megabytes. A chunk has a
# name, as copying its text would reach safe points of its own.
LABELS = """
local lines = {}
for i = 1, 3000 do lines[i] = "::l" .. i .. ":: x = 1" end
for i = 1, 6000 do lines[#lines + 1] = "goto out" end
local source = "do if x then " .. table.concat(lines, " ") .. " end end"
"""
ALIASES = """
local x, lines = {}, { "local x, p, q = ... local s, a = 0 for i = 1, 60 do local n = { 0, 0, 0 }" }
for k = 1, 230 do
  x[k] = { 1, 2, 3 }
  lines[#lines + 1] = ("a = x[%d] n[p] = a[q] s = s + a[p]"):format(k)
end
local f = load(table.concat(lines, "\\n") .. " s = s + n[p] end return s")
"""
OPERATIONS = {
    "labels": (LABELS, "load(source)"),
    "aliases of loads in a trace": (ALIASES, "f(x, 2, 3)"),
    "escapes of a format": ("local s = ('%%'):rep(2500000)", "string.format(s)"),
    "a long pattern": ("local s = ('x'):rep(6000000)", "local at = ('a'):find(s)"),
    "a long pattern that matches": ("local s = ('x'):rep(6000000)", "local at = s:match(s)"),
    "a long set": ("local s = '[' .. ('x'):rep(4000000) .. ']'", "local at = ('abc'):find(s)"),
    "a long replacement": ("local s = ('x'):rep(4000000)", "local n = #('y'):gsub('y', s)"),
    "blanks": ("local s = (' '):rep(6000000)", 'load(s, "=s")'),
    "comments": ("local s = ('--\\n'):rep(2000000)", 'load(s, "=s")'),
    "a long bracket": ("local s = '[' .. ('='):rep(3000000)", 'load(s, "=s")'),
}


def cpu_time(name: str, limit: int) -> tuple[int, int]:
    """The thread's CPU time in ns, and the call's result."""
    library = Library()
    before, operation = OPERATIONS[name]
    source = f"{before}\nfunction run() {operation} end".encode()
    fd, text = library.register(source, MEMORY, backend=USER, engine=LUAJIT, time_limit_ns=limit)
    assert fd >= 0, text
    since = time.thread_time_ns()
    result, _ = library.call(fd)
    took = time.thread_time_ns() - since
    library.so.syscript_close(fd)
    return took, result


@pytest.mark.parametrize("name", OPERATIONS)
def test_limits_end_it_in_the_middle(name: str) -> None:
    """Several tries: the task that enforces the limit needs a CPU before the operation ends."""
    whole, _ = cpu_time(name, NO_LIMIT)
    assert whole > 3 * LIMIT
    for _ in range(TRIES):
        took, result = cpu_time(name, LIMIT)
        assert result in (0, -errno.ETIME)
        if result and took < whole / 3:
            return
    raise AssertionError(f"{result} after {took / 1e6} ms, of {whole / 1e6}")
