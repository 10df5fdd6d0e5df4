#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Search all of LuaJIT's library for long work without a safe point.

In the kernel nobody else gets the CPU of a script between two safe points. Each function of the
library is called with large strings and tables in each place, and so are operators and the
parser (load). What takes more CPU time than the limit between two safe points in each of several
tries is listed, and the exit status is 1.

The whole search takes half an hour of two idle CPUs; a shorter one takes every Nth call, or only
calls with a given text.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CALLS = HERE / "calls.lua"
LIMIT = 5_000_000  # ns
TRIES = 6
SHOWN = 12

# Names of large values, as many bytes or elements as 16 MiB allow. B is the address of as much
# memory of the process.
VALUES = {
    "S": '("x"):rep(6000000)',
    "D": '("1"):rep(6000000)',
    "SP": '(" "):rep(6000000)',
    "PCT": '("%%"):rep(3000000)',
    "SET": '"[" .. ("x"):rep(4000000)',
    "PAR": '("("):rep(6000000)',
    "Q": '("a,"):rep(3000000)',
    "N": '("\\n"):rep(6000000)',
    "Z": '("\\0"):rep(6000000)',
    "T": "{} for i = 1, 500000 do T[i] = i end",
    "H": '{} for i = 1, 60000 do H["k" .. i] = i end',
    "W": '{} for i = 1, 120000 do W[i] = "word" .. i end',
    "E": "setmetatable({}, { __index = function() return 1 end })",
}
FORMS = """
{f}({v})  {f}({v}, "x")  {f}("x", {v})  {f}({v}, 1)  {f}(1, {v})  {f}({v}, {v})  {f}({v}, 1, 8e6)
{f}({v}, "x", "yy")  {f}("%s", {v})  {f}("%q", {v})  {f}({v}, print)  {f}({v}, "x", 1, true)
{f}({v}, "x*y")  {f}({v}, {{}})  {f}(B, {v})  {f}({v}, B, 8e6)  {f}("x", "x", {v})
{f}({v}, ",", 1, 100000)
""".strip()
NAMES = """
function run()
  local names = {}
  run = nil
  for name, value in pairs(_G) do
    if type(value) == "function" then
      names[#names + 1] = name
    elseif type(value) == "table" and name ~= "syscall" and name ~= "_G" then
      for field, f in pairs(value) do
        if type(f) == "function" then names[#names + 1] = name .. "." .. field end
      end
    end
  end
  print(table.concat(names, " "))
end
"""


class Found(NamedTuple):
    """The longest time between two safe points, in ns, the least of several tries."""

    longest: int
    call: str
    result: str


def functions(syscript: Path) -> list[str]:
    command = [syscript, "run", "--backend", "user", "--engine", "luajit", "-"]
    done = subprocess.run(command, input=NAMES, capture_output=True, text=True, check=True)
    return sorted(done.stdout.split("\n")[0].split())


def calls(syscript: Path) -> list[str]:
    lines = [line for line in CALLS.read_text().split("\n") if line and line[:2] != "--"]
    forms = re.split(r"\s{2,}|\n", FORMS)
    names = functions(syscript)
    made = itertools.product(names, [*VALUES, "B"], forms)
    return list(dict.fromkeys([*lines, *(form.format(f=f, v=v) for f, v, form in made)]))


def script(call: str) -> str:
    values = "".join(
        f"local {name}\n{name} = {text}\n"
        for name, text in VALUES.items()
        if re.search(rf"\b{name}\b", call)
    )
    body = f"pcall(function() local _ = {call} end)"
    return f"{values}function run(mark, B) util.peek(mark) {body} end\n"


def measure(gap: Path, call: str) -> Found | None:
    """None: no script, because its values do not fit, or the syntax is refused."""
    best = None
    for _ in range(TRIES):
        done = subprocess.run(
            [gap], input=script(call), capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            # The script is at fault: it gave an address that is not its own.
            return Found(0, call, f"status {done.returncode}")
        words = done.stdout.rstrip("\n").split(" ", 1)
        if words[0] == "refused":
            return None
        if best is None or int(words[0]) < best.longest:
            best = Found(int(words[0]), call, words[1])
        if best.longest <= LIMIT:
            break
    return best


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("syscript", type=Path, help="the command")
    parser.add_argument("gap", type=Path, help="the program of gap.c")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth call")
    parser.add_argument("--with", dest="text", default="", help="only calls with that text")
    parser.add_argument("-o", "--output", type=Path, help="JSON")
    args = parser.parse_args()

    todo = [call for call in calls(args.syscript) if args.text in call][:: args.every]
    found, refused, shown = [], 0, time.monotonic()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for n, one in enumerate(pool.map(lambda call: measure(args.gap, call), todo), 1):
            if one is None:
                refused += 1
            else:
                found.append(one)
            if time.monotonic() > shown + 20:
                shown = time.monotonic()
                longest = max(found).longest / 1e6 if found else 0
                print(f"{n} of {len(todo)} calls, at most {longest:.1f} ms", flush=True)
    found.sort(reverse=True)
    over = sum(one.longest > LIMIT for one in found)
    print(f"{len(found)} calls, {refused} more refused; {over} over {LIMIT / 1e6:g} ms of CPU time")
    for one in found[: max(SHOWN, over)]:
        print(f"{one.longest / 1e6:6.2f} ms  {one.call[:70]}")
    if args.output:
        args.output.write_text(json.dumps([one._asdict() for one in found], indent=1) + "\n")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
