#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count what SELECTs of SQLite execute in a guest, and what of it a compound could save.

A compound saves what enters and leaves the kernel, for all of its calls but one, and costs what
entering it takes; the database's own instructions stay.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from typing import Any

import results

COUNT = 1000
WAYS = {
    "random": "rows by random keys, each SELECT a transaction",
    "transaction": "the same, one transaction",
    "sequential": "rows in order",
}
# What a system call executes before its own function and after it, whatever it does.
GATE = {
    "entry_SYSCALL_64",
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "syscall_enter_from_user_mode",
    "x64_sys_call",
    "syscall_exit_to_user_mode",
    "exit_to_user_mode_prepare",
    "syscall_return_via_sysret",
}


def count(kernel: str, way: str) -> dict[str, float]:
    """Instructions of a row."""
    profile = results.ROOT / f"build/bench/sqlite-{way}.json"
    command = [results.ROOT / "vm/profile/icount.py", "run", "-k", kernel, "-o", profile]
    command += ["--per", str(COUNT), "--", "build/bench/sqlite", way, str(COUNT)]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise results.MeasureError(f"{way}: not counted")
    functions = json.loads(profile.read_text())["functions"]
    return {
        "all": sum(functions.values()) / COUNT,
        "own": functions["[user space]"] / COUNT,
        "gate": sum(n for name, n in functions.items() if name in GATE) / COUNT,
    }


def show(result: dict[str, Any], _: int) -> None:
    header = ["instructions a row", "all", "SQLite's own", "enter and leave the kernel", "share"]
    rows = [
        [WAYS[way], *(f"{found[part]:,.0f}" for part in ("all", "own", "gate"))]
        + [f"{found['gate'] / found['all']:.2f}"]
        for way, found in result["ways"].items()
    ]
    results.show(header, rows)


def main() -> int:
    args = results.parser(__doc__).parse_args()
    try:
        ways = {way: count(args.kernel, way) for way in WAYS}
    except results.MeasureError as error:
        print(f"sqlite: {error}", file=sys.stderr)
        return 1
    result = {"kernel": args.kernel, "sqlite": sqlite3.sqlite_version, "ways": ways}
    show(result, 0)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
