#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure ordinary programs on 20,000 files, as they are and under `syscript speed-up`."""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import results

AT_MOST, AIM = 0.70, 0.50
# The others are there to see what it costs where there is little to gain.
TO_GAIN = ("ls -lR", "du", "find -size", "tar | cat", "git status")


def measure(kernel: str, steady: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--timeout", "1800"]
    options.append("--icount" if steady else "--fair")
    program = ["build/bench/commands", str(rounds), "build/libsyscript-speedup.so"]
    raw = results.in_guest(options, program)
    seen = raw.pop("commands")
    return {**raw, **{name: ratios(pairs) for name, pairs in seen.items()}}


def ratios(pairs: list[list[int]]) -> dict[str, Any]:
    return {
        **results.summary([sped / plain for plain, sped in pairs]),
        "plain": median(plain for plain, _ in pairs),
        "sped": median(sped for _, sped in pairs),
    }


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"20,000 files in 200 directories, tmpfs, {rounds} rounds", result)
    rows = [
        [
            name,
            f"{found['plain'] / 1e6:.1f}",
            f"{found['sped'] / 1e6:.1f}",
            f"{found['median']:.2f}",
            results.verdict(found["median"], AT_MOST, AIM) if name in TO_GAIN else "",
        ]
        for name, found in result.items()
        if isinstance(found, dict)
    ]
    results.show(["CPU time, ms or 10^6 instructions", "plain", "sped up", "ratio", ""], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("commands", 7, 2, measure, show).main(__doc__))
