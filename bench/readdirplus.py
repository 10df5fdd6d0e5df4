#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count readdirplus as the paper has it: elapsed, system and user, for 10 to 100,000 files.

Clocks of processes advance by ticks and do not see a call of microseconds. So this counts the
instructions of each mode, by the address of each (vm/profile), between marks around each probe of
build/bench/files. Elapsed are both modes: no probe waits.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import results

SIZES = (10, 100, 1000, 10000, 100000)
MODES = ("elapsed", "system", "user")
WAYS = ("plain", "luajit", "confined")
# The clock may differ from the instructions by reading it.
CLOCK_WITHIN, CLOCK_READS = 0.01, 2000


def counts_of(rounds: list[dict[str, list[float]]], modes: list[list[int]]) -> dict[str, Any]:
    """The instructions of a call, by probe and mode; takes its pairs of marks off @modes.

    Every sample must agree with the guest's clock, which counts instructions, too.
    """
    found: dict[str, Any] = {}
    for row in rounds:
        for probe, (ns, _, times) in row.items():
            user, system = modes.pop(0)
            if abs(user + system - ns * times) > CLOCK_WITHIN * ns * times + CLOCK_READS:
                raise results.MeasureError(
                    f"{probe}: {user + system} instructions, but the clock advanced {ns * times}"
                )
            parts = ((user + system) / times, system / times, user / times)
            found[probe] = dict(zip(MODES, parts, strict=True))
    return found


def by_size(luajit: dict[str, Any], confined: dict[str, Any]) -> dict[str, Any]:
    return {
        str(n): {
            "plain": luajit[f"readdirplus.n{n} plain"],
            "luajit": luajit[f"readdirplus.n{n} script"],
            "confined": confined[f"readdirplus.n{n} script"],
        }
        for n in SIZES
    }


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    if not icount:
        raise results.MeasureError("it counts instructions: give --icount")
    with tempfile.TemporaryDirectory(dir=results.ROOT / "build") as directory:
        options = ["-k", kernel, "--memory", "2G", "--timeout", "1800", "--profile", directory]
        both = results.in_guest(options, ["bench/files.sh", str(rounds), "readdirplus."])
        lines = (Path(directory) / "counts.modes").read_text().splitlines()
    modes = [[int(count) for count in line.split()] for line in lines]
    found = {
        engine: {place: counts_of(seen, modes) for place, seen in both[engine]["rounds"].items()}
        for engine in ("luajit", "confined")
    }
    if modes:
        raise results.MeasureError(f"{len(modes)} pairs of marks belong to no sample")
    return {
        "machine": both["machine"],
        "kernel": both["luajit"]["kernel"],
        "accel": both["luajit"]["accel"],
        "files": {
            place: by_size(found["luajit"][place], found["confined"][place])
            for place in found["luajit"]
        },
    }


def show(result: dict[str, Any], rounds: int) -> None:
    """A table for each file system: instructions of plain calls, ratios of scripts to them."""
    for place, sizes in result["files"].items():
        results.headline(f"readdirplus, {place}", result)
        rows = []
        for n, ways in sizes.items():
            for mode in MODES:
                plain = ways["plain"][mode]
                ratios = [f"{ways[way][mode] / plain:.2f}" for way in WAYS[1:]]
                rows.append([f"{int(n):,}", mode, f"{plain:,.0f}", *ratios])
        head = [f"files of {place}", "instructions", "plain", "LuaJIT", "confined"]
        results.show(head, rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("readdirplus", 1, 1, measure, show).main(__doc__))
