# SPDX-License-Identifier: GPL-2.0
"""Memory runs out at every allocation: the limit is raised step by step.

Each registration and call ends in success or in ENOBUFS (never in another error or a broken
kernel), the same limit suffices each time, and all memory is released.

Slightly more than enough may be too little: the placement of the heap's blocks depends on the limit
and on the module's hash seed, and a growing buffer needs contiguous memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest
from footprint import REFCNT
from library import Library

NOJIT = 1
MINIMUM = 64 << 10
STEPS = 250


# Each makes other kinds of objects; all return the same under any limit.
SOURCES = {
    "tables": b"""function run() local t = {}
        for i = 1, 400 do t[i] = { i, k = i, [i + 0.5] = {} } end
        local s = 0 for i = 1, 400 do s = s + t[i][1] + t[i].k end return s end""",
    "strings": b"""function run() local t = {}
        for i = 1, 400 do t[i] = ("item %d "):format(i):rep(8) end
        return #table.concat(t, ",") end""",
    "closures": b"""function run() local t = {}
        for i = 1, 500 do local a, b = i, {} t[i] = function() a = a + 1 return a, b end end
        local s = 0 for i = 1, 500 do s = s + t[i]() end return s end""",
    "coroutines": b"""function run() local t, s = {}, 0
        local function f(x, i) while true do x = coroutine.yield(x + i) end end
        for i = 1, 60 do t[i] = coroutine.create(f) end
        for k = 1, 3 do for i = 1, 60 do local _, v = coroutine.resume(t[i], k, i) s = s + v end end
        return s end""",
    "stack": b"""local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end
        function run() return f(1500) + select("#", unpack({}, 1, 2000)) end""",
    "traces": b"""function run() local s = 0
        for k = 1, 20 do s = s + loadstring("local s = 0 for i = 1, 80 do s = s + i * " .. k
            .. " % 7 end return s")() end return s end""",
    "toplevel": b"""local t = {} for i = 1, 600 do t[i] = { tostring(i) } end
        function run() return #t end""",
    "parser": b"function run() local t = {"
    + b",".join(b"%d.5" % i for i in range(1500))
    + b"} return #t end",
    "patterns": b"""function run() local s = ("key=value;"):rep(300) local t = {}
        for k, v in s:gmatch("(%w+)=(%w+)") do t[#t + 1] = k .. v end
        return #t + #s:gsub("%w+", function(w) return w:upper() .. w end) end""",
    "errors": b"""function run() local n = 0
        for i = 1, 100 do local ok, e = pcall(error, { i, ("x"):rep(i) }) n = n + #e[2]
            ok, e = pcall(function() local x = nil + i end) n = n + #e end return n end""",
}


@pytest.fixture
def library() -> Iterator[Library]:
    """libsyscript; its memory is released by the end of the test."""
    before = REFCNT.read_text()
    yield Library()
    assert REFCNT.read_text() == before


def attempt(library: Library, source: bytes, memory: int, flags: int) -> int | None:
    """The script's result, or None for ENOBUFS; anything else fails the test."""
    fd, text = library.register(source, memory, flags)
    if fd < 0:
        assert fd == -errno.ENOBUFS, (memory, fd, text)
        assert "memory limit" in text
        return None
    try:
        count, result = library.call(fd)
        if count == 1:
            return result
        assert count == -errno.ENOBUFS, (memory, count, library.error(fd))
        assert "memory limit" in library.error(fd)
        # Dead from now on, and reported as such.
        assert library.call(fd)[0] == -errno.ENOTRECOVERABLE
        return None
    finally:
        os.close(fd)


def enough(library: Library, source: bytes, flags: int) -> tuple[int, int]:
    """A sufficient limit, within 1 KiB, and the result."""
    low, high = MINIMUM, 8 << 20
    want = attempt(library, source, high, flags)
    assert want is not None
    while high - low > 1024:
        middle = (low + high) // 2 & ~7
        if attempt(library, source, middle, flags) is None:
            low = middle
        else:
            high = middle
    return high, want


@pytest.mark.sample(6)
@pytest.mark.parametrize("flags", [0, NOJIT], ids=["jit", "interp"])
@pytest.mark.parametrize("name", SOURCES)
def test_sweep(name: str, flags: int, library: Library) -> None:
    source = SOURCES[name]
    top, want = enough(library, source, flags)
    # An odd step covers every alignment.
    step = max((top - MINIMUM) // STEPS, 8) | 1
    results = [
        attempt(library, source, memory, flags) for memory in range(MINIMUM, top + 8 * step, step)
    ]
    assert set(results) <= {None, want}
    assert want in results
    if top > MINIMUM + 1024:
        assert results[0] is None
    for memory in (top, 2 * top):
        assert [attempt(library, source, memory, flags) for _ in range(5)] == [want] * 5


def test_several_calls(library: Library) -> None:
    """A script that grows with each call works up to its limit, then is dead."""
    source = b"local t = {} function run() for i = 1, 200 do t[#t + 1] = { i } end return #t end"
    for memory in range(MINIMUM, MINIMUM + 65536, 4099):
        fd, text = library.register(source, memory, 0)
        assert fd >= 0, text
        calls = 0
        while (found := library.call(fd))[0] == 1:
            calls += 1
            assert found[1] == 200 * calls
            assert calls < 1000
        assert found[0] == -errno.ENOBUFS
        assert library.call(fd)[0] == -errno.ENOTRECOVERABLE
        os.close(fd)


def test_out_of_range(library: Library) -> None:
    for memory in (1, 4096, MINIMUM - 1, 1 << 50, (1 << 64) - 1):
        fd, _ = library.register(SOURCES["tables"], memory, 0)
        assert fd == -errno.EINVAL, memory
