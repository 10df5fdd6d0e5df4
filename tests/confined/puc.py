# SPDX-License-Identifier: GPL-2.0
"""PUC's own tests for Lua 5.1; Debian has them in the source package of gopher-lua.

They run unchanged, except for lines that need features the guest lacks.
"""

from __future__ import annotations

from pathlib import Path

from runner import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
# From `make`: see tests/build.mk.
SOURCE = ROOT / "build" / "lua-tests"
PRELUDE = Path(__file__).with_suffix(".lua")


def lines(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


# Lines to skip, by file.
LEFT_OUT = {
    "calls": [241],  # debug
    "closure": [277, 278, *lines(411, 422)],  # debug
    "constructs": [189],  # debug
    "errors": [38, 111, *lines(150, 168), 196],  # LuaJIT's messages and names; io, debug
    "events": lines(330, 357),  # debug
    "gc": [*lines(203, 256), *lines(286, 310)],  # finalisers
    "literals": [112],  # debug
    "locals": [],
    "math": [],
    "nextvar": [],
    "pm": [*lines(87, 91), 235],  # a copy of the function above; LuaJIT has no gfind
    "sort": [],
    "strings": [],
    "vararg": [*lines(5, 10), *lines(24, 26), *lines(47, 48)],  # LuaJIT has no hidden arg
}

# Replacements for lines that need debug, and for loops over thousands of combinations.
REPLACED = {
    "constructs": {238: "until i == c or i == 500"},
    "errors": {142: "function y () C=C+1; y() end"},
    "literals": {117: "dostring(prog)"},
}

# errors.lua fills a stack.
LIMITS = ["--time-limit", PATIENCE, "--memory-limit", "8192"]


def script(name: str) -> str:
    """A test as a script for the guest; skipped lines become empty, to keep line numbers."""
    text = (SOURCE / f"{name}.lua").read_bytes().decode("latin-1").splitlines()
    for number in LEFT_OUT[name]:
        text[number - 1] = ""
    for number, line in REPLACED.get(name, {}).items():
        text[number - 1] = line
    return PRELUDE.read_text() + "\n".join(text)
