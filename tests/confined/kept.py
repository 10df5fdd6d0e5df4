# SPDX-License-Identifier: GPL-2.0
"""Lua scripts that begin as an earlier one of their text has ended its top level (lua_kept.h).

usage: kept.py BACKEND

Raises if a script begins with what is not its own, or runs a top level again for no reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from confined.kernel import libc
from library import KERNEL, Info, Library

CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
# So long that a script's time shows whether its top level has run.
SPIN = "local n = 0 for i = 1, 2e4 do n = n + i % 7 end\n"
RUN = "\nfunction run(where) if where then return util.buffer(8) end return n end"
# A script is kept for any arena unless the lower half of its own arena's address is below.
NUMBERS_END = 16 << 20
LEAST_GAP, LARGEST_GAP = 1 << 20, 1 << 28  # less, and more, than is mapped for an arena

# What a top level may do for its script to be kept for all arenas, ...
KEPT = {
    "tables": "local t = { 1, 2, x = { 'y' }, [3.5] = true, [false] = 7 }",
    "closures": "local function f() return n end g = function() return f() end",
    "coroutine": "co = coroutine.wrap(function() coroutine.yield(1) end) co()",
    "constants": "local a, b = const.O_RDONLY, errno.ENOENT",
    "calls": "local close = syscall.close",
    "text": "s = ('abc'):rep(50):upper() .. ('%d %s'):format(7, 'x')",
    "numbers": "math.randomseed(5) r = math.random(100)",
    "caught": "e = select(2, pcall(error, 'x'))",
    "collected": "for i = 1, 1000 do local t = { i } end collectgarbage()",
}
# ... for an arena at the same address, ...
FIXED = {
    "buffer": "b = util.buffer(16) util.poke(b, 'i4', 7)",
    "name": "s = tostring({})",
    "format": "s = ('%p'):format(print)",
    "key": "t = { [print] = 1 }",
    "looked up": "local seen = {} seen[{}] = true",
    "types": "local b = util.buffer(8) s = util.types and 1",
}
# ... and for none.
ANEW = {
    "call": "syscall.getpid()",
    "refused call": "syscall.close(-1)",
    "memory": "pcall(util.peek, 8)",
    "own memory": "util.str_in(@, 4)",
    "file": "fs.read_file(-100, @, @, 0)",
    "seed": "math.randomseed()",
    "output": "print('x')",
    "large buffer": "b = util.buffer(65536)",
    "signal": "p = util.pending()",
}


class Scripts:
    """Registers and calls scripts."""

    def __init__(self, backend: int) -> None:
        self.library, self.backend = Library(), backend
        self.seen = ctypes.create_string_buffer(b"seen")

    def register(self, source: str, **more: int) -> int:
        fd, text = self.library.register(
            source.encode("latin-1"), engine=CONFINED, backend=self.backend, **more
        )
        assert fd >= 0, text
        return fd

    def has_run(self, fd: int) -> bool:
        info = Info()
        assert self.library.so.syscript_info(fd, ctypes.byref(info)) == 0
        return info.run_time > 0

    def call(self, fd: int, *args: int) -> int:
        count, result = self.library.call(fd, *args)
        assert count == 1, self.library.error(fd)
        return result

    def close(self, *fds: int) -> None:
        for fd in fds:
            self.library.so.syscript_close(fd)


def runs_of(scripts: Scripts, top: str) -> tuple[list[bool], bool]:
    """Does it run for a first script, for one at another address, and at the last one's?

    And may it be kept for any arena, where it is?
    """
    source = SPIN + top.replace("@", str(ctypes.addressof(scripts.seen))) + RUN
    first, second = scripts.register(source), scripts.register(source)
    runs = [scripts.has_run(first), scripts.has_run(second)]
    scripts.close(second)
    third = scripts.register(source)
    runs.append(scripts.has_run(third))
    assert scripts.call(first) == scripts.call(third)
    moves = (scripts.call(first, 1) & 0xFFFFFFFF) >= NUMBERS_END
    scripts.close(first, third)
    return runs, moves


def check_runs(scripts: Scripts) -> None:
    """In the process alone: the kernel begins to count when compiled functions replace the text."""
    if scripts.backend == KERNEL:
        return
    for tops, expected in ((KEPT, [False, False]), (FIXED, [True, False]), (ANEW, [True, True])):
        for name, top in tops.items():
            runs, moves = runs_of(scripts, top)
            assert runs == [True, expected[0] or not moves, expected[1]], name


@contextlib.contextmanager
def room_below(low: int) -> Iterator[None]:
    """What is mapped next lies below an address whose lower half is @low."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    taken: list[tuple[int, int]] = []

    def take(size: int) -> int:
        taken.append((libc.mmap(None, size, 0, flags, -1, 0), size))
        return taken[-1][0]

    # Gaps above go first: from then on each mapping lies below the one before.
    lowest = take(LARGEST_GAP)
    while (at := take(LEAST_GAP)) > lowest:
        pass
    take(((at - low) & 0xFFFFFFFF) or 1 << 32)
    try:
        yield
    finally:
        for place, size in taken:
            libc.munmap(place, size)


def check_low_halves(scripts: Scripts) -> None:
    """An arena whose address could be mistaken for a number: see NUMBERS_END."""
    if scripts.backend == KERNEL:
        return
    with room_below(NUMBERS_END - (4 << 20)):
        runs, moves = runs_of(scripts, KEPT["tables"])
    assert (runs, moves) == ([True, True, False], False)


def check_own_state(scripts: Scripts) -> None:
    """Scripts of a text share nothing: tables, upvalues, coroutines."""
    source = """
        local t, n = { 10, s = "abc" }, 0
        local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
        local words = { "one", "two", "three" }
        function run(by)
          t[1], n = t[1] + by, n + 1
          words[#words + 1] = t.s:rep(n)
          return t[1] * 10000 + co() * 100 + #table.concat(words)
        end"""
    fds = [scripts.register(source) for _ in range(6)]
    for turn in range(1, 4):
        for by, fd in enumerate(fds):
            words = 11 + sum(3 * i for i in range(1, turn + 1))
            assert scripts.call(fd, by) == (10 + turn * by) * 10000 + turn * 100 + words
    scripts.close(*fds)


def check_inputs(scripts: Scripts) -> None:
    """A top level that reads another number each time."""
    value, open_fds = ctypes.c_int(), []
    source = f"""
        local k = util.peek({ctypes.addressof(value)}, "i4")
        local t = {{ 7, k }}
        local f = k % 2 == 0 and function(n) return n + k end or function(n) return n - k end
        function run(n) return f(n) + 100 * k + 1000 * t[2] end"""
    for number in (1, 1, 2, 2, 4, 1, 1, 3):
        value.value = number
        fd = scripts.register(source)
        sign = -1 if number % 2 else 1
        assert scripts.call(fd, 10) == 10 + sign * number + 1100 * number
        open_fds.append(fd)
        if len(open_fds) % 3 == 0:
            scripts.close(open_fds.pop())
    scripts.close(*open_fds)


def check_addresses(scripts: Scripts) -> None:
    """Each script has its own buffer, and its tables are ordered by its own addresses."""
    source = """
        local buffer, keys, set = util.buffer(8), {}, {}
        for i = 1, 50 do keys[i] = {} set[keys[i]] = i end
        util.poke(buffer, "i4", 7)
        function run(by)
          util.poke(buffer, "i4", util.peek(buffer, "i4") + by)
          local sum = 0
          for i = 1, 50 do sum = sum + set[keys[i]] end
          return util.peek(buffer, "i4") * 10000 + sum
        end"""
    fds = [scripts.register(source) for _ in range(4)]
    for turn in range(1, 3):
        for by, fd in enumerate(fds):
            assert scripts.call(fd, by) == (7 + turn * by) * 10000 + 1275
    scripts.close(*fds)


def check_rights(scripts: Scripts) -> None:
    """Rights, limits and names are each script's own, too."""
    source = """
        local ok, open = pcall(function() return syscall.open end)
        function run()
          if not ok then return -1 end
          return open("/", const.O_RDONLY) >= 0 and 1 or 0
        end"""
    allowed, denied = scripts.register(source), []
    for only in (b"getpid", b"close", b""):
        denied.append(scripts.register(source, only=only))
        assert scripts.call(denied[-1]) == -1
    again = scripts.register(source)
    assert scripts.call(allowed) == scripts.call(again) == 1
    scripts.close(allowed, again, *denied)
    for name in (b"one", b"two"):
        fd = scripts.register("function run() error('x') end", name=name)
        scripts.library.call(fd)
        assert scripts.library.error(fd).startswith(f"{name.decode()}:1: x")
        scripts.close(fd)


def digest(text: bytes) -> int:
    """digest_of() in lua_kept.c, of whole words."""
    result = len(text)
    for i in range(0, len(text), 8):
        word = int.from_bytes(text[i : i + 8], "little")
        result = (result ^ word) * 0x9E3779B97F4A7C15 % 2**64
    return result


def collision() -> tuple[bytes, bytes]:
    """Two texts with one digest."""
    tail = b"]]  function run() return k end "
    for i in range(1000):
        one, other = f"k=1--[[{i % 10}".encode(), f"k=2--[[{i // 10 % 10}".encode()
        size = 16 + len(tail)
        wanted = [(size ^ int.from_bytes(w, "little")) * 0x9E3779B97F4A7C15 for w in (one, other)]
        first = b"%08d" % i
        second = int.from_bytes(first, "little") ^ (wanted[0] ^ wanted[1]) % 2**64
        found = one + first + tail, other + second.to_bytes(8, "little") + tail
        if not set(b"\n\r\0]\\") & set(found[1][8:16]):
            return found
    raise AssertionError("no collision")


def check_collision(scripts: Scripts) -> None:
    """Texts of the same length and digest are told apart."""
    one, other = collision()
    assert one != other
    assert digest(one) == digest(other)
    for _ in range(2):
        fds = [scripts.register(text.decode("latin-1")) for text in (one, other)]
        assert [scripts.call(fd) for fd in fds] == [1, 2]
        scripts.close(*fds)


def check_many(scripts: Scripts) -> None:
    """More texts than are kept, which stay right while others displace theirs."""
    fds = {k: scripts.register(f"local k = {k} function run() return k end") for k in range(30)}
    for k in list(fds):
        fds[k + 100] = scripts.register(f"local k = {k} function run() return k end")
    assert all(scripts.call(fd) == k % 100 for k, fd in fds.items())
    scripts.close(*fds.values())


CHECKS: list[Callable[[Scripts], None]] = [
    check_runs,
    check_low_halves,
    check_own_state,
    check_inputs,
    check_addresses,
    check_rights,
    check_collision,
    check_many,
]


def main() -> None:
    scripts = Scripts(int(sys.argv[1]))
    for check in CHECKS:
        check(scripts)


if __name__ == "__main__":
    main()
