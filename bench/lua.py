#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure Lua on the confined engine, compared with LuaJIT's interpreter.

With --icount the guest counts instructions instead of time.
"""

from __future__ import annotations

import sys
from typing import Any

import results

WAYS = ("plain", "luajit", "interpreted", "compiled")


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    raw = results.in_guest(options, ["build/bench/lua", str(rounds)])
    seen = raw.pop("rounds")
    steps = {
        step: {way: results.summary([r[step][way] for r in seen]) for way in ways}
        for step, ways in seen[0].items()
    }
    return {**raw, "steps": steps}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    unit = "ns" if result["clock"] == "time" else "instructions"
    rows = [
        [step, *(f"{ways[way]['median']:.0f}" if way in ways else "" for way in WAYS)]
        for step, ways in result["steps"].items()
    ]
    results.show([f"{unit} per step", *WAYS], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("lua", 15, 5, measure, show).main(__doc__))
