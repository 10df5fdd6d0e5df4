#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the library's functions for files and directories in a guest, compared with plain calls.

A sample is a ratio within one round; all rounds are made in one boot, with all files cached.
Everything runs on a tmpfs and on an ext4. The top-level keys of the result are for the tmpfs, where
reading a directory takes no work of the file system's own; those for the ext4 are under "ext4". The
library's scripts run on LuaJIT, and once more on the confined engine.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any, NamedTuple

import results

Round = dict[str, list[float]]


class Ratio(NamedTuple):
    """A description, the upper bound, and the target."""

    what: str
    at_most: float
    aim: float


RATIOS = {
    "readdirplus.n10": Ratio("readdirplus of 10 files", 0.60, 0.60),
    "readdirplus.n100": Ratio("readdirplus of 100", 0.45, 0.40),
    "readdirplus.n1000": Ratio("readdirplus of 1,000", 0.40, 0.30),
    "readdirplus.n10000": Ratio("readdirplus of 10,000", 0.40, 0.30),
    "readdirplus.n100000": Ratio("readdirplus of 100,000", 0.40, 0.30),
    "walk": Ratio("walk with a sum, 20,000 files", 0.45, 0.45),
    "walk.again": Ratio("the same, restarted", 0.45, 0.45),
    "open_read_close": Ratio("open, read, close; 100 paths", 0.75, 0.50),
    "open_read_close.at": Ratio("the same, names in a directory", 0.75, 0.50),
    "one_file": Ratio("open, read, close of one path", 0.97, 0.93),
    "open_write_close": Ratio("open, write, close; 100 paths", 0.85, 0.85),
    "open_write_close.at": Ratio("the same, names in a directory", 0.85, 0.85),
    "open_fstat": Ratio("open, fstat; 100 paths", 0.85, 0.85),
    "open_fstat.at": Ratio("the same, names in a directory", 0.85, 0.85),
    "stat_many": Ratio("stat; 100 paths", 0.85, 0.85),
    "stat_many.at": Ratio("the same, names in a directory", 0.85, 0.85),
}
# Appended to a probe's name: its script on the confined engine.
CONFINED = " confined"
TIME, CPU = 0, 1
# Upper bound of the ratio to LuaJIT.
CONFINED_AT_MOST = 1.15


def script_of(key: str) -> str:
    return "walk again" if key == "walk.again" else f"{key} script"


def ratio_of(seen: Round, key: str, what: int, engine: str = "") -> float:
    """Ratio of the script to the plain calls; of two ways to walk a tree the faster one."""
    plain = ["walk nftw", "walk fts"] if key.startswith("walk") else [f"{key} plain"]
    return seen[script_of(key) + engine][what] / min(seen[name][what] for name in plain)


def confined_over_luajit(seen: Round, key: str) -> float:
    return seen[script_of(key) + CONFINED][TIME] / seen[script_of(key)][TIME]


def ratios(seen: list[Round]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key in RATIOS:
        result[key] = results.summary([ratio_of(r, key, TIME) for r in seen])
        result[key]["cpu"] = median(ratio_of(r, key, CPU) for r in seen)
        result[key]["confined"] = median(ratio_of(r, key, TIME, CONFINED) for r in seen)
        result[key]["confined_over_luajit"] = median(confined_over_luajit(r, key) for r in seen)
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
    both = results.in_guest(options, ["bench/files.sh", str(rounds)])
    raw = {"machine": both["machine"], **both["luajit"]}
    seen = raw.pop("rounds")
    for place, rows in both["confined"]["rounds"].items():
        for row, confined in zip(seen[place], rows, strict=True):
            row.update({name + CONFINED: value for name, value in confined.items()})
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
        over = one["confined_over_luajit"]
        rows.append(
            [ratio.what, f"{one['median']:.2f}", spread, f"{one['cpu']:.2f}", uring]
            + [f"{ratio.at_most:g}", verdict, f"{one['confined']:.2f}", f"{over:.2f}"]
            + [results.verdict(over, CONFINED_AT_MOST)]
        )
    head = ["over plain calls", "median", "min .. max", "CPU", "io_uring", "most", ""]
    results.show([*head, "confined", "over LuaJIT", ""], rows)


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
