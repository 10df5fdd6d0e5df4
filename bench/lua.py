#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure what scripts cost for themselves: single steps of Lua on each engine.

With --icount the guest counts instructions instead of time.
"""

from __future__ import annotations

import sys
from typing import Any

import results

WAYS = {
    "plain": "plain call",
    "luajit": "LuaJIT, interpreted",
    "luajit_compiled": "LuaJIT, compiled",
    "interpreted": "confined, interpreted",
    "compiled": "confined, compiled",
}
STEPS = {
    "register": "register a script of 51 lines",
    "loop": "once around an empty loop",
    "add": "add to a sum",
    "index": "add an element of an array",
    "lua_call": "call an empty function",
    "pcall": "the same by pcall",
    "key": "look up a key in a table, one of three strings",
    "match": "match a text of 16 bytes with two captures",
    "find": "find a byte in it",
    "sub": "take up to 8 bytes of it",
    "format": "format a number: `%d`",
    "concat": "append a number to a text",
    "peek": "read an int of the process's memory",
    "field": "read a field of a structure there",
    "getppid": "getppid",
    "lseek": "lseek of no file",
    "empty_run": "call an empty script",
}


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
    steps = result["steps"]
    rows = []
    for step, text in STEPS.items():
        counted = (steps[step].get(way) for way in WAYS)
        rows.append([text, *(f"{cost['median']:,.0f}" if cost else "" for cost in counted)])
    results.show([f"{unit} per step", *WAYS.values()], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("lua", 15, 5, measure, show).main(__doc__))
