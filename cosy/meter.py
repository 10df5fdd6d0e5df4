#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Run a command with each of several programs in turn, for cosy-cc --auto; print JSON.

usage: meter.py ROUNDS DIRECTORY COMMAND PROGRAM...

The shell runs the command, with the program's path in PROGRAM. The cost is the CPU time of it and
its children, in ns: in an icount guest, a ns is an instruction.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys


def used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def run(directory: str, command: str, program: str) -> tuple[int, str]:
    """Its cost, and a digest of its behaviour: status and output."""
    before = used()
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=directory,
        env=os.environ | {"PROGRAM": program},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    took = round(1e9 * (used() - before))
    return took, f"{done.returncode} {hashlib.sha256(done.stdout).hexdigest()}"


def main(rounds: int, directory: str, command: str, programs: list[str]) -> None:
    took: dict[str, list[int]] = {program: [] for program in programs}
    did: dict[str, list[str]] = {program: [] for program in programs}
    # The first round only fills caches.
    for number in range(rounds + 1):
        for program in programs if number % 2 else programs[::-1]:
            one, what = run(directory, command, program)
            did[program].append(what)
            if number:
                took[program].append(one)
    print(json.dumps({"took": took, "did": did}))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:4], sys.argv[4:])
