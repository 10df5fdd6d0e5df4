# SPDX-License-Identifier: GPL-2.0
"""PUC's own tests for Lua 5.1, of which Debian has a copy in the sources of gopher-lua.

They are taken as they are, but for lines that need what the guest has not.
"""

from __future__ import annotations

import re
from pathlib import Path

from runner import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
# From `make`: see tests/build.mk.
SOURCE = ROOT / "build" / "lua-tests"
PRELUDE = Path(__file__).with_suffix(".lua")


def lines(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


# By file: the lines that are not run.
LEFT_OUT = {
    "calls": [241],  # debug
    "closure": [277, 278, *lines(411, 422)],  # debug
    "constructs": [18, 189],  # fractions, debug
    "errors": [111, *lines(150, 168)],  # io, debug
    "events": lines(330, 357),  # debug
    "gc": [*lines(203, 256), *lines(286, 310)],  # finalisers
    "literals": [112, *lines(162, 169)],  # debug, fractions
    "locals": [],
    # Fractions and functions of these, and from 126 on what _soft leaves out.
    "math": [
        *lines(13, 16),
        *lines(28, 30),
        35,
        *lines(56, 73),
        *lines(88, 89),
        *lines(95, 100),
        *lines(102, 104),
        *lines(106, 116),
        *lines(126, 210),
    ],
    "nextvar": [281, 360, 363, 366, 368],  # fractions
    "pm": lines(87, 91),  # a copy of the function above, and not in Lua 5.1
    "sort": [27, 32, 42, 43, 52],  # fractions, to be printed
    "strings": [111, 122],  # fractions, to be formatted
    "vararg": [53, *lines(55, 66)],  # fractions
}

# Lines without what these need of debug, and some of thousands of combinations.
REPLACED = {
    "constructs": {238: "until i == c or i == 500"},
    "errors": {142: "function y () C=C+1; y() end"},
    "literals": {117: "dostring(prog)"},
}

# Fractions that may be any numbers, by their lines: 1.5 becomes 15.
ANY_NUMBER = {"closure": [131], "nextvar": [38, 39, 279, 294]}


# errors.lua fills a stack.
LIMITS = ["--time-limit", PATIENCE, "--memory-limit", "8192"]


def script(name: str) -> str:
    """A test as a script for the guest; what is left out leaves its line."""
    text = (SOURCE / f"{name}.lua").read_bytes().decode("latin-1").splitlines()
    for number in LEFT_OUT[name]:
        text[number - 1] = ""
    for number, line in REPLACED.get(name, {}).items():
        text[number - 1] = line
    for number in ANY_NUMBER.get(name, []):
        text[number - 1] = re.sub(r"(\d)\.(\d)", r"\1\2", text[number - 1])
    return PRELUDE.read_text() + "\n".join(text)
