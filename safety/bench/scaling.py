#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure how KGCC's checks scale with two CPUs.

Two CPUs use pointers at once, or one alone (safety/tests/modules/scaling); perfect scaling is 2.
The module is built with KGCC and plain; the plain build shows how the machine itself scales. A run
takes some milliseconds; the fastest of many runs was not interrupted, so each scaling compares the
fastest run of one CPU with that of two.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / name) for name in ("bench", "safety/tests", "vm")]

import results  # noqa: E402
from modules_in_guest import insmod, rmmod  # noqa: E402

SCALING = Path("/sys/kernel/debug/scaling")
COUNTERS = Path("/sys/kernel/debug/kgcc/counters")
AT_LEAST = 1.8
CPUS = 2
# The fastest of this many runs counts.
RUNS = 40


class Way(NamedTuple):
    what: str
    objects: int
    shared: bool


WAYS = {
    "kept": Way("found in what the CPU keeps", 32, False),
    "shared": Way("the same, of the same objects", 32, True),
    "looked_up": Way("looked up each time", 8192, False),
}


def run(cpus: int, way: Way) -> int:
    """ns of the slowest CPU."""
    SCALING.write_text(f"{cpus} {way.objects} {int(way.shared)}")
    return int(SCALING.read_text().split()[1])


def lookups() -> int:
    return int(dict(line.split("\t", 1) for line in COUNTERS.read_text().splitlines())["lookups"])


def scaling(way: Way) -> float:
    """Work done by all CPUs divided by that of one alone in the same time."""
    # One and two CPUs alternate, so that both see the same state of the machine.
    pairs = [(run(1, way), run(CPUS, way)) for _ in range(RUNS)]
    return CPUS * min(one for one, _ in pairs) / min(both for _, both in pairs)


def measure_round(module: str) -> dict[str, float]:
    insmod(module)
    found = {name: scaling(way) for name, way in WAYS.items()}
    rmmod("scaling")
    return found


def measure_here(rounds: int) -> dict[str, Any]:
    insmod("kgcc")
    seen = [(measure_round("scaling"), measure_round("scaling+kgcc")) for _ in range(rounds)]
    rmmod("kgcc")
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    return {
        "kernel": os.uname().release,
        "accel": accel,
        "plain": {name: results.summary([plain[name] for plain, _ in seen]) for name in WAYS},
        "kgcc": {name: results.summary([kgcc[name] for _, kgcc in seen]) for name in WAYS},
    }


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    if icount:
        raise results.MeasureError("a machine that counts instructions has one CPU")
    options = ["-k", kernel, "--timeout", "3600", "--fair", "--cpus", str(CPUS)]
    command = ["build/venv/bin/python3", "safety/bench/scaling.py", "--here", str(rounds)]
    return results.in_guest(options, command, module=False)


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{CPUS} CPUs over one, {rounds} rounds", result)
    rows = []
    for name, way in WAYS.items():
        row = [way.what]
        for build in ("plain", "kgcc"):
            found = result[build][name]
            row += [f"{found['median']:.2f}", f"{found['min']:.2f} .. {found['max']:.2f}"]
        good = result["kgcc"][name]["median"] >= AT_LEAST
        rows.append([*row, "within" if good else f"below {AT_LEAST}"])
    results.show(["checks", "plain", "min .. max", "KGCC", "min .. max", ""], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(measure_here(int(sys.argv[2]))))
    else:
        measurement = results.Measurement("bench-safety-scaling", 7, 7, measure, show)
        sys.exit(measurement.main(__doc__))
