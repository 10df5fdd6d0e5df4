# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Ends a recorder, as Ctrl-C would, when this process is told to end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

# The signal to a recorder; it writes its data, and detaches from the processes it watches.
END = signal.SIGINT


class Ending:
    """A context in which signals to this process end the recorder instead, however early."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.told = False

    def tell(self, *_: object) -> None:
        self.told = True
        if self.process is not None:
            self.process.send_signal(END)

    def __enter__(self) -> Ending:
        self.before = {number: signal.signal(number, self.tell) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def run(self, command: list[str]) -> int:
        """Its status as shells give it, 0 if it was told to end."""
        self.process = subprocess.Popen(command, start_new_session=True)
        if self.told:
            self.process.send_signal(END)
        status = self.process.wait()
        return 0 if self.told else as_shell(status)


def as_shell(status: int) -> int:
    """A wait() status as shells give it: 128 plus the signal that ended the process."""
    return status if status >= 0 else 128 - status


def run_with_terminal(command: list[str]) -> int:
    """Runs a command with the terminal; Ctrl-C goes to it alone. Returns a shell's status."""
    return time_with_terminal(command)[0]


def time_with_terminal(command: list[str]) -> tuple[int, float]:
    """Likewise; also the seconds that it took, without those in which others had its CPU."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    start = time.monotonic()
    try:
        process = subprocess.Popen(command)
        # Where this process ignores SIGCHLD, nothing is left of one that has ended.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        took = time.monotonic() - start - waited_for_a_cpu(process.pid)
        return as_shell(process.wait()), took
    finally:
        signal.signal(signal.SIGINT, before)


def waited_for_a_cpu(pid: int) -> float:
    """Seconds in which a process's first thread was ready to run and did not; 0 if unknown."""
    try:
        fields = Path(f"/proc/{pid}/schedstat").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9
