#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure how long scripts keep others from their CPU, in a guest.

The guest counts instructions instead of time, one per nanosecond, so the figures do not depend on
this machine's load; a real CPU executes several per nanosecond. --time measures time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import results

SCRIPTS = Path("bench") / "latency"


def measure(kernel: str, time: bool) -> dict[str, Any]:
    options = ["-k", kernel, "--fair" if time else "--icount"]
    scripts = sorted(str(SCRIPTS / path.name) for path in (results.ROOT / SCRIPTS).glob("*.lua"))
    result = results.in_guest(options, ["build/bench/latency", *scripts])
    return {"clock": "time" if time else "one ns per instruction", **result}


KINDS = {
    "late": "thread",
    "softirq": "softirq",
    "rcu": "synchronize_rcu",
    "signal": "signal",
    "freezer": "freezer",
    "hotplug": "hotplug",
    "preempt_max": "no preemption",
}


def thousands(run: dict[str, Any], kind: str) -> str:
    return f"{run[kind] / 1000:.0f}" if kind in run else ""


def show(result: dict[str, Any]) -> None:
    rows = [
        [run["script"], run["mode"], *(thousands(run, kind) for kind in KINDS)]
        for run in result["scripts"]
    ]
    unit = "us" if result["clock"] == "time" else "1000 instructions"
    print(f"longest delay of each kind, in {unit}; those of 'none' are the machine's own")
    results.show(["script", "", *KINDS.values()], rows)
    for kind, name in KINDS.items():
        runs = [run for run in result["scripts"] if kind in run]
        if runs:
            longest = max(runs, key=lambda run: run[kind])
            print(f"{name}: {thousands(longest, kind)} by {longest['script']}, {longest['mode']}")


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--time", action="store_true", help="take time, count no instructions")
    args = parser.parse_args()
    try:
        result = measure(args.kernel, args.time)
    except results.MeasureError as error:
        print(f"latency: {error}", file=sys.stderr)
        return 1
    results.headline("delays of others on the script's CPU", result)
    show(result)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
