# SPDX-License-Identifier: GPL-2.0
"""Lua runs ended by a limit or a signal at any point: the script stays usable.

usage: stopped.py: in the kernel, as an ordinary process of its own
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from library import KERNEL, Library

CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
MS = 10**6
LIMITS = {errno.ETIMEDOUT: 100, errno.EINTR: 10}  # ms

LOOPS = {
    "loop": "while true do end",
    "for": "for i = 1, 1e15 do end",
    "tail calls": "local function f() return f() end f()",
    "recursion": "local function f(n) if n > 1 then f(n - 1) f(n - 2) end end f(80)",
    "caught": "while true do pcall(function() while true do end end) end",
    "handler": "xpcall(function() while true do end end, function() while true do end end)",
    "system calls": "while true do syscall.getppid() end",
    "system calls of a for": "for i = 1, 1e15 do getppid() end",
    "results of a for": "for i = 1, 1e15 do stop = lseek(-1, i, 0) end",
    "field": "local t = { x = 1 } while true do local x = t.x end",
    "fields": "local t = { x = 1 } while true do t.x = t.x + t.x end",
    "coroutine": "coroutine.wrap(function() while true do end end)()",
    "yields": "local f = coroutine.wrap(function() while true do coroutine.yield() end end)\n"
    "while true do pcall(f) end",
    "yields to a local pcall()": "local pcall = pcall\n"
    "local f = coroutine.wrap(function() while true do coroutine.yield() end end)\n"
    "while true do pcall(f) end",
    "metamethod": "return setmetatable({}, { __index = function() while true do end end }).x",
    "sort": "table.sort({ 3, 2, 1 }, function() while true do end end)",
    "gsub": "(('x'):rep(99)):gsub('.', function() while true do end end)",
    "pattern": "(('a'):rep(50)):find(('a?'):rep(50) .. ('a'):rep(50))",
    "text": "while true do local s = ('x'):rep(1e5) end",
    "memory": "while true do local t = {} for i = 1, 99 do t[i] = {} end end",
}

# Globals set by earlier calls persist: one more entry each time.
SCRIPT = """
local kept, getppid, lseek = {}, syscall.getppid, syscall.lseek
function run(stop)
  kept[#kept + 1] = { #kept + 1 }
  if stop == 1 then %s end
  collectgarbage()
  local sum = 0
  for i = 1, #kept do sum = sum + kept[i][1] end
  return sum
end
"""


def outcomes(library: Library, loop: str, backend: int, why: int) -> list[tuple[int, int, str]]:
    """The results of two calls that end for @why, each followed by a call that does not loop.

    Texts are without the line, which is one of the loop's if it is known: if a compiled function
    was left.
    """
    lines = range(5, 6 + loop.count("\n"))
    options = {"backend": backend, "engine": CONFINED, "memory": 4 << 20}
    if why == errno.ETIMEDOUT:
        options["wall_limit_ns"] = LIMITS[why] * MS
    else:
        options["grace_ns"] = LIMITS[why] * MS
    # On a busy machine the wait may take longer.
    for _ in range(9):
        fd, text = library.register(SCRIPT.encode() % loop.encode(), **options)
        if fd != -errno.ETIMEDOUT:
            break
    assert fd >= 0, text
    ends = []
    for stop in (1, 0, 1, 0):
        if why == errno.EINTR and stop:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        count, result = library.call(fd, stop)
        text = library.error(fd) if count < 0 else ""
        known = re.match(r"test:(\d+): ", text)
        assert not known or int(known[1]) in lines, text
        ends.append((count, result, re.sub(r"^test:\d+: ", "test: ", text)))
    os.close(fd)
    return ends


def expected(why: int) -> list[tuple[int, int, str]]:
    text = {
        errno.ETIMEDOUT: f"test: over the wall-clock limit of {LIMITS[why]} ms",
        errno.EINTR: f"test: a signal was pending for {LIMITS[why]} ms",
    }[why]
    return [(-why, 0, text), (1, 1 + 2, ""), (-why, 0, text), (1, 1 + 2 + 3 + 4, "")]


def seen(library: Library, loop: str, backend: int, why: int) -> list[tuple[int, int, str]]:
    """outcomes(), retried if other tasks had the CPU during a call that does not loop."""
    for _ in range(3):
        found = outcomes(library, loop, backend, why)
        if found == expected(why):
            break
    return found


def main() -> None:
    library = Library()
    signal.signal(signal.SIGALRM, lambda *_: None)
    # Only a few cases: the others do not differ there, and emulation is slow.
    cases = [(errno.EINTR, name) for name in ("loop", "system calls", "caught", "coroutine")]
    for why, name in cases:
        found = seen(library, LOOPS[name], KERNEL, why)
        if found != expected(why):
            print(f"{name}: {found}")
    print("done")


if __name__ == "__main__":
    main()
