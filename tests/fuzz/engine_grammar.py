# SPDX-License-Identifier: GPL-2.0
"""Random Lua programs for engine_fuzz.py, by templates: see Templates."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent

Part = str | tuple[str, str]
Rule = list[list[Part]] | Callable[[random.Random], str]


class Fast(random.Random):
    """Chooses in a fifth of the time, slightly less evenly."""

    def choice(self, seq):  # type: ignore[no-untyped-def]
        return seq[int(self.random() * len(seq))]

    def randrange(self, n: int) -> int:  # type: ignore[override]
        return int(self.random() * n)

    def randint(self, a: int, b: int) -> int:
        return a + int(self.random() * (b - a + 1))


def parsed(line: str) -> tuple[int, list[Part]]:
    """A template's weight and parts: texts, and (name, rule) for substitutions; name may be ''."""
    weight, text = re.fullmatch(r"(?:\*(\d+)(?: |$))?(.*)", line.strip()).groups()  # type: ignore[union-attr]
    parts: list[Part] = []
    names: set[str] = set()
    pieces = re.split(r"\$(\w+)(?:=(\w+))?", text)
    for i in range(0, len(pieces) - 1, 3):
        name, rule = pieces[i + 1], pieces[i + 2]
        if rule:
            names.add(name)
        elif name not in names:
            name, rule = "", name
        parts += [pieces[i], (name, rule or "")]
    return int(weight or 1), [part for part in [*parts, pieces[-1]] if part]


class Templates:
    """Rules: a line with the rule's name and a colon, then one template a line.

    In a template, $name is replaced by an expansion of that rule, and $x=name also lets $x repeat
    it. A template may begin with *N, its weight.
    """

    def __init__(self, text: str, **functions: Callable[[random.Random], str]) -> None:
        self.rules: dict[str, Rule] = dict(functions)
        text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
        for block in re.split(r"\n(?=\w+:\n)", text.strip("\n")):
            name, *lines = block.split("\n")
            templates = [parsed(line) for line in lines]
            self.rules[name.rstrip(":")] = [parts for n, parts in templates for _ in range(n)]

    def names(self, rule: str, names: Iterable[str]) -> None:
        """Makes @rule expand to one of the names."""
        self.rules[rule] = [[name] for name in names]

    def add(self, rng: random.Random, rule: str, out: list[str]) -> None:
        """Appends an expansion of @rule to @out."""
        made = self.rules[rule]
        if not isinstance(made, list):
            return out.append(made(rng))
        known = {}
        for part in made[int(rng.random() * len(made))]:
            if isinstance(part, str):
                out.append(part)
            elif not part[0]:
                self.add(rng, part[1], out)
            else:
                if part[1]:
                    known[part[0]] = self.make(rng, part[1])
                out.append(known[part[0]])
        return None

    def make(self, rng: random.Random, rule: str) -> str:
        out: list[str] = []
        self.add(rng, rule, out)
        return "".join(out)


# Where rules change.
NUMBERS = [
    *("0", "-0", "-0.0", "1", "-1", "0.5", "1/0", "-1/0", "0/0", "3.0", "5e-324", "1e308", "1e15"),
    *("2^31", "2^51", "-2^51", "2^51-1", "2^53", "2^53-1", "2^53+1", "-2^53", "1-2^53", "2^63"),
]

INT64S = [
    *("0LL", "1LL", "-1LL", "3ULL", "0x7fffffffLL", "2^53 + 1LL", "9007199254740993LL"),
    *("0x7fffffffffffffffLL", "0x8000000000000000LL", "0xffffffffffffffffULL", "1ULL - 2"),
]


def int64(rng: random.Random) -> str:
    """An integer of 64 bits: an object, except where it is calculated with."""
    if rng.random() < 0.6:
        return rng.choice(INT64S)
    sign, kind = rng.choice(["", "-"]), rng.choice(["LL", "ULL"])
    return f"{sign}{rng.getrandbits(rng.randint(1, 64))}{kind}"


def number(rng: random.Random) -> str:
    """A number of any kind, in a script's notation, which tests its conversion, too."""
    if rng.random() < 0.04:
        return int64(rng)
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


def integer(rng: random.Random) -> str:
    return str(rng.randint(-9, 9))


def column(rng: random.Random) -> str:
    """An array of mostly small integers."""
    odd = [
        "0.5",
        "1.5",
        "-2.5",
        "-0.0",
        "nil",
        "'3'",
        "2^51 - 1",
        "-2^51",
        "2^53",
        "true",
        "{}",
        "1/0",
        "5LL",
    ]
    some = [integer(rng) for _ in range(rng.randint(0, 14))]
    if some and rng.random() < 0.5:
        some[rng.randrange(len(some))] = rng.choice(odd)
    if rng.random() < 0.2:
        some = [f"{one}.5" if one.isdigit() and rng.random() < 0.4 else one for one in some]
    return ", ".join(some)


PRELUDE = (HERE / "prelude.lua").read_text()


FUNCTIONS = [
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10"),
    *("sqrt", "floor", "ceil", "abs", "deg", "rad", "frexp", "modf"),
]
FORMATS = [
    *("%d", "%u", "%x", "%5.1f", "%.0f", "%g", "%+.3e", "%a", "%.3a", "%-20.15g|", "%020.2f"),
    *("%#g", "%#o", "%.99f"),
]


def mathematics(rng: random.Random) -> str:
    """Programs beyond the grammar: functions, loops and texts of fractions."""
    names = ", ".join(f'"{rng.choice(FUNCTIONS)}"' for _ in range(3))
    some = ", ".join(f'"{rng.choice(FORMATS)}"' for _ in range(3))
    a, b, c, d = (number(rng) for _ in range(4))
    text = number(rng).replace(" ", "")
    return f"""
function run()
	local a, b, c = {a}, {b}, {c}
	P(a + b, a - b, a * b, a / b, a % b, a ^ b, -a, {d}, {d} * {b}, {a} - {c})
	P(a < b, a <= b, a == b, a > b, a >= b, a ~= b, tostring(a), tostring(b))
	MATH(a, b, c, {{ {names} }}, "{text}", {{ {some} }})
end
"""


FACTORS = [
    *("2", "3", "5", "7", "10", "16", "31", "33", "37", "255", "256", "1000", "4096", "65521"),
    *("65536", "65599", "1103515245", "16777619", "1000003", "1000000007", "2147483647"),
    *("2147483648", "4294967291", "4294967296", "2654435761", "1099511627776", "0x5bd1e995"),
    *("281474976710597", "1125899906842623", "2251799813685247", "1", "0", "-1", "-31", "0.5"),
]
SEEDS = [
    *("0", "-0.0", "1", "-1", "255", "0x7fffffff", "-0x80000000", "0xffffffff", "2^32", "2^33 + 1"),
    *("2^51 - 1", "-2^51", "2^51", "2^52 + 1", "2^53", "2^53 - 1", "-2^53", "2^53 + 2", "0/0"),
    *("1/0", "0.5", "-1.5", "1e15 + 0.5", "1e300", "'5'", "nil", "E", "2^45 - 7", "-2^45 + 3"),
    *("5LL", "-7LL", "2^53 + 1LL", "0xffffffffffffffffULL", "0x8000000000000000LL"),
]


class Integers:
    """Programs that hash: products and remainders around the bounds of integers, bits, bytes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["a", "b", "h", "x", "i", "PRIME"]

    def factor(self) -> str:
        if self.rng.random() < 0.7:
            return self.rng.choice(FACTORS)
        return str(self.rng.getrandbits(self.rng.randint(1, 51)))

    def leaf(self) -> str:
        return self.rng.choice(self.names) if self.rng.random() < 0.7 else self.factor()

    def chain(self) -> str:
        rng = self.rng
        text = f"{rng.choice(self.names)} * {self.leaf()}"
        for _ in range(rng.randrange(4)):
            by = f"{rng.choice('++-*')} {self.leaf()}"
            text = f"({text}) {by}" if rng.random() < 0.8 else f"{self.leaf()} + ({text})"
        return f"({text}) % {self.factor()}"

    def bits(self, a: str, b: str) -> str:
        """Beyond 2^51 the result of bit operations is undefined."""
        rng = self.rng
        name = rng.choice(["band", "bor", "bxor", "lshift", "rshift", "arshift", "bnot", "tobit"])
        a = f"({a}) % {rng.choice(['2^32', '2^31', '65536', '256'])}"
        a = rng.choice([a, a, f"{a} - 128", f"{a} - 2^31"])
        if name in ("bnot", "tobit"):
            return f"bit.{name}({a})"
        b = rng.choice(["1", "7", "31", "32", "0", "255", "0xffffffff", "-1", f"({b}) % 2^32"])
        return f"bit.{name}({a}, {b})"

    def value(self, depth: int) -> str:
        rng = self.rng
        if not depth:
            return self.leaf()
        a, b = self.value(depth - 1), self.value(depth - 1)
        return rng.choice(
            [
                f"({a} {rng.choice('+-*')} {b})",
                f"(({a}) % {self.factor()})",
                self.bits(a, b),
                f"bit.bxor({self.bits(a, b)}, s:byte({rng.choice(['i', a])}))",
                f"s:byte(({a}) % 16 + 1)",
                f"t[({a}) % 8]",
                f"math.floor(({a}) / {rng.choice(['2', '64', '3', '65536'])})",
                f"-({a})",
            ]
        )

    def statement(self) -> str:
        rng = self.rng
        to, value = rng.choice("hhhxa"), self.chain() if rng.random() < 0.6 else self.value(2)
        text = f"{to} = {value}"
        return rng.choice(
            [
                *[text] * 5,
                f"if {self.leaf()} {rng.choice(['<', '<=', '=='])} {self.leaf()} then {text} end",
                f"for _ = 1, 3 do {text} end",
                f"{to} = {to} {rng.choice('+-*')} {self.leaf()} {to} = {to} % {self.factor()}",
            ]
        )

    def program(self) -> str:
        rng = self.rng
        begin = rng.choice(["a = a % 2^32", "a = a % 65521", "a = bit.tobit(a % 2^32)", ""])
        body = " ".join(self.statement() for _ in range(rng.randint(1, 3)))
        first = rng.choice(["1", "0", "-3", "a"])
        calls = "\n".join(
            f"P(pcall(f, {rng.choice(SEEDS)}, {rng.choice(SEEDS)}, {rng.choice('1259')}))"
            for _ in range(5)
        )
        return f"""
local E, PRIME, s = setmetatable({{}}, META), 16777619, "\\0\\1abcdefg\\127\\128\\200\\254\\255z"
local t = {{ [0] = 7, 1, 2 ^ 32, -5, 2 ^ 51 - 1, 0.5, 255, 65536 }}
local function f(a, b, n)
	local h, x = {rng.choice(["a", "b", "5381", "2166136261", "0", "-1"])}, {self.factor()}
	{begin}
	for i = {first}, n do {body} end
	return h, x, a
end
function run()
{calls}
end
"""


def integers(rng: random.Random) -> str:
    return Integers(rng).program()


# Functions that share the script's local variables; some variables are reassigned.
SHARED = Templates((HERE / "shared.templates").read_text(), number=number, integer=integer)


def shared(rng: random.Random) -> str:
    rules = SHARED
    names = [f"v{i}" for i in range(rng.randint(2, 5))]
    written = [name for name in names if rng.random() < 0.4]
    functions = [f"f{i}" for i in range(rng.randint(1, 2))]
    small = [f"s{i}" for i in range(rng.randint(1, 2))]
    rules.names("local", names)
    rules.names("written", [*written, "n", "global1"])
    rules.names("function", functions)
    rules.names("small", small)

    def make(rule: str) -> str:
        return rules.make(rng, rule)

    lines = [
        'local object = { x = 1, longer = "s" }',
        "function object:m(n) return self.x, n end",
        f"local meta, {', '.join(functions)} = new_meta()",
        f"local xs, ys, n = {{ {column(rng)} }}, {{ {column(rng)} }}",
        "local cols = { xs = xs, ys = ys, k = 3 }",
        "local function pick(e, i) return e.xs[i] end",
        "local function most(a, b) if a < b then return b end return a end",
    ]
    lines += [f"local {name} = {make('value')}" for name in names]
    lines += [f"local function look(n) {make('looks')} end"]
    for name in small:
        given, _, rest = make("small_rest").partition(") ")
        body, result = make("small_body"), make("small_result")
        lines.append(f"local function {name}{given.rstrip(')')}) {rest} {body} return {result} end")
    for name in functions:
        lines += [f"function {name}(n)", "if G() then return 0 end"]
        lines += [f"pcall(function() {make('statement')} end)", make("body")]
        lines += [f"return {make('read')}", "end"]
    return "\n".join([*lines, f"function run()\ncalls = 0\n{make('run')}\nend"])


# Text, keys that may be nil, and small functions that call others.
TEXTS = Templates((HERE / "text.templates").read_text())


def texts(rng: random.Random) -> str:
    small = [f"s{i}" for i in range(rng.randint(1, 3))]
    helpers = [f"h{i}" for i in range(rng.randint(1, 2))]
    TEXTS.names("small", small)
    TEXTS.names("helper", helpers)

    def make(rule: str) -> str:
        return TEXTS.make(rng, rule)

    lines = [
        "local match, sub, lower, byte = string.match, string.sub, string.lower, string.byte",
        "local str_in, str_out, find, number = util.str_in, util.str_out, util.find, util.number",
        'local counts, seen, t, u = {}, { name = 1, GET = 2 }, { "x", k = "a", a = "k" }, "name"',
    ]
    lines += [f"local function {name}(a, b) return {make('helped')} end" for name in helpers]
    for name in small:
        body, result = make("small_body"), make("small_result")
        lines.append(f"local function {name}(a, b) {body} return {result} end")
    lines.append(f"local function f(s, a) local k, v, n = {make('begin')}, 3 {make('body')}")
    lines.append("return k, v, n end")
    lines += ["function run()", "calls = 0", make("run")]
    lines.append(
        'for _, k in ipairs { "name", "k", "GET", "a", "" } do P(counts[k], seen[k], t[k]) end'
    )
    return "\n".join([*lines, "end"])


# Registers with another value before a loop, and the values that loops leave in them.
LOOPS = Templates((HERE / "loops.templates").read_text(), number=number, integer=integer)


# Only functions without closures and varargs keep loop variables in registers.
OTHER = {rule: LOOPS.rules[rule] for rule in ("dots", "closure", "protected", "loop")}
PLAIN = {
    rule: LOOPS.rules[other]
    for rule, other in zip(OTHER, ("leaf", "exit", "after", "look_loop"), strict=True)
}
LOOPS.rules["look_loop"] += OTHER["loop"][:3]


def loops(rng: random.Random) -> str:
    def make(rule: str) -> str:
        return LOOPS.make(rng, rule)

    lines = [
        f"local u, w, C, T = 0, nil, {{ {column(rng)} }}, {{ {column(rng)} }}",
        f"local H, K = {{ 1, nil, 3, [7] = 4, [9] = {make('any')} }}, {{ 1, 2, 3, 4, 5 }}",
        f"local E, cols = setmetatable({{ {column(rng)} }}, META), {{ xs = C, k = 3 }}",
    ]
    names = ["f1", "f2"][: rng.choice([1, 1, 2])]
    for name in names:
        plain = rng.random() < 0.7
        LOOPS.rules.update(PLAIN if plain else OTHER)
        starts = ["look_start"] * 3 if plain else ["start", "any", "any"]
        start = f"local s, x, y = {', '.join(map(make, starts))}"
        lines += [f"local function {name}(a, b{'' if plain else ', ...'})", start]
        body = "briefs" if plain and rng.random() < 0.4 else "statements"
        lines += [make(body), f"do {make('statement')} return s, x, y, u, w end", "end"]
    lines += ["function run()", "calls = 0"]
    for name in names:
        for _ in range(3):
            given = ", ".join([make("given"), *(make("any") for _ in range(rng.randint(0, 2)))])
            how = "Y(" if rng.random() < 0.15 else "pcall("
            lines.append(f"P({how}{name}, {given}))")
    return "\n".join([*lines, "end"])
