# SPDX-License-Identifier: GPL-2.0
"""Engines against each other, in this process: one language, one result.

Random programs, fractions included, are run by LuaJIT and by Lua on the confined engine,
interpreted and with its functions compiled.  All have to print the same, to the last digit, and to
end in the same way.

usage: engine_fuzz.py [--seconds N | --programs N] [--seed N] [--keep DIR]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from library import BUILD, Options
from lua_grammar import Generator

USER = 2  # SYSCRIPT_BACKEND_USER
NOJIT = 1  # SYSCRIPT_NOJIT
# SYSCRIPT_LUA_ON_LUAJIT, SYSCRIPT_LUA_ON_CONFINED
LUAJIT, CONFINED = 0x100, 0x101
# By the engine, and whether the library compiles functions for it.
WAYS = {
    "LuaJIT": (LUAJIT, "no"),
    "interpreted": (CONFINED, "no"),
    "compiled": (CONFINED, "yes"),
}
# Programs of one script: to have the engine's runtime costs more than to run one.
PACK = 10
TIME_LIMIT = 400 * 10**6
MEMORY_LIMIT = 4 << 20
# Where a limit is met is no difference; nor how deep a stack is.
OVER = (
    "over the time limit",
    "over the wall-clock",
    "over the memory limit",
    "not enough memory",
    "stack overflow",
)

# Where rules change.
NUMBERS = [
    *("0", "-0", "1", "-1", "0.5", "1/0", "-1/0", "0/0", "3.0", "5e-324", "1e308", "1e15"),
    *("2^31", "2^51", "-2^51", "2^51-1", "2^53"),
]

# What the grammar has not: functions, loops and texts of fractions.
MORE = """
function run()
	local function text(...)
		local t = { ... }
		for i = 1, select("#", ...) do
			local v = t[i]
			local number = type(v) == "number" and v == v
			t[i] = number and string.format("%%.17g", v) or tostring(v)
		end
		return table.concat(t, " ")
	end
	local a, b, c = %s, %s, %s
	print(text(a + b, a - b, a * b, a / b, a %% b, a ^ b, -a))
	print(a < b, a <= b, a == b, a > b, a >= b, a ~= b, tostring(a), tostring(b))
	for _, name in ipairs { "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
		"exp", "log", "log10", "sqrt", "floor", "ceil", "abs", "deg", "rad", "frexp", "modf" } do
		print(name, text(math[name](a)))
	end
	for _, name in ipairs { "atan2", "pow", "fmod", "max", "min", "log", "ldexp" } do
		print(name, text(math[name](a, b)))
	end
	for _, f in ipairs { "%%d", "%%u", "%%x", "%%5.1f", "%%.0f", "%%g", "%%+.3e", "%%a", "%%.3a",
		"%%-20.15g|", "%%020.2f", "%%#g", "%%#o", "%%.99f" } do
		print(f, f:format(a), f:format(b))
	end
	print(text(tonumber(("%%.17g"):format(a)), tonumber(("%%.3f"):format(b)), tonumber("%s"), %s))
	print(bit.tobit(a %% 2 ^ 51), bit.bor(b %% 2 ^ 40, 1), bit.tohex(c %% 2 ^ 33))
	print(("x"):rep(c %% 9), ("abcdef"):sub(a %% 5, b %% 7))
	local n, t = 0, {}
	for i = a %% 10, a %% 10 + b %% 7, c %% 3 + 0.25 do
		n = n + 1
		t[i] = n
		t[-i] = i
		if n > 99 then break end
	end
	print(n, t[a], t[0], t[-0], pcall(next, { [a == a and a or 0] = b }))
end
"""


def number(rng: random.Random) -> str:
    """One of every kind: as a script has it, so that reading it is a test, too."""
    kind = rng.randrange(8)
    if kind == 0:
        return str(rng.randint(-100, 100))
    if kind == 1:
        return str(rng.randint(-(2**53), 2**53))
    if kind == 2:
        return repr(rng.uniform(-10, 10))
    if kind == 3:
        return repr(rng.uniform(-1, 1) * 10 ** rng.randint(-320, 308))
    if kind == 4:
        return f"{rng.choice(['', '-'])}2 ^ {rng.randint(-1074, 1023)}"
    if kind == 5:
        digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 40)))
        return f"{digits}.{digits[::-1]}e{rng.randint(-60, 60)}"
    if kind == 6:
        whole, rest = rng.getrandbits(rng.randint(1, 80)), rng.getrandbits(12)
        return f"0x{whole:x}.{rest:x}p{rng.randint(-99, 99)}"
    return rng.choice(NUMBERS)


BORDER = """\
local function B(t)
	local n = 0
	while rawget(t, n + 1) ~= nil do n = n + 1 end
	return n
end
"""


class Shared:
    """Functions that share local variables of the script; some variables are assigned to."""

    FIELDS = ("x", "y", "longer", "z1")

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.locals = [f"v{i}" for i in range(rng.randint(2, 7))]
        self.assigned = [name for name in self.locals if rng.random() < 0.4]
        self.functions = [f"f{i}" for i in range(rng.randint(2, 5))]

    def value(self) -> str:
        fields = ", ".join(f"{name} = {number(self.rng)}" for name in self.FIELDS[:3])
        kinds = [number(self.rng), number(self.rng), str(self.rng.randint(-9, 9)), '"text"', "nil"]
        kinds += [self.rng.choice(["true", "false"]), f"{{ {fields} }}", "object", "math.abs"]
        kinds += ["syscall.getpid", "pcall", "util.peek", "setmetatable({}, { __index = object })"]
        return self.rng.choice(kinds)

    def read(self) -> str:
        field = self.rng.choice(self.FIELDS)
        one = self.rng.choice([*self.locals, "n", "object"])
        other = self.rng.choice([*self.locals, "n", str(self.rng.randint(-9, 9))])
        operator = self.rng.choice(["+", "-", "*", "..", "<", "==", "~=", "and", "or", "%"])
        kinds = [one, f"{one} {operator} {other}", f"{one}.{field}", f"({one})[{other}]"]
        kinds += [f"object:m({other})", f"{one}:m(1)", f"#{one}", f"not {one}"]
        kinds += [f"{self.rng.choice(self.functions)}({other})", f"pcall({one}, {other})"]
        kinds += [f"global{self.rng.randint(1, 2)}", f"(function() return {one} end)()"]
        return self.rng.choice(kinds)

    def statement(self) -> str:
        field, kind = self.rng.choice(self.FIELDS), self.rng.randrange(8)
        if kind == 0 and self.assigned:
            return f"{self.rng.choice(self.assigned)} = {self.read()}"
        if kind == 1 and self.assigned:
            name = self.rng.choice(self.assigned)
            return f"do local function set(v) {name} = v end set({self.read()}) end"
        if kind == 2:
            return f"{self.rng.choice([*self.locals, 'object'])}.{field} = {self.read()}"
        if kind == 3:
            return f"global{self.rng.randint(1, 2)} = {self.read()}"
        if kind == 4:
            return f"if {self.read()} then P({self.read()}) end"
        if kind == 5:
            return f"for i = 1, 3 do n = i P({self.read()}) end"
        if kind == 6:
            made = f"local function make(a) return function() a = n {self.statement()} end end"
            return f"do {made} make(1)() make(2)() end"
        return f"P({self.read()})"

    def function(self, name: str) -> str:
        body = "\n".join(f"\tpcall(function() {self.statement()} end)" for _ in range(2))
        body += "\n\t" + "\n\t".join(self.statement() for _ in range(self.rng.randint(1, 4)))
        return (
            f"function {name}(n)\n\tif G() then return 0 end\n{body}\n\treturn {self.read()}\nend"
        )

    def program(self) -> str:
        lines = ["do", SHARED, f"local {', '.join(self.functions)}"]
        lines += [f"local {name} = {self.value()}" for name in self.locals]
        lines += map(self.function, self.functions)
        calls = [self.rng.choice(self.functions) for _ in range(6)]
        run = "\n".join(f"\tP(pcall({name}, {self.value()}))" for name in calls)
        return "\n".join([*lines, f"function run()\n\tcalls = 0\n{run}\nend", "end"])


SHARED = """\
local calls = 0
local object = { x = 1, longer = "s" }
function object:m(n) return self.x, n end
local function G() calls = calls + 1 return calls > 50 end
local function P(...)
	for i = 1, select("#", ...) do
		local v = select(i, ...)
		local kind = type(v)
		if kind == "string" then v = v:gsub("0x%x+", ""):gsub("builtin: %S+", "") end
		print(kind, (kind == "table" or kind == "function") and "" or
			(kind == "number" and v == v and ("%.17g"):format(v) or tostring(v)))
	end
end
"""


def program(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return Shared(rng).program()
    if rng.random() < 0.5:
        # Of a table with holes any border is its length: take the first.
        return BORDER + re.sub(r"#(t\d+)", r"B(\1)", Generator(rng).program())
    values = [number(rng) for _ in range(5)]
    return MORE % (*values[:3], values[3].replace(" ", ""), values[4])


def over(end: tuple[int, bytes, bytes]) -> bool:
    return any(text.encode() in end[1] for text in OVER)


def first_line(ends: list[tuple[int, bytes, bytes]]) -> str:
    lines = [[*output.split(b"\n"), error] for _, error, output in ends]
    rows = (row for row in zip(*lines, strict=False) if len(set(row)) > 1)
    row = next(rows, [b"%d" % status for status, _, _ in ends])
    return "".join(f"  {name}: {text!r}\n" for name, text in zip(WAYS, row, strict=True))


class Engines:
    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(BUILD / "libsyscript.so"), use_errno=True)
        self.error = ctypes.create_string_buffer(2048)
        self.output = ctypes.create_string_buffer(1 << 15)
        # The runtime, which is made with the first script and freed with the last, stays.
        self.register("function run() end", WAYS["interpreted"])

    def register(self, source: str, way: tuple[int, str]) -> int:
        engine, os.environ["SYSCRIPT_LUA_COMPILE"] = way
        text = source.encode()
        options = Options(
            size=ctypes.sizeof(Options), name=b"random", flags=NOJIT, backend=USER, engine=engine,
            memory_limit=MEMORY_LIMIT, time_limit_ns=TIME_LIMIT, wall_limit_ns=TIME_LIMIT * 2,
        )  # fmt: skip
        self.error.value = b""
        return self.library.syscript_register(
            text, len(text), ctypes.byref(options), self.error, 2048
        )

    def run(self, source: str, n: int, way: tuple[int, str]) -> list[tuple[int, bytes, bytes]]:
        """How each of the @n programs in a script ends, and what it prints."""
        fd = self.register(source, way)
        if fd < 0:
            return [(fd, self.error.value, b"")] * n
        ends = []
        while len(ends) < n:
            ends.append(self.call(fd, len(ends) + 1))
            if over(ends[-1]):
                ends += ends[-1:] * (n - len(ends))
        self.library.syscript_close(fd)
        return ends

    def call(self, fd: int, i: int) -> tuple[int, bytes, bytes]:
        self.error.value = b""
        status = self.library.syscript_call(fd, 1, (ctypes.c_int64 * 1)(i), 0, None)
        if status < 0:
            self.library.syscript_error(fd, self.error, 2048)
        n = self.library.syscript_output(fd, self.output, ctypes.sizeof(self.output))
        return min(status, 0), self.error.value, self.output.raw[: max(n, 0)]

    def differences(self, programs: list[str]) -> Iterator[tuple[str, str]]:
        """Of the first program that has one; what comes after a limit is not looked at."""
        packed = "local all = {}\n" + "".join(f"{p}\nall[#all + 1] = run\n" for p in programs)
        packed += "function run(i) return all[i]() end\n"
        seen = [self.run(packed, len(programs), way) for way in WAYS.values()]
        for program, *ends in zip(programs, *seen, strict=True):
            if any(map(over, ends)):
                return
            if any(end != ends[0] for end in ends):
                yield program, first_line(ends)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=BUILD / "fuzz")
    arguments = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if arguments.seed is None else arguments.seed
    engines, end, done, failures = Engines(), time.monotonic() + arguments.seconds, 0, 0
    while done < arguments.programs and time.monotonic() < end and failures < 10:
        programs = [program(random.Random(f"{seed}/{done + i}")) for i in range(PACK)]
        for source, difference in engines.differences(programs):
            failures += 1
            arguments.keep.mkdir(parents=True, exist_ok=True)
            path = arguments.keep / f"engines-{seed}-{done + programs.index(source)}.lua"
            path.write_text(source)
            print(f"{path}:\n{difference}")
        done += PACK
    print(f"seed {seed}: {done} programs, {failures} with a difference")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
