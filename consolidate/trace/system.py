# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Records the whole machine for a while, by perf trace.

No process is stopped for a call: perf reads events of the kernel's tracepoints. Events that it
cannot read in time are lost, which is reported.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from consolidate.errors import ConsolidateError, not_installed
from consolidate.trace.signals import Ending

LOST = re.compile(r"^LOST (\d+) events", re.M)


def record(output: Path, seconds: float) -> None:
    if os.geteuid():
        raise ConsolidateError("--system needs root: it records all users' processes")
    perf = shutil.which("perf")
    if perf is None:
        raise not_installed("perf", "linux-perf")
    command = [perf, "trace", "--all-cpus", "--output", str(output), "--"]
    # perf ends with its command: however long it takes to start, and if this process is gone.
    command += ["sleep", f"{seconds:g}"]
    with Ending() as ending:
        status = ending.run(command)
    if status:
        raise ConsolidateError(
            "perf trace ended with the error that it printed: it needs tracefs and the kernel's"
            " tracepoints of system calls"
        )


def lost(output: Path) -> int:
    """Events that perf lost."""
    return sum(map(int, LOST.findall(output.read_text(errors="replace"))))
