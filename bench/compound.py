#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure inner loops of applications, as compounds and compiled plainly.

A ratio compares the compound with the plain loop of the same round, in one boot. With --icount the
guest counts instructions instead of time: these figures decide. bench/inner.py measures single
calls of compounds, bench/udp.py a UDP server.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import results


class Bound(NamedTuple):
    """The upper bound of a ratio, and its target."""

    at_most: float
    aim: float


BOUNDS = {"open_read_close": Bound(0.90, 0.75), "database": Bound(0.85, 0.50)}
WAYS = ("plain", "compound")


def compared(rounds: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The cost of a loop in each way, and their ratio."""
    found = {way: results.summary([r[name][way] for r in rounds]) for way in WAYS}
    ratios = [r[name]["compound"] / r[name]["plain"] for r in rounds]
    return {**found, "compound_over_plain": results.summary(ratios)}


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    command = [*results.IN_KERNEL, "build/bench/compound", str(rounds)]
    raw = results.in_guest(options, command)
    seen = raw.pop("rounds")
    return {**raw, "applications": {name: compared(seen, name) for name in seen[0]}}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    unit = "ns" if result["clock"] == "time" else "instructions"
    rows = []
    for name, found in result["applications"].items():
        ratio = found["compound_over_plain"]
        row = [name, *(f"{found[way]['median']:.0f}" for way in WAYS), f"{ratio['median']:.3f}"]
        row.append(f"{ratio['min']:.3f} .. {ratio['max']:.3f}")
        if bound := BOUNDS.get(name):
            row += [f"{bound.at_most:g}", f"{bound.aim:g}"]
            row.append(results.verdict(ratio["median"], *bound))
        rows.append(row + [""] * (8 - len(row)))
    head = [f"{unit} per step", *WAYS, "ratio", "min .. max", "at most", "aim", ""]
    results.show(head, rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("compound", 15, 5, measure, show).main(__doc__))
