#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure how long scripts keep others from their CPU, in a guest.

The guest counts instructions instead of time, one for each nanosecond, so that
the figures say nothing of how busy this machine is: a real CPU executes
several in a nanosecond.  --time takes time.
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


def show(result: dict[str, Any]) -> None:
    rows = []
    for run in result["scripts"]:
        stretch = f"{run['preempt_max'] / 1000:.0f}" if "preempt_max" in run else ""
        traces = str(run.get("traces", ""))
        rows.append([run["script"], run["mode"], f"{run['late'] / 1000:.0f}", stretch, traces])
    unit = "us" if result["clock"] == "time" else "1000 instr."
    header = ["script", "", f"late ({unit})", "no preemption", "traces"]
    results.show(header, rows)
    longest = max(result["scripts"], key=lambda run: run["late"])
    print(f"\nlongest delay: {longest['late'] / 1000:.0f} {unit}, {longest['script']}")


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--time", action="store_true", help="take time, count no instructions")
    args = parser.parse_args()
    try:
        result = measure(args.kernel, args.time)
    except results.MeasureError as error:
        print(f"latency: {error}", file=sys.stderr)
        return 1
    results.headline("delay of a real-time thread on the script's CPU", result)
    show(result)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
