#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure single steps of scripts in a guest; system calls are in inner.py.

A sample is a ratio within one round; all rounds are made in one boot. With icount the guest counts
instructions instead of time: figures are the same in every boot, but a mode switch looks cheaper
than it is.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import results


class Ratio(NamedTuple):
    """The ratio of two probes, with its upper bound and target."""

    what: str
    probe: str
    over: str
    at_most: float
    aim: float


RATIOS = {
    "jit_loop_over_user": Ratio(
        "empty compiled iteration / in user space", "jit_loop", "jit_loop_user", 1.05, 1.05
    ),
    "register_close_over_getppid": Ratio(
        "register + close of Figure 1 / getppid()", "register_close", "getppid", 300, 300
    ),
    "struct_field_over_peek": Ratio(
        "field of a struct view / peek() of its address", "struct_field", "peek", 1.35, 1.05
    ),
}


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    command = ["build/bench/micro", str(rounds), "scripts/recv_batch.lua"]
    raw = results.in_guest(options, command)
    seen = raw.pop("rounds")
    result = {
        key: results.summary([r[ratio.probe] / r[ratio.over] for r in seen])
        for key, ratio in RATIOS.items()
    }
    unit = "instructions" if icount else "ns"
    return {
        **raw,
        **result,
        unit: {probe: results.summary([r[probe] for r in seen]) for probe in seen[0]},
    }


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    rows = []
    for key, ratio in RATIOS.items():
        found = result[key]
        spread = f"{found['min']:.3g} .. {found['max']:.3g}"
        verdict = results.verdict(found["median"], ratio.at_most, ratio.aim)
        bounds = [f"{ratio.at_most:g}", f"{ratio.aim:g}", verdict]
        rows.append([ratio.what, f"{found['median']:.3g}", spread, *bounds])
    results.show(["ratio", "median", "min .. max", "at most", "aim", ""], rows)
    unit = "instructions" if "instructions" in result else "ns"
    print()
    rows = [
        [probe, f"{found['median']:.4g}", f"{found['min']:.4g} .. {found['max']:.4g}"]
        for probe, found in result[unit].items()
    ]
    results.show([f"step ({unit})", "median", "min .. max"], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("micro", 40, 7, measure, show).main(__doc__))
