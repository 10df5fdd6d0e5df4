#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count the cost of scripts for a user who may open only the confined engine's device.

Runs as user 1000, who is in no group. Whole processes, from exec() to exit(): hello; patched du,
find, ls -l and chmod on 20,000 files, compared with the unpatched programs; du and ls on trees just
too small for the patch to pay, or just large enough; a scanner that reads 20,000 files. In a
running process: registering a script of 51 lines again ("register"), or a text that nobody has
registered before ("register_first"); the memory of a script that has been called, and
requests of a queue, empty ones and open-read-close. Frames of devices in the user's own namespaces,
compared with recvmmsg(2) and sendmmsg(2): a GET of 64 bytes, by a script and by memcached, and a
query to NSD.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import everyone_parts
import results

INSTRUCTIONS, PLAIN, MESSAGES = "1,000 instructions", "of plain", "of recvmmsg(2)"


class Figure(NamedTuple):
    """The label of a row, the unit of its figure, and the upper bound."""

    label: str
    unit: str
    at_most: float


FIGURES = {
    "hello": Figure("`syscript run scripts/hello.lua`, the whole process", INSTRUCTIONS, 6000),
    "register": Figure("registering a script of 51 lines, known text", INSTRUCTIONS, 350),
    "register_first": Figure("registering it, new text", INSTRUCTIONS, 2000),
    "script_kib": Figure("memory of a script that was called", "KiB", 96),
    "queue_empty": Figure("queue: an empty request", "of a call", 0.50),
    "queue_orc": Figure("queue: open, read, close", "of plain calls", 1.00),
    "queue_sleeps": Figure("queue: 32 sleeps of 20 ms", "ms", 40),
    "du": Figure("`du -s`, 20,000 files", PLAIN, 0.49),
    "find": Figure("`find`, 20,000 files", PLAIN, 0.52),
    "ls_l": Figure("`ls -lR`, 20,000 files", PLAIN, 0.56),
    "chmod": Figure("`chmod -R`, 20,000 files", PLAIN, 0.74),
    **{
        f"small_{name}": Figure(
            f"`{command[0]}`, {files:,} files, {each:,} in a directory", PLAIN, 1.03
        )
        for name, (command, files, each) in everyone_parts.SMALL.items()
    },
    # Most of it is the kernel's own open, read and close: of plain's 7,091 instructions a file,
    # 4,947 are in functions that the batch runs as well (vm/profile/icount.py diff): while it does,
    # it cannot take less than 0.70. LuaJIT's engine reads files by names in a directory at 0.84
    # of plain calls (bench/files.py); 5 % more are allowed.
    "scanner": Figure("a scanner that reads 20,000 files", PLAIN, 0.88),
    "frames_memcached": Figure("memcached's GET, frames", MESSAGES, 0.60),
    "frames_device": Figure("a GET by a script, frames, tun device", MESSAGES, 0.48),
    "frames_veth": Figure("the same, veth", MESSAGES, 0.76),
    "taken_device": Figure("the same, frames taken from the device", MESSAGES, 0.40),
    "taken_veth": Figure("the same, frames taken from veth", MESSAGES, 0.70),
    "nsd": Figure("NSD, a query, frames", MESSAGES, 0.58),
}


def here(rounds: int, names: list[str]) -> dict[str, Any]:
    """In the guest, as root."""
    return {
        "kernel": platform.release(),
        "accel": "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm",
        "samples": everyone_parts.measure(names, rounds),
    }


def measure(names: list[str], kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--timeout", "1800"]
    options.append("--icount" if icount else "--fair")
    command = ["python3", "bench/everyone.py", "--here", str(rounds), *names]
    raw = results.in_guest(options, command)
    found = {name: median(samples) for name, samples in raw["samples"].items()}
    return {**raw, **found}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"everyone, {rounds} rounds", result)
    timed = result["clock"] == "time"
    rows = [
        [label, "us" if timed and unit == INSTRUCTIONS else unit, f"{result[name]:,.3f}"]
        + [f"{at_most:,.2f}", results.verdict(result[name], at_most)]
        for name, (label, unit, at_most) in FIGURES.items()
        if name in result
    ]
    results.show(["", "unit", "now", "at most", ""], rows)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--here"]:
        print(json.dumps(here(int(argv[1]), argv[2:])))
        return 0
    parts = list(everyone_parts.PARTS)
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--only", nargs="+", choices=parts, default=parts, help="these parts")
    names = options.parse_known_args(argv)[0].only
    measurement = results.Measurement("everyone", 5, 2, partial(measure, names), show)
    return measurement.main(__doc__, argv, [options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
