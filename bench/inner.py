#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure system calls made by a script or a compound, compared with those made by the process.

A ratio compares inside with outside in the same round; all rounds are made in one boot. With
--icount the guest counts instructions instead of time: these figures decide whether a change is an
improvement. With --filter PROFILE (container, system-service) everything runs under that seccomp
filter, with --threads N in a process with N other, sleeping threads.
"""

from __future__ import annotations

import argparse
import functools
import sys
from statistics import geometric_mean
from typing import Any, NamedTuple

import results

WAYS = ("outside", "inside_jit", "inside_interp", "inside_confined", "inside_compound")
RATIOS = ("jit", "interp", "confined", "compound")


class Bound(NamedTuple):
    """The upper bound of a ratio, and its target."""

    at_most: float
    aim: float


BOUNDS = {
    "getppid": Bound(0.45, 0.35),
    "lseek": Bound(0.80, 0.65),
    "epoll_wait_0": Bound(0.80, 0.65),
    "write1_null": Bound(0.86, 0.75),
    "read1_zero": Bound(0.88, 0.75),
    "recvfrom_eagain": Bound(0.90, 0.80),
    "fstat": Bound(0.92, 0.85),
    "pread1": Bound(0.94, 0.90),
    "newfstatat": Bound(0.985, 0.96),
    "open_close": Bound(0.985, 0.96),
    "udp": Bound(0.985, 0.96),
    "geometric_mean": Bound(0.90, 0.80),
    "empty_call_over_getppid": Bound(3.0, 2.5),
}
# Bounds for compounds, compared with calls of the process.
COMPOUND_BOUNDS = {
    "getppid": Bound(0.40, 0.30),
    "lseek": Bound(0.55, 0.45),
    "epoll_wait_0": Bound(0.55, 0.45),
    "read1_zero": Bound(0.70, 0.60),
    "write1_null": Bound(0.70, 0.60),
    "recvfrom_eagain": Bound(0.75, 0.65),
    "empty_compound_over_getppid": Bound(2.4, 2.2),
}
WHAT = {
    "geometric_mean": "geometric mean of all calls",
    "empty_call_over_getppid": "call of an empty run() / getppid()",
    "empty_compound_over_getppid": "call of an empty compound / getppid()",
}
# A script on the confined engine must cost less than the same calls outside, and at most a tenth
# more than a compound.
CONFINED_AT_MOST, OVER_COMPOUND = 0.999, 1.1
# Instructions by which a call may cost more in an interpreted loop than in a compiled one.
INTERP_AT_MOST = 60


def measure(
    profile: str | None, threads: int, kernel: str, icount: bool, rounds: int
) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    under = ["python3", "tests/seccomp.py", profile] if profile else []
    command = [*under, *results.IN_KERNEL, f"INNER_THREADS={threads}"]
    command += ["build/bench/inner", str(rounds)]
    raw = results.in_guest(options, command)
    seen = raw.pop("rounds")
    calls = {
        name: {way: results.summary([r[name][way] for r in seen]) for way in WAYS}
        | {
            way.replace("inside", "ratio"): results.summary(
                [r[name][way] / r[name]["outside"] for r in seen]
            )
            for way in WAYS[1:]
        }
        for name in seen[0]
    }
    empty = calls.pop("empty")
    return {
        **raw,
        "filter": profile,
        "threads": threads,
        "calls": calls,
        "geometric_mean": results.summary(
            [
                geometric_mean(r[name]["inside_jit"] / r[name]["outside"] for name in calls)
                for r in seen
            ]
        ),
        "empty_call": empty["inside_jit"],
        "empty_ioctl": empty["outside"],
        **{
            f"empty_{what}_over_getppid": results.summary(
                [r["empty"][way] / r["getppid"]["outside"] for r in seen]
            )
            for what, way in (("call", "inside_jit"), ("compound", "inside_compound"))
        },
    }


def extra(result: dict[str, Any], name: str) -> float:
    """The extra cost of each call of a step when interpreted."""
    found = result["calls"][name]
    more = found["inside_interp"]["median"] - found["inside_jit"]["median"]
    return more / result["calls_per_step"][name]


def show_calls(result: dict[str, Any]) -> None:
    unit = "ns" if result["clock"] == "time" else "instructions"
    rows = []
    for name, found in result["calls"].items():
        row = [name, *(f"{found[way]['median']:.0f}" for way in WAYS)]
        row += [f"{found[f'ratio_{way}']['median']:.3f}" for way in RATIOS]
        rows.append([*row, f"{extra(result, name):.0f}"])
    for name in ("empty_ioctl", "empty_call"):
        rows.append([name, f"{result[name]['median']:.0f}", *[""] * 9])
    head = [f"{unit} per step", "outside", "compiled", "interpreted", "confined", "compound"]
    results.show([*head, "ratio", "interp.", "confined", "compound", "more per call"], rows)


def bounded(result: dict[str, Any], bounds: dict[str, Bound], way: str) -> list[list[str]]:
    rows = []
    for name, bound in bounds.items():
        found = result["calls"][name][f"ratio_{way}"] if name in result["calls"] else result[name]
        spread = f"{found['min']:.3f} .. {found['max']:.3f}"
        verdict = results.verdict(found["median"], *bound)
        row = [WHAT.get(name, name), f"{found['median']:.3f}", spread]
        rows.append([*row, f"{bound.at_most:g}", f"{bound.aim:g}", verdict])
    return rows


def show_bounds(result: dict[str, Any]) -> None:
    rows = bounded(result, BOUNDS, "jit")
    if result["clock"] != "time":
        most = max(extra(result, name) for name in result["calls"])
        verdict = results.verdict(most, INTERP_AT_MOST, INTERP_AT_MOST)
        row = ["instructions more per interpreted call", f"{most:.0f}", ""]
        rows.append([*row, str(INTERP_AT_MOST), "", verdict])
    head = ["median", "min .. max", "at most", "aim", ""]
    results.show(["inside / outside, compiled", *head], rows)
    print()
    rows = bounded(result, COMPOUND_BOUNDS, "compound")
    results.show(["inside / outside, compound", *head], rows)


def show_confined(result: dict[str, Any]) -> None:
    rows = []
    for name, ways in result["calls"].items():
        found = ways["ratio_confined"]
        aim = OVER_COMPOUND * ways["ratio_compound"]["median"]
        spread = f"{found['min']:.3f} .. {found['max']:.3f}"
        verdict = results.verdict(found["median"], CONFINED_AT_MOST, aim)
        rows.append([name, f"{found['median']:.3f}", spread, "below 1", f"{aim:.3f}", verdict])
    head = ["inside / outside, Lua on the confined engine", "median", "min .. max", "bound", "aim"]
    results.show([*head, ""], rows)


def show(result: dict[str, Any], rounds: int) -> None:
    under = f", under the filter {result['filter']}" if result["filter"] else ""
    if result.get("threads"):
        under += f", {result['threads']} other threads"
    results.headline(f"{rounds} rounds{under}", result)
    show_calls(result)
    print()
    show_bounds(result)
    print()
    show_confined(result)


def main() -> int:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--filter")
    options.add_argument("--threads", type=int, default=0)
    own, others = options.parse_known_args()
    measured = functools.partial(measure, own.filter, own.threads)
    measurement = results.Measurement("inner", 15, 5, measured, show)
    return measurement.main(__doc__, others)


if __name__ == "__main__":
    sys.exit(main())
