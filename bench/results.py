# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Results of benchmark programs: run in a guest, summarise, write, show."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# What is built for this machine: in a guest, perhaps for another one than the host.
BUILD = ROOT / "build"
if platform.machine() == "aarch64" and (BUILD / "arm64").exists():
    BUILD /= "arm64"

EMULATED = (
    "The guest's CPU is emulated (QEMU TCG): what makes a mode switch expensive on a real CPU\n"
    "costs nothing here, and instructions cost much. Compare versions with it, not designs."
)

# Modelled times, in ns: of an instruction, and of a mode switch in addition to its instructions.
# Fitted to plain loops over UDP on a Xeon of 2023, and within 1.1 % for loops that they were not
# fitted to.
INSTRUCTION, SWITCH = 0.33, 455


def modelled_ns(instructions: float, switches: float) -> float:
    return INSTRUCTION * instructions + SWITCH * switches


# Compounds run there or fail.
IN_KERNEL = ["env", "COSY_ENGINE=kernel"]


class MeasureError(Exception):
    """Measurement failed."""


def run_in_guest(options: list[str], command: list[str], module: bool = True) -> str:
    """A program's output in a guest.

    module: syscript.ko is loaded
    """
    argv = [str(ROOT / "vm" / "guest"), *["-m"] * module, *options, "--", *command]
    print(f"measuring in a guest: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise MeasureError(f"{command[0]} failed in the guest, status {done.returncode}")
    return done.stdout


def in_guest(options: list[str], command: list[str], module: bool = True) -> dict[str, Any]:
    """A program's JSON output, and the host machine."""
    try:
        return {"machine": machine(), **json.loads(run_in_guest(options, command, module))}
    except json.JSONDecodeError as error:
        raise MeasureError(f"{command[0]} did not write JSON: {error}") from error


def machine() -> str:
    """The host machine."""
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
    """A judgement on a ratio with an upper bound and a target."""
    if value > at_most:
        return "OVER"
    return "reaches the aim" if value <= aim else "within"


def write(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"\nwritten to {path}")


def show(header: list[str], rows: list[list[str]]) -> None:
    """Print a table: the first column left-aligned, the others right-aligned."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    for line in [header, *rows]:
        cells = [f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join([f"{line[0]:<{widths[0]}}", *cells]))


def headline(what: str, result: dict[str, Any]) -> None:
    print(f"\n{what}: kernel {result['kernel']}, {result['accel']}, {result['machine']}\n")


def parser(
    description: str | None, more: Sequence[argparse.ArgumentParser] = ()
) -> argparse.ArgumentParser:
    """Common options of benches in a guest, and more."""
    options = argparse.ArgumentParser(description=description, parents=more)
    options.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    options.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    return options


class Measurement(NamedTuple):
    """A bench that measures time or, with --icount, instructions."""

    name: str
    rounds: int
    steady_rounds: int
    measure: Callable[[str, bool, int], dict[str, Any]]  # arguments: kernel, icount, rounds
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
