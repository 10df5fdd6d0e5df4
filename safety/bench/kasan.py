#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure what KASAN costs, the usual tool for such faults.

The plain samples of bench.py over an eCryptfs, on a kernel with KASAN over the stock one.
All of that kernel is instrumented, not one module. It has no other debugging and fewer features
than a distribution's, so the ratios are, if anything, too small.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import results  # noqa: E402

from bench import INSIDE  # noqa: E402

WORKLOADS = {"kasan.compile": "compile", "kasan.mix": "mix"}


def plain(kernel: str, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount", "--timeout", "7200"]
    return results.in_guest(options, [*INSIDE, "rounds", str(rounds), "plain"], module=False)


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    stock, kasan = plain(kernel, rounds), plain("kasan", rounds)
    result = {**stock, "rounds": {"stock": stock["rounds"], "kasan": kasan["rounds"]}}
    for name, workload in WORKLOADS.items():
        sample = f"ecryptfs {workload} plain"
        pairs = zip(kasan["rounds"], stock["rounds"], strict=True)
        result[name] = results.summary([a[sample]["cpu"] / b[sample]["cpu"] for a, b in pairs])
    return result


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"with KASAN / without, {rounds} rounds", result)
    for name in WORKLOADS:
        print(f"{name:<20}{result[name]['median']:.3f}")


if __name__ == "__main__":
    measurement = results.Measurement("bench-safety-kasan", 1, 1, measure, show)
    sys.exit(measurement.main(__doc__, [*sys.argv[1:], "--icount"]))
