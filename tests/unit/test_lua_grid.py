# SPDX-License-Identifier: GPL-2.0
"""Every function of Lua's libraries over a grid of arguments, on both engines.

Each call has the same results, or the same error, on LuaJIT, and on the confined engine,
compiled and interpreted. Intended differences are in syscript(7), "Differences between the
engines", and excluded by tests/confined/grid.lua.
"""

from __future__ import annotations

import os
import re
import subprocess
from itertools import zip_longest

import pytest
from conftest import ROOT
from runner import COMMAND, CORPUS_LIMITS

GRID = ROOT / "tests" / "confined" / "grid.lua"
LINE = re.compile(r"^\d+ ([\w.]+) (\d+)$", re.MULTILINE)
# Engines, and whether the confined engine's functions are compiled.
MODES = {
    "luajit": (["luajit", "--no-jit"], "yes"),
    "compiled": (["confined"], "yes"),
    "interpreted": (["confined"], "no"),
}


def run(mode: str, function: int) -> str:
    engine, compile_ = MODES[mode]
    command = [COMMAND, "run", "--backend", "user", "--engine", *engine, *CORPUS_LIMITS]
    done = subprocess.run(
        [*command, "--wall-limit", "50s", GRID, f"{function}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=os.environ | {"SYSCRIPT_LUA_COMPILE": compile_},
    )
    assert (done.returncode, done.stderr) == (0, b""), mode
    return done.stdout.decode("latin-1")


@pytest.fixture(scope="module")
def sums() -> dict[str, dict[str, str]]:
    """By mode and function: a checksum over all calls."""
    return {mode: dict(LINE.findall(run(mode, 0))) for mode in MODES}


def differences(function: int, mode: str) -> list[str]:
    said = [
        [line for line in run(m, function).splitlines() if ")p " in line or ")c " in line]
        for m in ("luajit", mode)
    ]
    return [f"{a}  ==  {b}" for a, b in zip_longest(*said) if a != b]


def test_libraries_have_the_same_functions(sums: dict[str, dict[str, str]]) -> None:
    assert len(sums["luajit"]) > 120
    assert list(sums["luajit"]) == list(sums["compiled"]) == list(sums["interpreted"])


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_each_call_does_the_same(sums: dict[str, dict[str, str]], mode: str) -> None:
    names = list(sums["luajit"])
    others = [name for name in names if sums[mode].get(name) != sums["luajit"][name]]
    # One or two of each suffice to show the difference.
    told = [line for name in others for line in differences(names.index(name) + 1, mode)[:2]]
    assert not others, "\n".join(told)
