#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure one of Debian's programs, plain and with compounds, on files in a tmpfs.

  programs.py busybox|cpio [OPTION...]

The whole program, from exec() to exit(), including the start of the engine.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import results

# Variants: the program, and its environment.
WAYS = {
    "plain": ("plain", {}),
    "native": ("", {"COSY_ENGINE": "native"}),
    "kernel": ("", {"COSY_ENGINE": "kernel"}),
}


class Case(NamedTuple):
    """A command with its input and output; there is an empty directory `out`."""

    name: str
    options: list[str]
    given: str = "/dev/null"
    made: str = "made"
    where: str = "."


def cpio() -> Iterator[Case]:
    for files, size in ((256, 65536), (64, 65536), (200, 4096)):
        names = [f"file{number}" for number in range(files)]
        for name in names:
            Path(name).write_bytes(os.urandom(size))
        Path("names").write_text("".join(f"{name}\n" for name in names))
        what = f"{files} files of {size}"
        yield Case(f"archive {what}", ["--quiet", "-o"], "names", "archive")
        yield Case(f"extract {what}", ["--quiet", "-i"], "archive", where="out")
        yield Case(f"copy {what}", ["--quiet", "-p", "out"], "names")


READ = 'while read -r line; do n=$((n + 1)); done; echo "$n $line"'


def busybox() -> Iterator[Case]:
    for size, count in ((1, 20000), (512, 20000), (4096, 5000), (512, 400)):
        blocks = [f"bs={size}", f"count={count}", "status=none"]
        what = f"dd, {count} blocks of {size}"
        yield Case(f"{what}, zeros to null", ["dd", "if=/dev/zero", "of=/dev/null", *blocks])
        Path("blocks").write_bytes(bytes(size * count))
        yield Case(f"{what}, file to file", ["dd", "if=blocks", "of=out/blocks", *blocks])
    for lines, length in ((400, 80), (2000, 16), (10, 40)):
        Path("lines").write_text(("x" * (length - 1) + "\n") * lines)
        yield Case(f"sh reads {lines} lines of {length}", ["sh", "-c", READ], "lines")


PROGRAMS: dict[str, Callable[[], Iterator[Case]]] = {"busybox": busybox, "cpio": cpio}


def cpu_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(program: str, way: str, case: Case) -> float:
    """The cost of a process, in us or in thousands of instructions."""
    shutil.rmtree("out", ignore_errors=True)
    Path("out").mkdir()
    name, environment = WAYS[way]
    with Path(case.given).open() as stdin, Path(case.made).open("w") as stdout:
        begin = cpu_time()
        subprocess.run(
            [program, *case.options],
            executable=results.ROOT / "build" / program / (name or program),
            stdin=stdin,
            stdout=stdout,
            cwd=case.where,
            env=environment,
            check=True,
        )
    return (cpu_time() - begin) * 1e6


def here(program: str, rounds: int) -> dict[str, Any]:
    """In the guest."""
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    found: dict[str, Any] = {"kernel": platform.release(), "accel": accel}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.chdir(directory)
        for case in PROGRAMS[program]():
            seen = [{way: run(program, way, case) for way in WAYS} for _ in range(rounds + 1)]
            found[case.name] = seen[1:]
        os.chdir("/")
    return found


def measure(program: str, kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount" if icount else "--fair"]
    command = ["python3", "bench/programs.py", program, "--here", str(rounds)]
    raw = results.in_guest(options, command)
    cases = {name: seen for name, seen in raw.items() if isinstance(seen, list)}
    return {
        **{name: value for name, value in raw.items() if name not in cases},
        "cases": {
            name: {way: results.summary([r[way] for r in seen]) for way in WAYS}
            | {"kernel_over_plain": results.summary([r["kernel"] / r["plain"] for r in seen])}
            for name, seen in cases.items()
        },
    }


def show(program: str, result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{program}, {rounds} rounds", result)
    rows = [
        [
            name,
            *(f"{found[way]['median']:,.0f}" for way in WAYS),
            f"{found['kernel_over_plain']['median']:.2f}",
        ]
        for name, found in result["cases"].items()
    ]
    unit = "us" if result["clock"] == "time" else "1,000 instructions"
    results.show([unit, "plain", "patched", "compounds", "ratio"], rows)


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in PROGRAMS:
        print(__doc__, file=sys.stderr)
        return 2
    program, *argv = argv
    if argv[:1] == ["--here"]:
        print(json.dumps(here(program, int(argv[1]))))
        return 0
    measurement = results.Measurement(
        program, 5, 2, partial(measure, program), partial(show, program)
    )
    return measurement.main(__doc__, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
