# SPDX-License-Identifier: GPL-2.0
"""Scripts that overwrite their own functions, tables and strings before the library reads them.

usage: overwritten.py FIRST LAST

A script may write anywhere in its arena and its process. Whatever it writes, the library's Lua
compiler must succeed or give up, within bounds and time. Each script of the seeds from FIRST to
LAST - 1 is registered and called in a process of its own. Prints how many scripts were refused, ran
and failed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from library import Library

USER, CONFINED = 2, 0x101  # SYSCRIPT_BACKEND_USER, SYSCRIPT_LUA_ON_CONFINED
SCRIPT = """
local b = util.buffer(64)
local function f(a, c)
  local t = {{ a, c, x = a }}
  for i = 1, 10 do t[i] = a + i end
  return #t, t.x
end
local up = 5
local function g(n) if n == 0 then return up end up = up + 1 return g(n - 1) end
function run(n)
  local s = 0
  for i = 1, 20 do s = s + f(i, up) + g(3) end
  syscall.getppid()
  syscall.lseek(-1, 0, 0)
  return s
end
-- Of objects that are there already, and around them.
local near = tonumber(tostring(run):match("0x%x+"))
near = near - near % 8
local words = {{ {words} }}
for i = 1, #words, 2 do
  local v = words[i + 1]
  util.poke(near + words[i], "u4", (v < 0 and near - v or v) % 2 ^ 32)
end
"""
REFUSED, RAN, FAILED = 1, 2, 3
ENDS = {REFUSED: "refused", RAN: "ran", FAILED: "failed"}


def script(seed: int) -> bytes:
    """Some words contain addresses of other objects, small numbers or random bits."""
    rng = random.Random(seed)
    words: list[int] = []
    for _ in range(rng.choice([1, 5, 30, 60])):
        value = rng.choice([0, 1, 5, rng.getrandbits(31), rng.getrandbits(8), -rng.getrandbits(14)])
        words += [rng.randrange(-0x4000, 0x2000, 8) + rng.choice([0, 0, 4]), value]
    return SCRIPT.format(words=", ".join(map(str, words))).encode()


def end_of(library: Library, seed: int) -> int:
    limits = {"time_limit_ns": 200_000_000, "wall_limit_ns": 500_000_000}
    fd, _ = library.register(script(seed), engine=CONFINED, backend=USER, **limits)
    if fd < 0:
        return REFUSED
    count, _ = library.call(fd, 3)
    library.so.syscript_close(fd)
    return RAN if count >= 0 else FAILED


def main() -> None:
    library, seen = Library(), Counter[str]()
    library.register(b"function run() end", engine=CONFINED, backend=USER)
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        if not (child := os.fork()):
            signal.alarm(60)
            os._exit(end_of(library, seed))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in ENDS:
            sys.exit(f"seed {seed} ended by {code}")
        seen[ENDS[code]] += 1
    print(*(seen[end] for end in ENDS.values()))


if __name__ == "__main__":
    main()
