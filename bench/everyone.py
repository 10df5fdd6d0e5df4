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
from typing import Any

import everyone_parts
import results

# Upper bounds: thousands of instructions, KiB, ms, or a ratio (a request of a queue on 7.2: 0.65 of
# a call).
BOUNDS = {
    "hello": 6000.0,
    "register": 350.0,
    "register_first": 2000.0,
    "script_kib": 96.0,
    "queue_empty": 0.50,
    "queue_orc": 1.00,
    "queue_sleeps": 40.0,
    "du": 0.49,
    "find": 0.52,
    "ls_l": 0.56,
    "chmod": 0.74,
    **{f"small_{name}": 1.03 for name in everyone_parts.SMALL},
    "scanner": 0.57,
    "frames_memcached": 0.60,
    "frames_device": 0.48,
    "frames_veth": 0.76,
    "taken_device": 0.40,
    "taken_veth": 0.70,
    "nsd": 0.58,
}
# Names of the table's rows; the keys are the JSON's.
LABELS = {
    "hello": "`syscript run scripts/hello.lua`, the whole process",
    "register": "registering a script of 51 lines, known text",
    "register_first": "registering it, new text",
    "script_kib": "memory of a script that was called",
    "queue_empty": "queue: an empty request",
    "queue_orc": "queue: open, read, close",
    "queue_sleeps": "queue: 32 sleeps of 20 ms",
    "du": "`du -s`, 20,000 files",
    "find": "`find`, 20,000 files",
    "ls_l": "`ls -lR`, 20,000 files",
    "chmod": "`chmod -R`, 20,000 files",
    **{
        f"small_{name}": f"`{command[0]}`, {files:,} files, {each:,} in a directory"
        for name, (command, files, each) in everyone_parts.SMALL.items()
    },
    "scanner": "a scanner that reads 20,000 files",
    "frames_memcached": "memcached's GET, frames",
    "frames_device": "a GET by a script, frames, tun device",
    "frames_veth": "the same, veth",
    "taken_device": "the same, frames taken from the device",
    "taken_veth": "the same, frames taken from veth",
    "nsd": "NSD, a query, frames",
}
UNITS = {"script_kib": "KiB", "queue_empty": "of a call", "queue_orc": "of plain calls"}
UNITS |= {"queue_sleeps": "ms"}
UNITS |= {
    name: "of recvmmsg(2)" for name in BOUNDS if name.startswith(("frames_", "taken_", "nsd"))
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
    return {**raw, **found, "bounds": BOUNDS}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"everyone, {rounds} rounds", result)
    unit = "1,000 instructions" if result["clock"] != "time" else "us"
    units = {"hello": unit, "register": unit, "register_first": unit, **UNITS}
    rows = [
        [LABELS[name], units.get(name, "of plain"), f"{result[name]:,.3f}", f"{bound:,.2f}"]
        + [results.verdict(result[name], bound)]
        for name, bound in BOUNDS.items()
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
