#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Flood a port behind a filter that drops nearly everything: a program, nftables, or none.

Only an illustration: the figures depend on the machine, especially if it is emulated.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import results

WAYS = {
    "none": "no filter; the receiver's buffer is full",
    "confined": "examples/netfilter/sources.c",
    "lua": "examples/netfilter/sources.lua",
    "nftables": "examples/netfilter/others/sources.nft",
}
CPUS = {"other": "another CPU", "flooded": "the flooded CPU"}
SECONDS = 4


def measure(kernel: str, rounds: int) -> dict[str, Any]:
    raw = results.in_guest(
        ["-k", kernel, "--fair"], ["build/bench/flood", str(rounds), str(SECONDS)]
    )
    return {"clock": "time", **raw}


def show(result: dict[str, Any]) -> None:
    rounds = result["rounds"]
    results.headline(f"{len(rounds)} rounds", result)
    rows = []
    for way, what in WAYS.items():
        of = {cpu: [took[way][cpu] for took in rounds] for cpu in CPUS}
        cells = [f"{median(x['a_second'] for x in of['other']):,.0f}"]
        for cpu in CPUS:
            cells.append(f"{median(x['median'] for x in of[cpu]) / 1000:.0f}")
            cells.append(f"{max(x['worst'] for x in of[cpu]) / 1000:.0f}")
        rows.append([what, *cells])
    header = ["of a flood of datagrams", "a second"]
    for name in CPUS.values():
        header += [f"us for others, {name}", "worst"]
    results.show(header, rows)


def main() -> int:
    options = results.parser(__doc__)
    options.add_argument("--rounds", type=int, default=5, help="how many")
    args = options.parse_args()
    try:
        result = measure(args.kernel, args.rounds)
    except results.MeasureError as error:
        print(f"flood: {error}", file=sys.stderr)
        return 1
    show(result)
    if result["accel"] == "tcg":
        print(f"\n{results.EMULATED}")
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
