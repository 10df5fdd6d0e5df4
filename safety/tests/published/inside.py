#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Load and exercise published modules in a guest, all built with one tool.

usage: inside.py TOOL FILE [NAME...]

Adds JSON lines to FILE: {"begin": NAME} before each module; after it the failure, the tool's
reports, the kernel's messages, and the time taken.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[2] / "vm")]

import kernlog  # noqa: E402
from heard import judged, marker  # noqa: E402
from modules_in_guest import MODULES, alone, insmod, is_loaded  # noqa: E402
from published import PUBLISHED, Published  # noqa: E402

MONITORS = ["spin", "mutex", "part", "refs", "irq", "alloc"]
# Seconds, on a busy host.
TIME = 600


def load_tool(tool: str) -> None:
    if tool:
        insmod(tool)
    if tool == "racewatch":
        # More accesses wait than by default: an exercise is short.
        Path("/sys/kernel/debug/racewatch/settings").write_text("* sample=200 delay=200\n")
    for name in MONITORS if tool == "evmon" else []:
        # Times on an emulated clock are longer: raise the limit.
        parameters = {"limit_us": 1_000_000} if name == "irq" else {}
        if name == "alloc":
            loaded = [name_of(word) for one in PUBLISHED for word in one.load.split()]
            parameters = {"modules": ",".join(loaded)}
        insmod(f"evmon/evmon_{name}", **parameters)


def name_of(word: str) -> str:
    return Path(word.partition(":")[0]).name.replace("-", "_")


def load(one: Published, tool: str) -> list[str]:
    """Load its modules, after the kernel modules that they need."""
    directory = MODULES / "+".join(filter(None, [f"published-{one.name}", tool]))
    own = {name_of(word) for word in one.load.split()}
    for needed in one.needs.split():
        subprocess.run(["modprobe", needed], check=True)
    commands = []
    for word in one.load.split():
        file, *parameters = word.split(":")
        path = directory / f"{file}.ko"
        depends = subprocess.run(
            ["modinfo", "-F", "depends", path], capture_output=True, text=True, check=True
        ).stdout
        for needed in depends.strip().split(","):
            if needed and needed.replace("-", "_") not in own and not is_loaded(needed):
                subprocess.run(["modprobe", needed], check=True)
        commands.append(shlex.join(["insmod", str(path), *parameters]))
    # One command: starting a process takes seconds where CPUs are emulated.
    alone("sh", "-c", " && ".join(commands))
    return [name_of(word) for word in one.load.split()]


def exercised(one: Published) -> str:
    """Exercise it in a child process; returns the failure."""
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            signal.alarm(TIME)
            os.dup2(said.fileno(), sys.stderr.fileno())
            try:
                one.exercise(Path(top))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not status:
            return ""
        said.seek(0)
        text = said.read()
    print(text, file=sys.stderr, flush=True)
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return text.strip().splitlines()[-1]


def through(one: Published, tool: str) -> str:
    """Load, exercise, remove; returns the failure."""
    loaded: list[str] = []
    try:
        loaded = load(one, tool)
        failed = exercised(one)
    except (AssertionError, subprocess.SubprocessError) as error:
        failed = str(error).strip().splitlines()[-1]
    time.sleep(0.5)
    try:
        if loaded:
            alone("rmmod", *reversed(loaded))
    except AssertionError as error:
        return failed or str(error).strip()
    return failed


def main() -> int:
    tool, results, *names = sys.argv[1:]
    tool = tool.removeprefix("plain")
    load_tool(tool)
    with Path(results).open("a") as file:
        for one in PUBLISHED:
            if one.name not in names:
                continue
            print(json.dumps({"begin": one.name}), file=file, flush=True)
            print(one.name, flush=True)
            log = kernlog.KernelLog(marker(one.name))
            began = time.monotonic()
            failed = through(one, tool)
            took = round(time.monotonic() - began)
            time.sleep(0.5)
            reports, bad = judged(log.read())
            log.close()
            result = {"name": one.name, "failed": failed, "reports": reports, "bad": bad}
            print(json.dumps({**result, "seconds": took}), file=file, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
