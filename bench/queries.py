#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the cost of a query over UDP to NSD (bench/nsd), in all variants that are built.

recvmmsg(2) and sendmmsg(2), frames (apps/nsd), and, if `make nsd-newest` has fetched it,
Debian's newest NSD, which was built without these calls, and its AF_XDP mode.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import results

NSD = results.ROOT / "build" / "bench" / "nsd"
VERSION = results.ROOT / "build" / "nsd" / "newest" / "version"
WAYS = ("plain", "frames", "newest", "xdp")
STEPS = 20


def rounds_here(rounds: int) -> list[dict[str, float]]:
    """The cost of a query, in ns; run in the guest."""
    command = [NSD, str(rounds), str(STEPS)]
    done = subprocess.run(command, cwd=results.ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["rounds"]


def summed_up(rows: list[dict[str, float]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        way: results.summary([row[way] for row in rows]) for way in WAYS if way in rows[0]
    }
    found["ratio"] = results.summary([row["frames"] / row["plain"] for row in rows])
    if "xdp" in found:
        found["frames_over_xdp"] = results.summary([row["frames"] / row["xdp"] for row in rows])
        found["newest_version"] = VERSION.read_text().strip()
    return found


def show(found: dict[str, Any], timed: bool) -> None:
    ways = [way for way in WAYS if way in found]
    row = ["NSD", *(f"{found[way]['median']:,.0f}" for way in ways)]
    row.append(f"{found['ratio']['median']:.3f}")
    print()
    results.show([f"a query, {'ns' if timed else 'instructions'}", *ways, "ratio"], [row])
    if "xdp" in found:
        print(f"newest, xdp: NSD {found['newest_version']} as Debian has built it")


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--icount" if icount else "--fair"]
    raw = results.in_guest(options, ["python3", "bench/queries.py", "--here", str(rounds)])
    return {**raw, "nsd": summed_up(raw.pop("nsd"))}


def here(rounds: int) -> dict[str, Any]:
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    return {"kernel": platform.release(), "accel": accel, "nsd": rounds_here(rounds)}


def show_all(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"queries to NSD, {rounds} rounds", result)
    show(result["nsd"], result["clock"] == "time")


def main(argv: list[str]) -> int:
    if argv[:1] == ["--here"]:
        print(json.dumps(here(int(argv[1]))))
        return 0
    measurement = results.Measurement("queries", 5, 2, measure, show_all)
    return measurement.main(__doc__, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
