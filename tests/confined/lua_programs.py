# SPDX-License-Identifier: GPL-2.0
"""Random Lua programs that compare compiled with interpreted execution.

They terminate, print what they do, and sometimes fail: error messages are compared, too.
"""

from __future__ import annotations

import random

NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "-5",
    "10",
    "100",
    "2^20",
    "2^31",
    "2^40",
    "2^50",
    "-2^50",
    "0.5",
    "-1.25",
    "1e300",
]
OPERATORS = ["+", "-", "*", "%", "+", "-", "*", "/"]
DEEP = "if deep() then return end"
COMPARISONS = ["<", "<=", ">", ">=", "==", "~="]


class Program:
    """One, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0
        self.loops = 0
        self.functions: list[str] = []
        self.names = ["a", "b", "c"]

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.random.choice(self.names)

    def number(self) -> str:
        return self.random.choice(NUMBERS)

    # -- Expressions -----------------------------------------------------------------

    def numeric(self, depth: int = 0) -> str:
        """Mostly integers, so that most operations succeed."""
        if depth > 3 or self.random.random() < 0.3:
            return self.pick(self.name(), self.name(), self.number(), "up", "#t", "turns")
        one, two = self.numeric(depth + 1), self.numeric(depth + 1)
        kind = self.random.randrange(10)
        if kind < 6:
            return f"({one} {self.random.choice(OPERATORS)} {two})"
        if kind == 6:
            return f"- {one}"
        if kind == 7:
            return f"(({one} {self.random.choice(COMPARISONS)} {two}) and {one} or {two})"
        return self.pick(
            "(t[1] or 1)",
            "count()",
            f"(t[{one}] or {two})",
            f"id({one})",
            f"add({one}, {two})",
            "lseek(-1, 0, 0)",
            "util.peek(buf, 'u1')",
            "#s",
            f"(two({one}))",
        )

    def expression(self, depth: int = 0) -> str:
        if self.random.random() < 0.75:
            return self.numeric(depth)
        if depth > 2 or self.random.random() < 0.35:
            return self.atom()
        one, two = self.expression(depth + 1), self.expression(depth + 1)
        if self.random.random() < 0.4:
            return f"({one} {self.random.choice(OPERATORS)} {two})"
        return self.pick(
            f"- {self.atom()}",
            f"(not {one})",
            f"({one} and {two})",
            f"({one} or {two})",
            f"({one} {self.random.choice(COMPARISONS)} {two})",
            f"t[{one}]",
            self.call(),
            f"({one} .. {two})",
            f"#({one})",
            f"({one} == nil)",
            f"#{self.pick('t', 's')}",
            f"t.{self.pick('x', 'y')}",
        )

    def atom(self) -> str:
        kind = self.random.randrange(12)
        if kind < 5:
            return self.name()
        if kind < 9:
            return self.number()
        return self.pick(
            "nil", "true", "false", "'text'", "'12'", "s", "up", "G", "{}", "{1, 2, x = 3}"
        )

    def arguments(self) -> str:
        return ", ".join(self.expression(2) for _ in range(self.random.randrange(4)))

    def call(self) -> str:
        safe = [
            "id",
            "two",
            "none",
            "tail",
            "count",
            "obj:get",
            "util.peek",
            "syscall.lseek",
            "math.max",
        ]
        if self.functions and self.random.random() < 0.5:
            return f"{self.random.choice(self.functions)}({self.arguments()})"
        callee = self.random.choice(safe)
        if callee == "util.peek":
            return self.pick(
                "util.peek(buf)", "util.peek(buf + 4, 'u2')", "util.peek(buf, 'b4')", "peek(buf)"
            )
        if callee == "syscall.lseek":
            return self.pick(
                "syscall.lseek(-1, 0, 0)",
                "lseek(-1, up, 0)",
                "lseek(-1, 0)",
                f"lseek({self.name()}, 0, 0) ",
            )
        return f"{callee}({self.arguments()})"

    # -- Statements ---------------------------------------------------------------------

    def block(self, count: int) -> str:
        kept = list(self.names)
        self.depth += 1
        lines = [self.statement() for _ in range(count)]
        self.depth -= 1
        self.names = kept
        return "\n".join(lines)

    def statement(self) -> str:
        kinds = self.SIMPLE if self.depth > 3 else self.SIMPLE + self.COMPOUND
        return self.random.choice(kinds)(self)

    def assignment(self) -> str:
        return f"{self.name()} = {self.expression()}"

    def assignments(self) -> str:
        values = f"{self.expression()}, {self.pick('two()', self.expression())}"
        return f"{self.name()}, {self.name()} = {values}"

    def local(self) -> str:
        name = f"v{len(self.names)}"
        text = f"local {name} = {self.expression()}"
        self.names.append(name)
        return text

    def elsewhere(self) -> str:
        return self.pick(
            f"t[{self.expression(1)}] = {self.expression()}",
            f"up = {self.expression()}",
            f"G = {self.expression()}",
            f"t.x = {self.expression()}",
            f"count({self.expression()})",
            f"s = s .. {self.atom()}",
        )

    def shown(self) -> str:
        return f"show({self.expression()}, {self.expression()})"

    def called(self) -> str:
        return self.pick(f"local _ = {self.call()}", f"show(({self.call()}))")

    def condition(self) -> str:
        return f"if {self.expression()} then\n{self.block(2)}\nelse\n{self.block(1)}\nend"

    def while_loop(self) -> str:
        self.loops += 1
        n = f"n{self.loops}"
        first = f"local {n} = 0 while {n} < {self.random.randrange(1, 6)}"
        last = self.pick("", f"if {self.expression()} then break end")
        return f"{first} do\n{n} = {n} + 1\n{self.block(2)}\n{last}\nend"

    def generic_for(self) -> str:
        over = f"{self.pick('pairs', 'ipairs')}({{1, {self.atom()}, 3}})"
        return f"for k, v in {over} do\nshow(k, v)\n{self.block(1)}\nend"

    def function(self) -> str:
        name = f"f{len(self.functions)}"
        body = self.block(3)
        last = self.pick(
            "return a", "return b, ...", f"return {self.expression()}", "", "return id(a, b)"
        )
        self.functions.append(name)
        return f"{name} = function(a, b, ...)\n{DEEP}\n{body}\n{last}\nend"

    def protected(self) -> str:
        last = self.pick("return a", "error(a)", f"return {self.call()}")
        function = f"function(a, b)\n{DEEP}\n{self.block(3)}\n{last}\nend"
        return f"show(pcall({function}, {self.atom()}, {self.atom()}))"

    def coroutine(self) -> str:
        first, second = self.block(1), self.block(1)
        body = f"{first}\nlocal got = coroutine.yield(a) show(got)\n{second}\nyielding(3)"
        wrapped = f"coroutine.wrap(function(a)\n{DEEP}\n{body}\nreturn {self.atom()}\nend)"
        calls = f"show(pcall(co, {self.atom()})) show(pcall(co, 5)) show(pcall(co))"
        return f"local co = {wrapped}\n{calls}"

    def closure(self) -> str:
        body = f"{self.name()} = {self.atom()} return {self.name()}"
        return f"keep[#keep + 1] = function() {body} end show(keep[#keep]())"

    def numeric_for(self) -> str:
        name = f"i{len(self.names)}"
        kept = list(self.names)
        step = self.pick("", "", ", 1", ", 2", ", -1", f", {self.atom()}")
        start, end = self.pick("1", "-2", "3", self.atom()), self.pick("4", "9", "-3", "3")
        self.names.append(name)
        body = self.block(3)
        self.names = kept
        # Other bounds could make the loop too long.
        return f"for {name} = {start}, {end}{step} do\nif often() then break end\n{body}\nend"

    SIMPLE = (assignment, assignment, assignments, local, elsewhere, elsewhere, shown, called)
    COMPOUND = (
        *(condition, condition, numeric_for, numeric_for, while_loop, generic_for),
        *(function, protected, coroutine, closure),
    )

    def guarded(self) -> str:
        return f"show(pcall(function()\n{self.block(4)}\nend))"

    def text(self) -> str:
        body = "\n".join(self.pick(self.guarded(), self.guarded(), self.block(2)) for _ in range(6))
        return PRELUDE + f"local function main(a, b, c)\n{body}\nreturn a, b, c\nend\n" + POSTLUDE


PRELUDE = """
local shown, turns, depth, up, s = 0, 0, 0, 0, "s"
local buf = util.buffer(16)
util.poke(buf, 'i4', -559038737) util.poke(buf + 4, 'i4', 1234567)
local peek, lseek = util.peek, syscall.lseek
local t, keep = { 1, 2, 3, x = 4 }, {}
G = 1
local obj = { n = 3 }
function obj:get(a) return a or self.n end
setmetatable(obj, { __index = function(_, k) return k end, __add = function(a, b) return 42 end,
  __lt = function() return true end, __call = function(_, x) return x end,
  __concat = function() return "cat" end, __eq = function() return true end,
  __unm = function() return 7 end })
local f0, f1, f2, f3, f4, f5, f6, f7, f8, f9
local function text(v)
  local kind = type(v)
  return (kind == "number" or kind == "string" or kind == "boolean") and tostring(v) or kind
end
local function show(...)
  shown = shown + 1
  if shown > 400 then return end
  local out = {}
  for i = 1, select("#", ...) do out[i] = text((select(i, ...))) end
  local line = table.concat(out, " ")
  print(#line > 200 and #line or line)
end
local function often() turns = turns + 1 return turns > 2000 end
local function deep() turns = turns + 1 return turns > 2000 end
local function id(...) return ... end
local function two(a) return a, 2 end
local function none() end
local function add(a, b) return a + b end
local function tail(a, n)
  if type(n) == "number" and n > 0 and n < 5 then return tail(a, n - 1) end
  return id(a)
end
local function count(n) up = up + 1 return up end
local function yielding(n) for i = 1, n do coroutine.yield(i) end end
"""

POSTLUDE = """
function run()
  for i = 1, 3 do
    show(pcall(main, i, t, i == 2 and obj or "7"))
    turns = 0
    if #s > 1000 then s = "s" end
  end
  show(up, G, s, #t)
  collectgarbage()
end
"""
