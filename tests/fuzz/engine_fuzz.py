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
# Programs of one script: to register one costs more than to run it.
PACK = 20
# LuaJIT runs first; a program that takes it longer than LONG seconds is dropped, since the
# others take up to ten times as long, and most programs a tenth of it.
LONG = 0.002
LUAJIT_LIMIT = 20 * 10**6
# On a busy machine a limit may be met before the first call.
ATTEMPTS = 10
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

# A status, an error and what was printed.
End = tuple[int, bytes, bytes]

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
        self.small = [f"s{i}" for i in range(rng.randint(1, 4))]

    def value(self) -> str:
        fields = ", ".join(f"{name} = {number(self.rng)}" for name in self.FIELDS[:3])
        kinds = [number(self.rng), number(self.rng), str(self.rng.randint(-9, 9)), '"text"', "nil"]
        kinds += [self.rng.choice(["true", "false"]), f"{{ {fields} }}", "object", "math.abs"]
        kinds += ["syscall.getpid", "pcall", "util.peek", "setmetatable({}, { __index = object })"]
        kinds += ["setmetatable({ 5, 6 }, meta)", "meta", "{ 1, 2, 3, 4 }", "'12'", "2^52 - 1"]
        kinds += ["setmetatable({}, { __newindex = object })", "table.insert", "string.rep"]
        return self.rng.choice(kinds)

    def read(self) -> str:
        field = self.rng.choice(self.FIELDS)
        one = self.rng.choice([*self.locals, "n", "object"])
        other = self.rng.choice([*self.locals, "n", str(self.rng.randint(-9, 9))])
        operator = self.rng.choice(["+", "-", "*", "..", "<", "==", "~=", "and", "or", "%"])
        kinds = [one, f"{one} {operator} {other}", f"{one}.{field}", f"({one})[{other}]"]
        kinds += [f"object:m({other})", f"{one}:m(1)", f"#{one}", f"not {one}"]
        kinds += [f"{self.rng.choice(self.functions)}({other})", f"pcall({one}, {other})"]
        kinds += [self.call_small(), self.call_small()]
        kinds += [f"global{self.rng.randint(1, 2)}", f"(function() return {one} end)()"]
        which = self.rng.choice(["2", "-1", "'#'"])
        kinds += [f"select({which}, {one}, {other})", f"({one})[1]"]
        kinds += [f"-{one}", f"{one} <= {other}", f"{one}({other}, n)"]
        kinds += [f"({other}) * 2 ^ 51", f"({one} or 0) + 1", f"bit.bor({other}, 1)"]
        # Yields out of what is called by C, metamethods and iterators.
        kinds += [f"Y(function(...) return ... end, {one}, {other})", f"Y({one}, {other})"]
        kinds += [f"Y(pcall, coroutine.yield, {other})"]
        kinds += [f"Y(function(a) return a + yields end, {one})"]
        kinds += [f"Y(function(a) for i in yields, a do return i end end, {other})"]
        return self.rng.choice(kinds)

    def call_small(self) -> str:
        kinds = [*self.locals, "n", "object", "nil", "3", "0.5", "2^51 - 1", "'k'", "-7"]
        given = ", ".join(self.rng.choice(kinds) for _ in range(self.rng.randint(0, 3)))
        return f"{self.rng.choice(self.small)}({given})"

    def small_value(self) -> str:
        field = self.rng.choice(self.FIELDS)
        one, other = (self.rng.choice(["a", "b", "c", *self.locals, "2", "1"]) for _ in range(2))
        operator = self.rng.choice(["+", "-", "*", "<", "==", "~=", "<=", "and", "or", "+ 1 -"])
        kinds = [one, f"{one} {operator} {other}", f"({one}).{field}", f"({one})[{other}]"]
        kinds += [f"#{one}", f"not {one}", f"-{one}", "global1", f"{one} == nil", f"{one} == 'k'"]
        kinds += [
            f"({one}).{field} {operator} {other}",
            f"object.{field}",
            f"{one} > 2 and {other}",
        ]
        return self.rng.choice(kinds)

    def small_statement(self) -> str:
        field = self.rng.choice(self.FIELDS)
        name = self.rng.choice([*self.assigned, "a", "global1"])
        kinds = [f"if {self.small_value()} then return {self.small_value()} end"]
        kinds += [f"{name} = {self.small_value()}", f"local d = {self.small_value()} c = d"]
        kinds += [f"a.{field} = {self.small_value()}", "local d, e if b then d = a end c = d or e"]
        kinds += [f"if {self.small_value()} then b = {self.small_value()} else c = b end"]
        return self.rng.choice(kinds)

    def small_function(self, name: str) -> str:
        """One whose code may take the place of its calls: nothing assigns to it."""
        body = " ".join(self.small_statement() for _ in range(self.rng.choice([0, 0, 1, 1, 2])))
        values = ", ".join(self.small_value() for _ in range(self.rng.choice([0, 1, 1, 1, 1, 2])))
        given, rest = self.rng.choice(
            [("a", "local b, c = a"), ("a, b", "local c = b"), ("a, b, c", ""), ("a, b, c", "")]
        )
        return f"local function {name}({given}) {rest} {body} return {values} end"

    def loop(self) -> str:
        """Over integers and others, in which variables and their kinds change."""
        one = self.rng.choice([*self.assigned, "n"])
        first, last, step = (self.rng.choice(["0", "1", "3", "-2", "0.5", one]) for _ in range(3))
        big = self.rng.choice(["2^51 - 2", "2^52", "-2^51 + 1", "2^53 - 1", "2^63"])
        body = f"{self.simple()} if G() then break end"
        return self.rng.choice(
            [
                f"for i = {first}, {last}, {step} do n = i {body} end",
                f"for i = {big}, {big} + 3 do n = i {body} end",
                f"local i = 0 while i < 4 do i = i + 1 {one} = {self.read()} {body} end",
                f"local i = 0 repeat i = i + 1 local k = {one} {body} until k == i or i > 3",
                f"for k, v in ipairs({{ {one}, 2, {self.read()} }}) do {one} = v {body} end",
                f"local t = {{}} for i = 1, 5 do t[i] = {one} {one} = i {body} end P(t[1], t[2])",
            ]
        )

    def column(self) -> str:
        """An array of mostly small integers."""
        odd = ["0.5", "-0.0", "nil", "'3'", "2^51 - 1", "-2^51", "2^53", "true", "{}", "1/0"]
        kinds = [*[str(self.rng.randint(-2, 5)) for _ in range(30)], self.rng.choice(odd)]
        return ", ".join(self.rng.choice(kinds) for _ in range(self.rng.randint(0, 14)))

    def look(self) -> str:
        """What loops do that only look at arrays, and sometimes more."""
        one, other = (self.rng.choice(["a", "b", "c"]) for _ in range(2))
        value = self.rng.choice(["x", "y", "i", "a", "b", "ys[i]", "pick(cols, i)", "cols.k", "3"])
        test = self.rng.choice(["==", "~=", "<", "<=", ">", ">="])
        const = self.rng.choice(["0", "1", "2", "3", "-1", "x", "y", "i", "n"])
        kinds = [f"{one} = {other} + {value}", f"{one} = {value}", f"{one} = {one} - 1"]
        kinds += [f"{one} = {one} + 1", f"y = {value}", "local x = ys[i]", "x = pick(cols, i)"]
        kinds += [f"if {value} {test} {const} then {one} = {one} + {value} end"] * 2
        kinds += [f"if {value} {test} {const} then {one} = {value} else {other} = {value} end"]
        kinds += [f"if x == {const} then break end", f"if {value} then {one} = {one} + 1 end"]
        kinds += [f"y = cols.xs[{value}]", f"if pick then {one} = most(x, {value}) end"]
        kinds += ["if not a then c = c + 1 end", f"{one} = x and y or {value}"]
        rare = [
            f"P({value}, i)",
            f"xs[i] = {value}",
            "cols.ys = xs",
            f"n = {value}",
            "do return n end",
        ]
        rare += ["ys[15] = i", f"{one} = {one} * 2^51", "cols.k = x", "P(most(x, y))", "P(x, y)"]
        rare += [f"for k = 1, 2 do {one} = k end", f"repeat y = y + 1 until y > {const}"]
        kinds += [f"if {value} {test} {const} then {self.rng.choice(rare)} end"] * 3
        return self.rng.choice(kinds)

    def looks(self) -> str:
        bounds = ["1", "1", "0", "-1", "2", "9", "4", "12", "n", "2^31", "2^51 - 3"]
        first, last = self.rng.choice(bounds[:6]), self.rng.choice(bounds[5:])
        if "^" in last:
            first, last = self.rng.choice([("2^51 - 3", "2^51 - 1"), ("3", "2^51"), ("1", "9")])
            last = f"{last} do if i > 20 and i < 2^50 then break end"
        else:
            last = f"{last} do"
        starts = ["0", "0", "1", "-3", "2^51 - 4", "-2^51 + 2", "0.5", "nil", "n", "'7'"]
        a, b, c = (self.rng.choice(starts) for _ in range(3))
        body = " ".join(self.look() for _ in range(self.rng.randint(1, 5)))
        x = self.rng.choice(["xs[i]", "xs[i]", "ys[i]", "pick(cols, i)", "cols.xs[i]"])
        return (
            f"local a, b, c, y = {a}, {b}, {c}, 0 "
            f"for i = {first}, {last} local x = {x} {body} end P(a, b, c, y)"
        )

    def simple(self) -> str:
        one = self.rng.choice([*self.assigned, "n"])
        return self.rng.choice(
            [
                f"{one} = {one} + 1", f"{one} = {self.read()}", f"P({one})",
                f"pcall(function() {one} = {one} * 3 - 2^51 end)", f"{one} = -{one}",
                f"object.x = {one}", f"{one} = object.x", f"{one} = ({one} or 1) + i",
            ]
        )  # fmt: skip

    def statement(self) -> str:
        field = self.rng.choice(self.FIELDS)
        made = f"local function make(a) return function() a = n {self.simple()} end end"
        name = self.rng.choice(self.assigned) if self.assigned else "global1"
        kinds = [
            lambda: f"{name} = {self.read()}",
            lambda: f"do local function set(v) {name} = v end set({self.read()}) end",
            lambda: f"{self.rng.choice([*self.locals, 'object'])}.{field} = {self.read()}",
            lambda: f"global{self.rng.randint(1, 2)} = {self.read()}",
            lambda: f"if {self.read()} then P({self.read()}) end",
            lambda: f"for i = 1, 3 do n = i P({self.read()}) end",
            lambda: f"do local i = 1 {made} make(1)() make(2)() end",
            lambda: f"do {self.loop()} end",
            lambda: f"P(pcall(function(n) {self.looks()} end, {self.read()}))",
            lambda: f"do local function f(xs, n) {self.looks()} end P(pcall(f, xs, n)) end",
            lambda: f"P(pcall(function() {self.loop()} end))",
            lambda: f"P(Y(function() {self.loop()} return n end))",
            lambda: f"P({self.read()})",
            lambda: f"n = {self.call_small()}",
            lambda: f"P({self.call_small()})",
            lambda: f"local d, e = {self.call_small()} P(d, e)",
            lambda: f"for i = 1, 3 do local d = {self.call_small()} P(d, i) n = d end",
        ]
        return self.rng.choice(kinds)()

    def look_function(self, name: str) -> str:
        return f"local function {name}(n) {self.looks()} end"

    def function(self, name: str) -> str:
        body = "\n".join(f"\tpcall(function() {self.statement()} end)" for _ in range(2))
        body += "\n\t" + "\n\t".join(self.statement() for _ in range(self.rng.randint(1, 4)))
        body += f"\n\tfor i = 1, 3 do local d = {self.call_small()} P(d, {self.call_small()}) end"
        return (
            f"function {name}(n)\n\tif G() then return 0 end\n{body}\n\treturn {self.read()}\nend"
        )

    def program(self) -> str:
        lines = ["do", SHARED, f"local {', '.join(self.functions)}"]
        lines += [f"local xs, ys = {{ {self.column()} }}, {{ {self.column()} }}", COLUMNS]
        lines += [f"local {name} = {self.value()}" for name in self.locals]
        lines += [self.look_function(f"l{i}") for i in range(2)]
        lines += map(self.small_function, self.small)
        lines += map(self.function, self.functions)
        calls = [self.rng.choice(self.functions) for _ in range(6)]
        calls += [self.rng.choice(["l0", "l1"]) for _ in range(4)]
        run = "\n".join(f"\tP(pcall({name}, {self.value()}))" for name in calls)
        return "\n".join([*lines, f"function run()\n\tcalls = 0\n{run}\nend", "end"])


# Columns of a table, and functions that look at them.
COLUMNS = """\
local cols = { xs = xs, ys = ys, k = 3 }
local function pick(e, i) return e.xs[i] end
local function most(a, b) if a < b then return b end return a end
"""

SHARED = """\
local calls = 0
local object = { x = 1, longer = "s" }
function object:m(n) return self.x, n end
local yields = setmetatable({}, {
	__add = function(a, b) return coroutine.yield(1), a == b end,
	__call = function(t, s, k) if not k then return coroutine.yield(s) end end,
})
local meta = {
	__index = function(t, k) return k end, __call = function(t, a) return a, t end,
	__add = function(a, b) return b end, __sub = function(a) return a end,
	__mul = function() return 7 end, __unm = function(a) return a end,
	__lt = function() return true end, __le = function() return nil end,
	__eq = function() return true end, __concat = function(a, b) return b end,
	__newindex = function(t, k, v) rawset(t, k, v or k) end,
}
-- Calls it in a coroutine, and resumes that with what it yields until it ends.
local function Y(f, ...)
	local co, n = coroutine.create(f), 0
	local function on(ok, ...)
		n = n + 1
		if not ok or coroutine.status(co) == "dead" or n > 4 then return ok, ... end
		return on(coroutine.resume(co, ...))
	end
	return on(coroutine.resume(co, ...))
end
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
    if rng.random() < 0.6:
        return Shared(rng).program()
    if rng.random() < 0.5:
        # Of a table with holes any border is its length: take the first.
        return BORDER + re.sub(r"#(t\d+)", r"B(\1)", Generator(rng).program())
    values = [number(rng) for _ in range(5)]
    return MORE % (*values[:3], values[3].replace(" ", ""), values[4])


def over(end: End) -> bool:
    return any(text.encode() in end[1] for text in OVER)


def first_line(ends: list[End]) -> str:
    lines = [[*output.split(b"\n"), error] for _, error, output in ends]
    rows = (row for row in zip(*lines, strict=False) if len(set(row)) > 1)
    row = next(rows, [b"%d" % status for status, _, _ in ends])
    return "".join(f"  {name}: {text!r}\n" for name, text in zip(WAYS, row, strict=True))


def blank(program: str) -> str:
    """In its place, so that the lines of the others stay the same."""
    return "\n" * program.count("\n") + "run = nil"


def packed(programs: list[str]) -> str:
    """One script of all of them."""
    texts = "".join(f"do\n{p}\nall[#all + 1] = run or false\nend\n" for p in programs)
    return (
        f"local all = {{}}\n{texts}"
        "function run(i) global1, global2 = nil, nil return all[i]() end\n"
    )


class Refused(Exception):
    """A pack of which nothing was compared, and why."""


class Slow(Refused):
    """A limit was met before the first call."""


class Engines:
    def __init__(self) -> None:
        # Programs of a script, by their places there, that took LuaJIT long.
        self.long: set[int] = set()
        self.library = ctypes.CDLL(str(BUILD / "libsyscript.so"), use_errno=True)
        self.error = ctypes.create_string_buffer(2048)
        self.output = ctypes.create_string_buffer(1 << 15)
        # The runtime, which is made with the first script and freed with the last, stays.
        self.register("function run() end", WAYS["interpreted"])

    def register(self, source: str, way: tuple[int, str]) -> int:
        engine, os.environ["SYSCRIPT_LUA_COMPILE"] = way
        text = source.encode()
        limit = LUAJIT_LIMIT if engine == LUAJIT else TIME_LIMIT
        options = Options(
            size=ctypes.sizeof(Options), name=b"random", flags=NOJIT, backend=USER, engine=engine,
            memory_limit=MEMORY_LIMIT, time_limit_ns=limit, wall_limit_ns=TIME_LIMIT * 2,
        )  # fmt: skip
        self.error.value = b""
        return self.library.syscript_register(
            text, len(text), ctypes.byref(options), self.error, 2048
        )

    def run(self, programs: list[str], way: tuple[int, str]) -> list[End]:
        """How each of the programs of a script ends, and what it prints."""
        for _ in range(ATTEMPTS):
            fd = self.register(packed(programs), way)
            end = fd, self.error.value, b""
            if fd >= 0 or not over(end):
                break
        if fd < 0:
            raise (Slow if over(end) else Refused)(f"not registered, {way}: {end}")
        ends: list[End] = []
        while len(ends) < len(programs) and not (ends and over(ends[-1])):
            ends.append(self.call(fd, len(ends) + 1))
        self.library.syscript_close(fd)
        if len(ends) == len(programs):
            return ends
        # A script over a limit is dead: the others are run by a new one.
        done = [blank(p) for p in programs[: len(ends)]]
        return ends + self.run(done + programs[len(ends) :], way)[len(ends) :]

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
        """How many programs were compared, and those that have a difference."""
        first, *others = WAYS.values()
        self.long = set()
        ends = self.run(programs, first)
        short = [not over(end) and i not in self.long for i, end in enumerate(ends)]
        programs = [p if keep else blank(p) for p, keep in zip(programs, short, strict=True)]
        seen = [ends, *(self.run(programs, way) for way in others)]
        for way, all_ends in zip(WAYS, seen, strict=True):
            if any(short) and not any(error or output for _, error, output in all_ends):
                raise Refused(f"{way}: no program of the pack printed anything, or failed")
        compared, found = 0, []
        for program, keep, *all_ends in zip(programs, short, *seen, strict=True):
            if not keep or any(map(over, all_ends)):
                continue
            compared += 1
            if any(end != all_ends[0] for end in all_ends):
                found.append((program, first_line(all_ends)))
        return compared, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=BUILD / "fuzz")
    arguments = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if arguments.seed is None else arguments.seed
    engines, end = Engines(), time.monotonic() + arguments.seconds
    made = done = failures = slow = 0
    while done < arguments.programs and time.monotonic() < end and failures < 10:
        programs = [program(random.Random(f"{seed}/{made + i}")) for i in range(PACK)]
        compared, found = 0, []
        try:
            compared, found = engines.differences(programs)
        except Slow:
            slow += PACK
        except Refused as why:
            found = [(packed(programs), f"  {why}\n")]
        for source, difference in found:
            failures += 1
            arguments.keep.mkdir(parents=True, exist_ok=True)
            which = programs.index(source) if source in programs else "pack"
            path = arguments.keep / f"engines-{seed}-{made}-{which}.lua"
            path.write_text(source)
            print(f"{path}:\n{difference}", flush=True)
        made, done = made + PACK, done + compared
    print(
        f"seed {seed}: {done} of {made} programs compared, {failures} with a difference, "
        f"{slow} not registered in time"
    )
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
