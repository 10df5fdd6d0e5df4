# SPDX-License-Identifier: GPL-2.0
"""Lua as programs for subsystems, compiled ahead of time: cases in tests/lua/whole.c."""

import os
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def whole(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [BUILD / "tests" / "lua" / "whole", *arguments],
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_whole() -> None:
    whole()


BEFORE = """
local list, ports, word = { 5, 6, 7, 8, 9, 10 }, { [3] = true, [-2] = true }, "syscript"
local function twice(x) return x + x end
local function perhaps(x) if x % 3 == 0 then return x end end
local function mixed(x, y) if x > y then return x - y elseif x == y then return nil end return y end
local n, on, slots = 7, true, { 4, 3, 2, 1, 0 }
"""


class Program:
    """A random function of a, b and c, as lines."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.numbers = ["a", "b", "c"]
        self.perhaps: list[str] = []
        self.lines: list[str] = []
        self.depth = 0

    def number(self, depth: int = 2) -> str:
        r = self.r
        if not depth or r.random() < 0.3:
            small = str(r.choice([0, 1, 2, 3, 7, 8, 100, 65535, 1 << 20, (1 << 31) - 1]))
            return r.choice([*self.numbers, *self.numbers, small, f"(-{small})", "n", "#list"])
        x, y = self.number(depth - 1), self.number(depth - 1)
        return r.choice(
            [
                *(f"({x} {op} {y})" for op in "+-*%"),
                f"({x} % {r.choice([2, 3, 16, 1000, -7])})",
                f"math.floor({x} / {y})",
                f"math.floor({x} / {r.choice([2, 3, 8, -5])})",
                f"math.{r.choice(['min', 'max'])}({x}, {y})",
                # Beyond 2^51 LuaJIT's results are undefined.
                f"bit.{r.choice(['band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift'])}"
                f"({x} % 8589934592 - 99, {y} % 4294967297 - 99)",
                f"twice({x})",
                f"({self.may_be_nil(x)} or {y})",
                f"({self.truth(0)} and {x} or {y})",
                f"(-{x})",
            ]
        )

    def may_be_nil(self, x: str) -> str:
        r = self.r
        forms = [
            f"perhaps({x})",
            f"list[{x}]",
            f"slots[{x}]",
            f"list[perhaps({x})]",
            f"word:byte({x})",
            f"mixed({x}, {r.choice('abc')})",
        ]
        return r.choice([*forms, *self.perhaps])

    def truth(self, depth: int = 1) -> str:
        r = self.r
        x, y = self.number(depth), self.number(depth)
        forms = [f"{x} {op} {y}" for op in ("<", "<=", ">", ">=", "==", "~=")]
        forms += [f"ports[{x}]", "on", self.may_be_nil(x), f"{self.may_be_nil(x)} == {y}"]
        forms += [f"{self.may_be_nil(x)} {op} nil" for op in ("==", "~=")]
        if depth:
            p, q = self.truth(depth - 1), self.truth(depth - 1)
            forms += [f"not ({p})", f"(({p}) and ({q}))", f"(({p}) or ({q}))"]
        return r.choice(forms)

    def say(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def block(self, size: int) -> None:
        self.depth += 1
        known = list(self.numbers), list(self.perhaps)
        for _ in range(self.r.randint(1, size)):
            self.statement()
        self.numbers, self.perhaps = known
        self.depth -= 1

    def statement(self) -> None:
        r = self.r
        name = f"v{len(self.lines)}"
        kind = r.choice(
            ["local", "local", "set", "set", "if", "for", "nil", "up", "slot", "return"]
        )
        if kind == "local":
            self.say(f"local {name} = {self.number()}")
            self.numbers.append(name)
        elif kind == "nil":
            self.say(f"local {name} = {self.may_be_nil(self.number(1))}")
            self.perhaps.append(name)
        elif kind == "set":
            self.say(f"{r.choice(self.numbers)} = {self.number()}")
        elif kind == "up":
            self.say(r.choice([f"n = {self.number()} % 1000", f"on = ({self.number(1)}) > 0"]))
        elif kind == "slot":
            self.say(f"slots[{self.number(1)} % 5 + 1] = {self.number()} % 1000")
        elif kind == "return":
            self.say(f"if {self.truth()} then return {self.number()} end")
        elif self.depth < 3 and kind == "if":
            self.say(f"if {self.truth()} then")
            self.block(3)
            if r.random() < 0.6:
                self.say("else")
                self.block(3)
            self.say("end")
        elif self.depth < 2:
            step = r.choice(["", ", 2", ", -1"])
            ends = f"{self.number(0)} % 5, {self.number(0)} % 6"
            self.say(f"for {name} = {ends}{step} do")
            self.numbers.append(name)
            self.block(2)
            self.numbers.remove(name)
            self.say("end")

    def text(self) -> str:
        self.depth = 1
        for _ in range(6):
            self.statement()
        body = "\n".join([*self.lines, f"  return {self.number()}"])
        return f"{BEFORE}function run(a, b, c)\n{body}\nend\n"


REFERENCE = """
local function one(source, a, b, c)
  local chunk = assert(load(source, "=t"))
  chunk()
  local ok, result = pcall(run, a, b, c)
  if not ok then return "failed " .. tostring(result:match("^t:(%d+)")) end
  if result == true then result = 1 elseif not result then result = 0 end
  return ("%.17g"):format(result + 0)
end
function run()
  local run_ = run
"""


def reference(programs: list[tuple[str, list[int]]]) -> list[str]:
    """What LuaJIT says."""
    calls = "".join(
        f"  print(one([==[{text}]==], {', '.join(map(str, a))}))\n" for text, a in programs
    )
    done = subprocess.run(
        [
            *(BUILD / "syscript", "run", "--backend", "user", "--engine", "luajit"),
            *("--memory-limit", "16M", "--time-limit", "9s", "-"),
        ],
        input=REFERENCE + calls + "end",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[: len(programs)]


# The last one concerns constants, which Lua folds to fractions.
REFUSED = ("several kinds", "a division by 0", "an integer within")
# Reasons that are no errors in Lua: division by 0, numbers beyond 2^53.
OURS = ("2", "3")


def test_random() -> None:
    """Random functions return the same as in LuaJIT, or fail in the same line."""
    r = random.Random(SEED := int(os.environ.get("WHOLE_SEED", "1")))
    programs = []
    for k in range(int(os.environ.get("WHOLE_PROGRAMS", "60"))):
        args = [r.choice([0, 1, -1, 3, 17, r.randint(-300, 300), r.getrandbits(30)]) for _ in "abc"]
        programs.append((Program(SEED * 1000000 + k).text(), args))
    given = "".join(f"-- {' '.join(map(str, a))}\n{t}.\n" for t, a in programs)
    got = whole("given", given=given).split("\n")
    expected = reference(programs)
    compared = 0
    for (text, args), ours, theirs in zip(programs, got, expected, strict=False):
        words = ours.split()
        assert words[0] != "refused" or any(why in ours for why in REFUSED), text + ours
        if words[0] == "refused" or (words[0] == "failed" and words[2] in OURS):
            continue
        ours = " ".join(words[:2])
        assert ours == theirs, f"{args}\n{text}\n{ours}, not {theirs}"
        compared += 1
    assert compared > len(programs) // 2, compared
