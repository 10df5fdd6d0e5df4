#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure Debian's cpio as it is and with compounds, on files in a tmpfs.

The whole program, from exec() to exit(): what starting the engine takes is in it.
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
from pathlib import Path
from typing import Any

import results

# A program, and its environment.
WAYS = {
    "plain": ("plain", {}),
    "native": ("cpio", {"COSY_ENGINE": "native"}),
    "kernel": ("cpio", {"COSY_ENGINE": "kernel"}),
}
MODES = {"-o": "archive", "-i": "extract", "-p": "copy"}
GIVEN = {"-o": "names", "-i": "archive", "-p": "names"}
# Files, and bytes of each.
TREES = ((256, 65536), (64, 65536), (200, 4096))


def cpu_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(way: str, mode: str) -> float:
    """What a process takes, in us, or in thousands of instructions."""
    given, out, made = (Path(name) for name in (GIVEN[mode], "out", "made"))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    program, environment = WAYS[way]
    command = [results.ROOT / "build" / "cpio" / program, "--quiet", mode, *[out] * (mode == "-p")]
    with given.open() as stdin, made.open("w") as stdout:
        begin = cpu_time()
        subprocess.run(
            command,
            stdin=stdin,
            stdout=stdout,
            cwd=out if mode == "-i" else ".",
            env=environment,
            check=True,
        )
    if mode == "-o":
        made.replace("archive")
    return (cpu_time() - begin) * 1e6


def here(rounds: int) -> dict[str, Any]:
    """In the guest."""
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    found: dict[str, Any] = {"kernel": platform.release(), "accel": accel}
    for files, size in TREES:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            os.chdir(directory)
            for number in range(files):
                Path(f"file{number}").write_bytes(os.urandom(size))
            Path("names").write_text("".join(f"file{number}\n" for number in range(files)))
            for mode, name in MODES.items():
                seen = [{way: run(way, mode) for way in WAYS} for _ in range(rounds + 1)]
                found[f"{name} {files} files of {size}"] = seen[1:]
            os.chdir("/")
    return found


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount" if icount else "--fair"]
    raw = results.in_guest(options, ["python3", "bench/cpio.py", "--here", str(rounds)])
    cases = {name: seen for name, seen in raw.items() if isinstance(seen, list)}
    return {
        **{name: value for name, value in raw.items() if name not in cases},
        "cases": {
            name: {way: results.summary([r[way] for r in seen]) for way in WAYS}
            | {"kernel_over_plain": results.summary([r["kernel"] / r["plain"] for r in seen])}
            for name, seen in cases.items()
        },
    }


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"cpio in blocks of 512 bytes, {rounds} rounds", result)
    rows = [
        [name, *(f"{found[way]['median']:,.0f}" for way in WAYS)]
        + [f"{found['kernel_over_plain']['median']:.2f}"]
        for name, found in result["cases"].items()
    ]
    unit = "us" if result["clock"] == "time" else "1,000 instructions"
    results.show([unit, "plain", "patched", "compounds", "ratio"], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(int(sys.argv[2]))))
        sys.exit(0)
    sys.exit(results.Measurement("cpio", 5, 2, measure, show).main(__doc__))
