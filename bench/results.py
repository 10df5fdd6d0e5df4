# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Results of measuring programs: got in a guest, summed up, written, shown."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

EMULATED = (
    "The guest's CPU is emulated (QEMU TCG): what makes a mode switch expensive on a real CPU\n"
    "costs nothing here, and instructions cost much. Compare versions with it, not designs."
)


# Compounds run there or not at all.
IN_KERNEL = ["env", "COSY_ENGINE=kernel"]


class MeasureError(Exception):
    """Measurement failed."""


def run_in_guest(options: list[str], command: list[str], module: bool = True) -> str:
    """What a program prints in a guest.

    module: syscript.ko is loaded
    """
    argv = [str(ROOT / "vm" / "guest"), *["-m"] * module, *options, "--", *command]
    print(f"measuring in a guest: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise MeasureError(f"{command[0]} failed in the guest, status {done.returncode}")
    return done.stdout


def in_guest(options: list[str], command: list[str], module: bool = True) -> dict[str, Any]:
    """What it prints as JSON, and the machine under it."""
    try:
        return {"machine": machine(), **json.loads(run_in_guest(options, command, module))}
    except json.JSONDecodeError as error:
        raise MeasureError(f"{command[0]} did not write JSON: {error}") from error


def machine() -> str:
    """The machine that runs the guest."""
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    return f"{models[0] if models else os.uname().machine}, {os.cpu_count()} CPUs"


def summary(samples: list[float]) -> dict[str, Any]:
    """Median, extremes, and the samples themselves."""
    return {
        "median": median(samples),
        "min": min(samples),
        "max": max(samples),
        "samples": samples,
    }


def verdict(value: float, at_most: float, aim: float = 0) -> str:
    """On a ratio that has to stay within a bound, and should reach an aim."""
    if value > at_most:
        return "OVER"
    return "reaches the aim" if value <= aim else "within"


def write(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"\nwritten to {path}")


def show(header: list[str], rows: list[list[str]]) -> None:
    """A table for people: the first column to the left, the others to the right."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    for line in [header, *rows]:
        cells = [f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join([f"{line[0]:<{widths[0]}}", *cells]))


def headline(what: str, result: dict[str, Any]) -> None:
    print(f"\n{what}: kernel {result['kernel']}, {result['accel']}, {result['machine']}\n")


def parser(
    description: str | None, more: Sequence[argparse.ArgumentParser] = ()
) -> argparse.ArgumentParser:
    """The options of all that is measured in a guest, and more."""
    options = argparse.ArgumentParser(description=description, parents=more)
    options.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    options.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    return options


class Measurement(NamedTuple):
    """Something that is measured in time or, with --icount, in instructions."""

    name: str
    rounds: int
    steady_rounds: int
    measure: Callable[[str, bool, int], dict[str, Any]]  # of kernel, icount, rounds
    show: Callable[[dict[str, Any], int], None]  # of the result, rounds

    def main(
        self,
        description: str | None,
        argv: list[str] | None = None,
        more: Sequence[argparse.ArgumentParser] = (),
    ) -> int:
        options = parser(description, more)
        options.add_argument("--icount", action="store_true", help="count instructions")
        options.add_argument("--rounds", type=int, help="how many")
        args = options.parse_args(argv)
        rounds = args.rounds or (self.steady_rounds if args.icount else self.rounds)
        try:
            result = self.measure(args.kernel, args.icount, rounds)
        except MeasureError as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            return 1
        clock = "one ns per instruction" if args.icount else "time"
        result = {"clock": clock, **result}
        self.show(result, rounds)
        if result["accel"] == "tcg":
            print(f"\n{EMULATED}")
        write(args.output, result)
        return 0
