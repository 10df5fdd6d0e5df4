# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Records a trace: with strace's most informative options, or by the kernel's audit."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import sys
from pathlib import Path

from consolidate.errors import ConsolidateError, not_installed
from consolidate.trace import auditing, system
from consolidate.trace.reader import ABOUT
from consolidate.trace.signals import Ending, run_with_terminal, time_with_terminal

# Records threads and children, time and duration, kinds of descriptors, and names listed by
# getdents, which show where later paths come from; -q omits a message for each attached process.
OPTIONS = ("-q", "-f", "-ttt", "-T", "-yy", "-s", "128", "-e", "abbrev=!getdents,getdents64")
STACKS = ("-k",)
# strace's own failure, before the command began.
FAILED = 1
# The status of a command ended by Ctrl-C or kill.
ENDED = tuple(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL))


def record(
    command: list[str],
    output: Path,
    pids: list[int],
    stacks: bool = False,
    again: bool = False,
    audit: bool = False,
) -> int:
    """Run a command, or watch processes, and write the trace; returns the command's exit status.

    With `again` the command is run a second time, without the tracer, for its time.
    """
    if command and shutil.which(command[0]) is None:
        raise ConsolidateError(f"there is no command {command[0]!r} to record")
    try:
        output.write_bytes(b"")
    except OSError as error:
        raise ConsolidateError(f"cannot write {output}: {error.strerror}") from error
    about: dict[str, object] = {}
    input_from = place_in_input()
    if audit:
        status = auditing.record(command, output, pids)
    else:
        if commands := commands_of(pids):
            about["commands"] = commands
        status = traced(command, output, pids, stacks)
    if again and (why := unlike(status, output)):
        print(f"consolidate: not run again for its time: {why}", file=sys.stderr)
    elif again and (seconds := untraced(command, input_from, status)) is not None:
        about["seconds"] = seconds
    if about:
        with output.open("a") as file:
            file.write(f"{ABOUT}{json.dumps(about)}\n")
    return status


def whole_machine(output: Path, seconds: float) -> None:
    """Write the calls of all processes."""
    system.record(output, seconds)
    with output.open("a") as file:
        file.write(f"{ABOUT}{json.dumps({'system': True})}\n")
    if gaps := system.lost(output):
        print(f"consolidate: perf lost {gaps} events: the trace has gaps", file=sys.stderr)


def traced(command: list[str], output: Path, pids: list[int], stacks: bool) -> int:
    strace = shutil.which("strace")
    if strace is None:
        raise not_installed("strace", "strace")
    options = [*OPTIONS, *(STACKS if stacks else ())]
    which = [f"--attach={pid}" for pid in pids]
    argv = [strace, *options, "-o", str(output), *which]
    if command:
        status = run_with_terminal([*argv, "--", *command])
    else:
        print(f"consolidate: recording to {output}: Ctrl-C ends it", file=sys.stderr)
        with Ending() as ending:
            status = ending.run(argv)
    if status == FAILED and not output.stat().st_size:
        raise ConsolidateError(
            "strace ended with the error that it printed: it needs ptrace(2), which the owner"
            " of a process may use unless kernel.yama.ptrace_scope or a container forbids it"
        )
    return status


def place_in_input() -> int | None:
    """The offset in standard input at which the command begins, if that is a file."""
    with contextlib.suppress(OSError):
        return os.lseek(0, 0, os.SEEK_CUR)
    return None


def unlike(status: int, output: Path) -> str:
    """Why a second run would not repeat the first, or ""."""
    if status in ENDED:
        return "it was ended"
    with contextlib.suppress(OSError), output.open("rb") as file:
        where = os.fstat(0)
        used = f"read(0<pipe:[{where.st_ino}]>".encode()
        if stat.S_ISFIFO(where.st_mode) and any(used in line for line in file):
            return "it has read from its input, a pipe; give it a file"
    return ""


def untraced(command: list[str], input_from: int | None, before: int) -> float | None:
    """Seconds that a command takes without a tracer, with caches as warm as now.

    None if it ends differently than before: then it did something else.
    """
    if input_from is not None:
        os.lseek(0, input_from, os.SEEK_SET)
    status, seconds = time_with_terminal(command)
    if status == before:
        return round(seconds, 6)
    print(
        f"consolidate: the first time it ended with status {before}, without the tracer with"
        f" {status}: that time is not kept; give `consolidate report` --seconds",
        file=sys.stderr,
    )
    return None


def commands_of(pids: list[int]) -> dict[int, str]:
    """Commands of processes, by thread, which their traces lack."""
    commands = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                commands[int(task.name)] = (task / "comm").read_text().strip()
    return commands
