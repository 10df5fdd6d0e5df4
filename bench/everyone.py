#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count what scripts cost a user who may open nothing but the confined engine's device.

Whole processes, from exec() to exit(), of user 1000, who is in no group: hello, patched du,
find, ls -l and chmod on 20,000 files, next to the same programs without a patch.  In a
process that goes on: a registration of a script of 51 lines, the memory of a script that has
been called, and requests of a queue, empty or open, read, close.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import results
import walks

USER = 1000
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
PROGRAMS = ("du", "find", "ls_l", "chmod")
SCRIPT = "scripts/recv_batch.lua"
CONTROL_GROUPS = Path("/sys/fs/cgroup")
MEMORY = CONTROL_GROUPS / "command" / "memory.current"
# What each key has to reach: thousands of instructions, over plain, KiB; a request of a queue
# over a call of the same script, and over the plain system calls (7.2: 0.65 of a call).
BOUNDS = {
    "hello": 6000.0,
    "register": 350.0,
    "du": 0.55,
    "find": 0.55,
    "ls_l": 0.60,
    "chmod": 1.00,
    "script_kib": 96.0,
    "queue_empty": 0.50,
    "queue_orc": 1.00,
}


def as_user(command: list[str], where: Path = results.ROOT) -> float:
    """What it takes, in thousands of instructions."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(results.ROOT / "build"), "LC_ALL": "C"}
    begin = walks.cpu_time()
    subprocess.run(
        [*AS_USER, *command], cwd=where, env=environment, stdout=subprocess.DEVNULL, check=True
    )
    return (walks.cpu_time() - begin) * 1e6


def without_setpriv(command: list[str], where: Path = results.ROOT) -> float:
    return as_user(command, where) - as_user(["/bin/true"], where)


def hello(rounds: int) -> list[float]:
    command = [str(results.ROOT / "build/syscript"), "run", "scripts/hello.lua", "20", "22"]
    return [without_setpriv(command) for _ in range(rounds + 1)][1:]


def program(name: str, way: str) -> float:
    command = walks.CASES[name].command
    return without_setpriv([str(walks.WALKS / way / command[0]), *command[1:]], Path.cwd())


def trees() -> None:
    """Of the user, as chmod wants it."""
    Path("begin").touch()
    for number in range(20):
        walks.files(Path(f"flat/{number}"), 1000)
    subprocess.run(["chown", "-R", str(USER), "."], check=True)


def programs(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.chdir(directory)
        trees()
        found = {
            name: [{way: program(name, way) for way in walks.WAYS} for _ in range(rounds + 1)][1:]
            for name in PROGRAMS
            if (walks.WALKS / "ahead" / walks.CASES[name].command[0]).exists()
        }
        os.chdir("/")
    return found


def here(rounds: int) -> dict[str, Any]:
    """In the guest, as root."""
    Path("/dev/syscript-luajit").chmod(0o600)
    (CONTROL_GROUPS / "cgroup.subtree_control").write_text("+memory")
    memory = [*AS_USER, "build/bench/everyone", str(rounds), SCRIPT, str(MEMORY)]
    done = subprocess.run(memory, stdout=subprocess.PIPE, check=True)
    return {
        "kernel": platform.release(),
        "accel": "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm",
        "hello": hello(rounds),
        **json.loads(done.stdout),
        "programs": programs(rounds),
    }


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--timeout", "1800"]
    options.append("--icount" if icount else "--fair")
    raw = results.in_guest(options, ["python3", "bench/everyone.py", "--here", str(rounds)])
    found = {
        "hello": median(raw["hello"]),
        "register": median(raw["register"]) / 1000,
        "script_kib": raw["bytes"] / 1024,
        "queue_empty": median(row["queue"] / row["call"] for row in raw["queue_empty"]),
        "queue_orc": median(row["queue"] / row["plain"] for row in raw["queue_orc"]),
    }
    for name, rows in raw["programs"].items():
        found[name] = median(row["ahead"] / row["plain"] for row in rows)
    rows = {f"{key}_rows": raw.pop(key) for key in ("queue_empty", "queue_orc")}
    return {**raw, **rows, **found, "bounds": BOUNDS}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"everyone, {rounds} rounds", result)
    unit = "1,000 instructions" if result["clock"] != "time" else "us"
    units = {"hello": unit, "register": unit, "script_kib": "KiB", "queue_empty": "of a call"}
    rows = [
        [name, units.get(name, "of plain"), f"{result[name]:,.2f}", f"{bound:,.2f}"]
        + [results.verdict(result[name], bound)]
        for name, bound in BOUNDS.items()
        if name in result
    ]
    results.show(["", "unit", "now", "at most", ""], rows)
    print(f"\n{result['kept']} scripts of default size at once")


def main(argv: list[str]) -> int:
    if argv[:1] == ["--here"]:
        print(json.dumps(here(int(argv[1]))))
        return 0
    return results.Measurement("everyone", 5, 2, measure, show).main(__doc__, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
