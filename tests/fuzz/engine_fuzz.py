# SPDX-License-Identifier: GPL-2.0
"""Compares the engines in this process: one language, one result.

Random programs, fractions included, are run by LuaJIT and by Lua on the confined engine,
interpreted and with its functions compiled. All must print the same, to the last digit, and end in
the same way.

With --state, a run that was stopped goes on where it stood.

usage: engine_fuzz.py [--seconds N | --programs N] [--seed N] [--keep DIR] [--state FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import os
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_grammar import PRELUDE, Fast, integers, loops, mathematics, shared, texts
from library import BUILD, Info, Options
from lua_grammar import Generator

USER = 2  # SYSCRIPT_BACKEND_USER
NOJIT = 1  # SYSCRIPT_NOJIT
# SYSCRIPT_LUA_ON_LUAJIT, SYSCRIPT_LUA_ON_CONFINED
LUAJIT, CONFINED = 0x100, 0x101
# Variants: the engine, and whether the library compiles functions for it.
WAYS = {
    "LuaJIT": (LUAJIT, "no"),
    "interpreted": (CONFINED, "no"),
    "compiled": (CONFINED, "all"),
}
# Programs per script: registering a script costs more than running it.
PACK = 120
TELL = 60 * PACK
# The most machine code of a script without compiled functions.
STUBS = 4096
# LuaJIT runs first; a program that takes it more than LONG seconds is dropped, because the other
# engines take up to ten times as long. Most programs take a tenth of LONG.
LONG = 0.002
LUAJIT_LIMIT = 40 * 10**6
# On a busy machine a limit may be exceeded before the first call.
ATTEMPTS = 10
TIME_LIMIT = 400 * 10**6
WALL_LIMIT = 60 * 10**9
MEMORY_LIMIT = 16 << 20
# Where a limit is exceeded may differ between engines, and so may the depth of a stack.
OVER = (
    "over the time limit",
    "over the wall-clock",
    "over the memory limit",
    "not enough memory",
    "stack overflow",
)

# A status, an error message and the output.
End = tuple[int, bytes, bytes]


def grammatical(rng: random.Random) -> str:
    # If a table has holes, any border is its length: use the first.
    return re.sub(r"#(t\d+)", r"N(\1)", Generator(rng, rounds=(3, 10)).program(size=5))


def program(seed: str) -> str:
    rng = Fast(seed)
    return rng.choice(KINDS)(rng)


# Weights of the kinds of programs.
KINDS = [
    *[loops] * 32,
    *[texts] * 24,
    *[shared] * 20,
    *[integers] * 14,
    *[mathematics] * 9,
    grammatical,
]


def over(end: End) -> bool:
    return any(text.encode() in end[1] for text in OVER)


def first_line(ends: list[End]) -> str:
    lines = [[*output.split(b"\n"), error] for _, error, output in ends]
    rows = (row for row in zip(*lines, strict=False) if len(set(row)) > 1)
    row = next(rows, [b"%d" % status for status, _, _ in ends])
    return "".join(f"  {name}: {text!r}\n" for name, text in zip(WAYS, row, strict=True))


def blank(program: str) -> str:
    """An empty program of as many lines, so that line numbers of the others do not change."""
    return "\n" * program.count("\n") + "run = nil"


def packed(programs: list[str]) -> str:
    """One script that contains all programs."""
    texts = "".join(f"do\n{p}\nall[#all + 1] = run or false\nend\n" for p in programs)
    return f"{PRELUDE}{texts}{RUN}"


RUN = """\
function run(i)
	global1, global2, z, k = nil, nil, nil, nil
	for i = 1, 4 do sv[i].a, sv[i].b = 0, 0 end
	util.fill(buf, 0, 64)
	return all[i]()
end
"""


class Refused(Exception):
    """A pack that could not be compared; the text says why."""


class Slow(Refused):
    """A limit was exceeded before the first call."""


class Engines:
    def __init__(self) -> None:
        # Indexes of programs in a script that took LuaJIT too long.
        self.long: set[int] = set()
        self.library = ctypes.CDLL(str(BUILD / "libsyscript.so"), use_errno=True)
        self.error = ctypes.create_string_buffer(2048)
        self.output = ctypes.create_string_buffer(1 << 15)
        # Keep the shared runtime, which exists while there is a script.
        self.register("function run() end", WAYS["interpreted"])

    def register(self, source: str, way: tuple[int, str]) -> int:
        engine, os.environ["SYSCRIPT_LUA_COMPILE"] = way
        text = source.encode()
        limit = LUAJIT_LIMIT if engine == LUAJIT else TIME_LIMIT
        options = Options(
            size=ctypes.sizeof(Options), name=b"random", flags=NOJIT, backend=USER, engine=engine,
            memory_limit=MEMORY_LIMIT, time_limit_ns=limit, wall_limit_ns=WALL_LIMIT,
        )  # fmt: skip
        self.error.value = b""
        return self.library.syscript_register(
            text, len(text), ctypes.byref(options), self.error, 2048
        )

    def run(self, programs: list[str], way: tuple[int, str]) -> list[End]:
        """The end and output of each program of a script."""
        for _ in range(ATTEMPTS):
            fd = self.register(packed(programs), way)
            end = fd, self.error.value, b""
            if fd >= 0 or not over(end):
                break
        if fd < 0:
            raise (Slow if over(end) else Refused)(f"not registered, {way}: {end}")
        self.check_code(fd, way)
        ends: list[End] = []
        while len(ends) < len(programs) and not (ends and over(ends[-1])):
            ends.append(self.call(fd, len(ends) + 1))
        self.library.syscript_close(fd)
        if len(ends) == len(programs):
            return ends
        # A script that exceeded a limit is dead: run the remaining programs in a new one.
        done = [blank(p) for p in programs[: len(ends)]]
        return ends + self.run(done + programs[len(ends) :], way)[len(ends) :]

    def check_code(self, fd: int, way: tuple[int, str]) -> None:
        """Code that cannot be compiled is interpreted silently: check that it was compiled."""
        info = Info()
        self.library.syscript_info(fd, ctypes.byref(info))
        if way[0] == CONFINED and (info.own()["mcode"] > STUBS) != (way[1] != "no"):
            self.library.syscript_close(fd)
            raise Refused(f"{way}, but has {info.own()} of code")

    def call(self, fd: int, i: int) -> End:
        self.error.value = b""
        since = time.thread_time()
        status = self.library.syscript_call(fd, 1, (ctypes.c_int64 * 1)(i), 0, None)
        if time.thread_time() - since > LONG:
            self.long.add(i - 1)
        if status < 0:
            self.library.syscript_error(fd, self.error, 2048)
        n = self.library.syscript_output(fd, self.output, ctypes.sizeof(self.output))
        if n < 0:
            raise Refused(f"no output of program {i}: {n}, status {status}")
        return min(status, 0), self.error.value, self.output.raw[:n]

    def differences(self, programs: list[str]) -> tuple[int, list[tuple[str, str]]]:
        """The number of programs compared, and those that differ."""
        first, *others = WAYS.values()
        self.long = set()
        ends = self.run(programs, first)
        short = [not over(end) and i not in self.long for i, end in enumerate(ends)]
        programs = [p if keep else blank(p) for p, keep in zip(programs, short, strict=True)]
        seen = [ends, *(self.run(programs, way) for way in others)]
        compared, found = 0, []
        for program, keep, *all_ends in zip(programs, short, *seen, strict=True):
            if not keep or any(map(over, all_ends)):
                continue
            # A program without output proves nothing, as when run() was not called.
            compared += all(output for _, _, output in all_ends)
            if any(end != all_ends[0] for end in all_ends):
                found.append((program, first_line(all_ends)))
        return compared, found


@dataclasses.dataclass
class Progress:
    """Programs made and compared from a seed, with how many of them differed or were too slow."""

    seed: int
    made: int = 0
    done: int = 0
    failures: int = 0
    slow: int = 0

    @classmethod
    def load(cls, path: Path | None, seed: int | None) -> Progress:
        if path and path.exists():
            return cls(**json.loads(path.read_text()))
        return cls(random.SystemRandom().getrandbits(32) if seed is None else seed)

    def store(self, path: Path | None) -> None:
        if path:
            new = path.with_suffix(".new")
            new.write_text(json.dumps(dataclasses.asdict(self)))
            new.replace(path)

    def tell(self) -> None:
        print(
            f"seed {self.seed}: {self.done} of {self.made} programs compared, "
            f"{self.failures} with a difference, {self.slow} not registered in time",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=BUILD / "fuzz")
    parser.add_argument("--state", type=Path, default=None)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    at = Progress.load(arguments.state, arguments.seed)
    engines, end = Engines(), time.monotonic() + arguments.seconds
    while at.done < arguments.programs and time.monotonic() < end and at.failures < 10:
        programs = [program(f"{at.seed}/{at.made + i}") for i in range(PACK)]
        compared, found = 0, []
        try:
            compared, found = engines.differences(programs)
        except Slow:
            at.slow += PACK
        except Refused as why:
            found = [(packed(programs), f"  {why}\n")]
        for source, difference in found:
            at.failures += 1
            which = programs.index(source) if source in programs else "pack"
            path = arguments.keep / f"engines-{at.seed}-{at.made}-{which}.lua"
            path.write_text(source)
            print(f"{path}:\n{difference}", flush=True)
        at.made, at.done = at.made + PACK, at.done + compared
        at.store(arguments.state)
        if at.made % TELL == 0:
            at.tell()
    at.tell()
    return at.failures != 0


if __name__ == "__main__":
    sys.exit(main())
