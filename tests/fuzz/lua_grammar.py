# SPDX-License-Identifier: GPL-2.0
"""Random Lua programs that mostly run to their end and print the same anywhere."""

from __future__ import annotations

import random
from collections.abc import Sequence

_INTEGERS = "0 1 -1 2 3 7 10 255 256 1000 0x7fffffff 0x80000000 -0x80000000 2^31 2^32 2^53 -2^53"
_FRACTIONS = (
    "0.5 -0.25 1.5 1e15 1e16 1e300 -1e-300 5e-324 1e308*10 -(1e308*10) 0/0 0x10p2 3.14159 1/3"
)
NUMBERS = _INTEGERS.split() + _FRACTIONS.split()
STRINGS = [
    *('""', '"a"', '"abc"', '"x\\0y"', '"10"', '"0x1F"', '" 7 "'),
    *('("ab"):rep(9)', '"%d+"', '"[a-c]*"'),
]
FORMATS = ['"%5s|"', '"%-4s|"', '"%q"', '"%.2s"']
REPLACEMENTS = ['"<%0>"', '""', "string.upper"]
BINARY = ["+", "-", "*", "/", "%", "^"]
COMPARE = ["<", "<=", ">", ">=", "==", "~="]
BITS = ["band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror"]
KINDS = ("num", "str", "tab", "fun")


class Generator:
    """Makes one program. Every name is bound; the output does not depend on the machine."""

    def __init__(self, rng: random.Random, rounds: Sequence[int] = (3, 10, 80, 200)) -> None:
        self.rng = rng
        self.rounds = rounds
        self.names = 0
        self.scopes: list[dict[str, list[str]]] = [{kind: [] for kind in KINDS}]

    def fresh(self, kind: str) -> str:
        self.names += 1
        name = f"{kind[0]}{self.names}"
        self.scopes[-1][kind].append(name)
        return name

    def known(self, kind: str) -> list[str]:
        return [name for scope in self.scopes for name in scope[kind]]

    def num(self, depth: int) -> str:
        rng, names = self.rng, self.known("num")
        if depth <= 0 or rng.random() < 0.2:
            return rng.choice(names) if names and rng.random() < 0.7 else rng.choice(NUMBERS)
        a = self.num(depth - 1)
        tables, functions = self.known("tab"), self.known("fun")
        choices = [
            lambda: f"({a} {rng.choice(BINARY)} {self.num(depth - 1)})",
            lambda: f"(- {a})",
            lambda: f"math.{rng.choice(['floor', 'ceil', 'abs', 'sqrt'])}({a})",
            lambda: f"math.{rng.choice(['max', 'min', 'fmod'])}({a}, {self.num(depth - 1)})",
            lambda: f"bit.{rng.choice(BITS)}({self.small(a)}, {self.small(self.num(depth - 1))})",
            lambda: f"#{self.text(depth - 1)}",
            lambda: f"(tonumber({self.text(depth - 1)}) or {a})",
            lambda: f"({self.truth(depth - 1)} and {a} or {self.num(depth - 1)})",
            lambda: f"({self.text(depth - 1)}):byte({rng.randint(-3, 3)}) or {a}",
            lambda: (
                f"select({rng.randint(1, 3)}, {a}, {self.num(depth - 1)}, {rng.choice(NUMBERS)})"
            ),
        ]
        if tables:
            table = rng.choice(tables)
            choices += [
                lambda: f"N({table}[{rng.randint(1, 5)}])",
                lambda: f"N({table}.f{rng.randint(1, 3)})",
                lambda: f"#{table}",
            ]
        if functions:
            choices.append(lambda: f"N({rng.choice(functions)}({a}))")
        return "(" + rng.choice(choices)() + ")"

    def small(self, number: str) -> str:
        # Beyond 2^51 the result of bit operations is undefined.
        return f"(({number}) % 65536)"

    def text(self, depth: int) -> str:
        rng, names = self.rng, self.known("str")
        if depth <= 0 or rng.random() < 0.25:
            return rng.choice(names) if names and rng.random() < 0.7 else rng.choice(STRINGS)
        s = self.text(depth - 1)
        choices = [
            lambda: f"({s} .. {self.text(depth - 1)}):sub(1, 60)",
            lambda: f"({s} .. F({self.num(depth - 1)})):sub(-60)",
            lambda: f"({s}):sub({rng.randint(-5, 5)}, {rng.randint(-5, 9)})",
            lambda: f"({s}):{rng.choice(['upper', 'lower', 'reverse'])}()",
            lambda: f"({s}):rep({rng.randint(0, 3)}):sub(1, 60)",
            lambda: f"F({self.num(depth - 1)})",
            lambda: f"(({s}):gsub({self.pattern()}, {rng.choice(REPLACEMENTS)})):sub(1, 60)",
            lambda: f"(({s}):match({self.pattern()}) or {self.text(depth - 1)})",
            lambda: f"string.format({rng.choice(FORMATS)}, {s})",
            lambda: f"string.char(({self.small(self.num(depth - 1))}) % 256)",
            lambda: f"({self.truth(depth - 1)} and {s} or {self.text(depth - 1)})",
        ]
        return rng.choice(choices)()

    def pattern(self) -> str:
        items = [".", "%a", "%d", "%w", "a", "[ab]", "[^a]", "%s", "x"]
        repeats = ["", "*", "+", "-", "?"]
        some = range(self.rng.randint(1, 3))
        return '"' + "".join(self.rng.choice(items) + self.rng.choice(repeats) for _ in some) + '"'

    def truth(self, depth: int) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            return f"({self.num(depth - 1)} {rng.choice(COMPARE)} {self.num(depth - 1)})"
        if kind < 0.8:
            return f"({self.text(depth - 1)} {rng.choice(COMPARE)} {self.text(depth - 1)})"
        if kind < 0.9:
            return f"(not {self.truth(depth - 1)})" if depth > 0 else "true"
        return rng.choice(["true", "false", "nil"])

    def block(self, depth: int, size: int) -> list[str]:
        self.scopes.append({kind: [] for kind in KINDS})
        lines = [line for _ in range(size) for line in self.statement(depth)]
        self.scopes.pop()
        return ["\t" + line for line in lines]

    def loop(self, depth: int) -> list[str]:
        rng = self.rng
        # Enough iterations to be compiled, where loops are not nested.
        rounds = rng.choice(self.rounds) if depth >= 2 else rng.choice([2, 5, 9])
        self.scopes.append({kind: [] for kind in KINDS})
        name = self.fresh("num")
        guard = [f"if {self.truth(2)} then break end"] if rng.random() < 0.2 else []
        kind = rng.randrange(4)
        if kind == 0:
            head, foot = [f"for {name} = 1, {rounds} do"], ["end"]
        elif kind == 1:
            head, foot = [f"for {name} = {rounds}, 1, -{rng.choice(['1', '2', '0.5'])} do"], ["end"]
        elif kind == 2:
            head = [f"local {name} = 0", f"while {name} < {rounds} do", f"\t{name} = {name} + 1"]
            foot = ["end"]
        else:
            head, foot = [f"for {name}, v in ipairs(R({rounds})) do"], ["end"]
        body = self.block(depth - 1, rng.randint(1, 4))
        self.scopes.pop()
        return ["do", *head, *body, *("\t" + line for line in guard), *foot, "end"]

    def function(self, depth: int) -> list[str]:
        rng = self.rng
        self.scopes.append({kind: [] for kind in KINDS})
        argument = self.fresh("num")
        body = self.block(depth - 1, rng.randint(1, 3))
        result = self.num(2)
        self.scopes.pop()
        name = self.fresh("fun")
        return [
            f"local function {name}({argument})",
            "\tif G() then return 0 end",
            *body,
            f"\treturn {result}",
            "end",
        ]

    def declare(self, depth: int) -> list[str]:
        rng = self.rng
        kind = rng.choice(["num", "num", "str", "tab"])
        if kind == "num":
            value = self.num(3)
        elif kind == "str":
            value = self.text(3)
        else:
            value = f"{{ {self.num(2)}, {self.num(1)}, f1 = {self.num(2)}, f2 = {self.text(1)} }}"
            value = f"setmetatable({value}, M)" if rng.random() < 0.3 else value
        # Bound after its value is generated, which must not use it.
        return [f"local {self.fresh(kind)} = {value}"]

    def assign(self, depth: int) -> list[str]:
        kind = self.rng.choice(["num", "num", "str"])
        names = self.known(kind)
        if not names:
            return self.declare(depth)
        value = self.num(3) if kind == "num" else self.text(3)
        return [f"{self.rng.choice(names)} = {value}"]

    def store(self, depth: int) -> list[str]:
        rng, tables = self.rng, self.known("tab")
        if not tables:
            return self.declare(depth)
        key = rng.choice(
            [f"[{rng.randint(1, 6)}]", f".f{rng.randint(1, 3)}", f"[{self.num(1)} % 8]"]
        )
        value = rng.choice([self.num, self.text])(2)
        place = rng.choice(tables) + key
        return ["if G() then return 0 end", f"P(pcall(function() {place} = {value} end))"]

    def digest(self, depth: int) -> list[str]:
        return [f"H({self.rng.choice([self.num, self.text])(3)})"]

    def branch(self, depth: int) -> list[str]:
        then, other = self.block(depth - 1, 2), self.block(depth - 1, 2)
        return [f"if {self.truth(3)} then", *then, "else", *other, "end"]

    def protected(self, depth: int) -> list[str]:
        inner = self.block(depth - 1, 2)
        return ["P(pcall(function()", *inner, f"\terror({self.text(1)}, 0)", "end))"]

    def coroutine(self, depth: int) -> list[str]:
        inner = self.block(depth - 1, 2)
        body = [*inner, f"\tcoroutine.yield({self.num(2)})", f"\treturn {self.num(2)}"]
        return [
            "do local co = coroutine.wrap(function()",
            *body,
            "end) H(co() or 0) H(co() or 0) end",
        ]

    def statement(self, depth: int) -> list[str]:
        simple = [self.declare] * 4 + [self.assign] * 4 + [self.store] * 2 + [self.digest] * 2
        nested = [self.loop] * 4 + [self.branch] * 2 + [self.function] * 2
        nested += [self.protected, self.coroutine]
        return self.rng.choice(simple + nested if depth > 0 else simple)(depth)

    def program(self, size: int = 18) -> str:
        body = self.block(3, self.rng.randint(min(size, 6), size))
        return (
            PROLOGUE
            + "\n".join(body)
            + "\n\treturn 0\n\tend\n\tmain()\n\tprint(digest, calls)\nend\n"
        )


# H adds a value to the digest, F converts a number to text, N converts anything to a number, P
# records how a pcall ended, R makes an array, G bounds the work. The sign of a NaN is ignored:
# programs must not depend on it.
PROLOGUE = """\
function run()
	local digest, calls = 0, 0
	local function F(x)
		if x ~= x then return "nan" end
		return string.format("%.14g", x)
	end
	local function H(x)
		local s = type(x) == "number" and F(x) or tostring(x)
		for i = 1, #s do digest = (digest * 31 + s:byte(i)) % 1000000007 end
	end
	local function N(x) return type(x) == "number" and x or tonumber(x) or 0 end
	local function P(ok, e) H(ok and "ok" or tostring(e):gsub("^.-:%d+: ", "")) end
	local function G() calls = calls + 1 return calls > 5000 end
	local function R(n) local t = {} for i = 1, n do t[i] = i end return t end
	local M = { __index = function(t, k) return 5 end, __add = function(a, b) return 1 end }
	local function main()
"""
