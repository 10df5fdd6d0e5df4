#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count the instructions of plain C on the confined engine, relative to gcc -O2.

Runs in user space, where the generated code is the same as in the kernel: the program counts single
steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import NamedTuple

import results


class Bound(NamedTuple):
    """The upper bound of a ratio, and its target."""

    at_most: float
    aim: float


BOUNDS = {"scan": Bound(2.0, 1.35), "geometric_mean": Bound(1.8, 1.35)}


def measure(kernels: list[str]) -> dict[str, dict[str, int]]:
    command = [str(results.ROOT / "build/bench/confined_c"), *kernels]
    environment = {**os.environ, "COSY_ENGINE": "user"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise results.MeasureError(f"status {done.returncode}")
    return json.loads(done.stdout)["kernels"]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", dest="output", type=Path, help="JSON to write")
    options.add_argument("kernels", nargs="*", help="these only")
    args = options.parse_args()
    try:
        kernels = measure(args.kernels)
    except results.MeasureError as error:
        print(f"confined_c: {error}", file=sys.stderr)
        return 1
    ratios = {name: counts["confined"] / counts["plain"] for name, counts in kernels.items()}
    mean = prod(ratios.values()) ** (1 / len(ratios))
    rows = [
        [name, str(counts["plain"]), str(counts["confined"]), f"{ratios[name]:.2f}"]
        for name, counts in kernels.items()
    ]
    results.show(["instructions", "gcc -O2", "confined", "ratio"], rows)
    found = {"scan": ratios.get("scan"), "geometric_mean": mean}
    print()
    for name, bound in BOUNDS.items():
        if found[name] is not None:
            print(f"{name}: {found[name]:.3f}, {results.verdict(found[name], *bound)}")
    if args.output:
        result = {"machine": results.machine(), **found, "ratios": ratios, "kernels": kernels}
        results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
