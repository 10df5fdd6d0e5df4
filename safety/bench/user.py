#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count what checked memory costs a daemon in user space: memcached under load.

GETs and SETs, nine to one, over UDP, one worker, in a guest that counts instructions: the worker's
instructions per GET, built plain, with AddressSanitizer, and with the compiler's checks that need
no runtime. safety/docs/kgcc.md says why there is no `kgcc --user`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("bench", "safety/bench")]

import results  # noqa: E402

from bench import sizes  # noqa: E402

VARIANTS = {
    "plain": "as it is",
    "asan": "-fsanitize=address",
    "asan_bounds": "-fsanitize=address,bounds",
    "trap": "-fsanitize=bounds,object-size, trapping",
}


def binary(variant: str) -> Path:
    return ROOT / "build" / "bench" / "user" / variant / "memcached"


def command(variant: str, rounds: int) -> str:
    words = ["bench/memcached/rounds.py", "--memcached", str(binary(variant)), "--modes", "off"]
    words += ["--sizes", "64", "--outstanding", "16", "--rounds", str(rounds), "--seconds", "0.5"]
    return " ".join(words)


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount", "--cpus", "1", "--timeout", "3600"]
    script = " && ".join(command(variant, rounds) for variant in VARIANTS)
    said = results.run_in_guest(options, ["sh", "-c", script], module=False)
    seen = dict(zip(VARIANTS, map(json.loads, said.splitlines()), strict=True))
    ns = {
        # A counting guest executes one instruction per ns.
        name: round(1000 * median(run["cpu_us_per_get"] for run in found["runs"]))
        for name, found in seen.items()
    }
    return {
        "machine": results.machine(),
        "kernel": seen["plain"]["kernel"],
        "accel": seen["plain"]["accel"],
        "instructions": ns,
        "bytes": {name: sum(sizes(binary(name)).values()) for name in VARIANTS},
    }


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"memcached, {rounds} rounds", result)
    plain, size = result["instructions"]["plain"], result["bytes"]["plain"]
    rows = [
        [
            *(what, str(result["instructions"][name])),
            f"{result['instructions'][name] / plain:.2f}",
            f"{result['bytes'][name] / size:.2f}",
        ]
        for name, what in VARIANTS.items()
    ]
    results.show(["built", "instructions a GET", "ratio", "text and data"], rows)


if __name__ == "__main__":
    measurement = results.Measurement("bench-safety-user", 3, 2, measure, show)
    sys.exit(measurement.main(__doc__, [*sys.argv[1:], "--icount"]))
