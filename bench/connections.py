#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the library's functions for connections in a guest, compared with plain calls.

A sample is a ratio within one round; all rounds are made in one boot.
"""

from __future__ import annotations

import sys
from typing import Any

import results

# For each probe the plain one to compare with: 16 connections each.
PLAIN = {
    "accept": "epoll_wait, accept4 until there are no more",
    "recv": "epoll_wait, recv from each",
}


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    raw = results.in_guest(options, ["build/bench/connections", str(rounds)])
    seen = raw.pop("rounds")
    ours = [name for name in seen[0] if not name.endswith(" plain")]
    ratios = {
        name: results.summary([r[name] / r[f"{name.split()[0]} plain"] for r in seen])
        for name in ours
    }
    return {
        **raw,
        "ratios": ratios,
        "per_connection": {name: results.summary([r[name] for r in seen]) for name in seen[0]},
    }


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    rows = []
    for name, cost in result["per_connection"].items():
        what, function = name.split()
        row = [PLAIN[what] if function == "plain" else f"syscript_{function}"]
        row.append(f"{cost['median']:.0f}")
        ratio = result["ratios"].get(name)
        if ratio:
            row += [f"{ratio['median']:.2f}", f"{ratio['min']:.2f} .. {ratio['max']:.2f}"]
        rows.append(row + [""] * (4 - len(row)))
    unit = "ns" if result["clock"] == "time" else "instructions"
    results.show([f"{unit} per connection", "median", "/ plain", "min .. max"], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("connections", 30, 20, measure, show).main(__doc__))
