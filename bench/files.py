#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the library for files and directories in a guest, compared with plain calls.

A sample is a ratio within one round; all rounds are of one boot, with all files
in the cache.  Everything is done on a tmpfs and on an ext4.  The keys at the top
of the result are those of the tmpfs, where a directory is read without work that
is the file system's own; those of the ext4 are under "ext4".
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any, NamedTuple

import results

Round = dict[str, list[float]]


class Ratio(NamedTuple):
    """What it is, and what it has to reach and should reach."""

    what: str
    at_most: float
    aim: float


RATIOS = {
    "readdirplus.n10": Ratio("readdirplus of 10 files", 0.60, 0.60),
    "readdirplus.n1000": Ratio("readdirplus of 1,000", 0.40, 0.30),
    "readdirplus.n100000": Ratio("readdirplus of 100,000", 0.40, 0.30),
    "walk": Ratio("walk with a sum, 20,000 files", 0.45, 0.45),
    "walk.again": Ratio("the same, restarted", 0.45, 0.45),
    "open_read_close": Ratio("open, read, close; 100 paths", 0.75, 0.50),
    "open_read_close.at": Ratio("the same, names in a directory", 0.75, 0.50),
    "open_write_close": Ratio("open, write, close; 100 paths", 0.85, 0.85),
    "open_write_close.at": Ratio("the same, names in a directory", 0.85, 0.85),
    "open_fstat": Ratio("open, fstat; 100 paths", 0.85, 0.85),
    "open_fstat.at": Ratio("the same, names in a directory", 0.85, 0.85),
    "stat_many": Ratio("stat; 100 paths", 0.85, 0.85),
    "stat_many.at": Ratio("the same, names in a directory", 0.85, 0.85),
}
TIME, CPU = 0, 1


def ratio_of(seen: Round, key: str, what: int) -> float:
    """The script over the plain calls; of two ways to walk a tree the faster one."""
    plain, script = [f"{key} plain"], f"{key} script"
    if key.startswith("walk"):
        plain = ["walk nftw", "walk fts"]
    if key == "walk.again":
        script = "walk again"
    return seen[script][what] / min(seen[name][what] for name in plain)


def ratios(seen: list[Round]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key in RATIOS:
        result[key] = results.summary([ratio_of(r, key, TIME) for r in seen])
        result[key]["cpu"] = median(ratio_of(r, key, CPU) for r in seen)
        if f"{key} io_uring" in seen[0]:
            result[key]["io_uring"] = median(
                r[f"{key} io_uring"][TIME] / r[f"{key} plain"][TIME] for r in seen
            )
    result["ns"] = {
        probe: {
            "median": median(r[probe][TIME] for r in seen),
            "cpu": median(r[probe][CPU] for r in seen),
        }
        for probe in seen[0]
    }
    return result


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--timeout", "1800"]
    options.append("--icount" if icount else "--fair")
    raw = results.in_guest(options, ["bench/files.sh", str(rounds)])
    seen = raw.pop("rounds")
    return {
        **raw,
        **ratios(seen["tmpfs"]),
        "ext4": ratios(seen["ext4"]),
    }


def show_ratios(found: dict[str, Any]) -> None:
    rows = []
    for key, ratio in RATIOS.items():
        one = found[key]
        spread = f"{one['min']:.2f} .. {one['max']:.2f}"
        uring = f"{one['io_uring']:.2f}" if "io_uring" in one else ""
        verdict = results.verdict(one["median"], ratio.at_most, ratio.aim)
        rows.append(
            [ratio.what, f"{one['median']:.2f}", spread, f"{one['cpu']:.2f}", uring]
            + [f"{ratio.at_most:g}", verdict]
        )
    results.show(["over plain calls", "median", "min .. max", "CPU", "io_uring", "most", ""], rows)


def show_times(result: dict[str, Any]) -> None:
    rows = [
        [
            probe,
            f"{one['median'] / 1000:.1f}",
            f"{result['ext4']['ns'][probe]['median'] / 1000:.1f}",
        ]
        for probe, one in result["ns"].items()
    ]
    results.show(["us", "tmpfs", "ext4"], rows)


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds, tmpfs", result)
    show_ratios(result)
    results.headline(f"{rounds} rounds, ext4", result)
    show_ratios(result["ext4"])
    print()
    show_times(result)


if __name__ == "__main__":
    sys.exit(results.Measurement("files", 15, 2, measure, show).main(__doc__))
