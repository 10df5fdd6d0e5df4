# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Records the whole machine for a while, by perf trace.

No process is stopped for a call: perf reads what the kernel's tracepoints write.  What it
cannot read in time is lost, and said.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from consolidate.errors import ConsolidateError, not_installed
from consolidate.trace.ending import Ending

LOST = re.compile(r"^LOST (\d+) events", re.M)


def record(output: Path, seconds: float) -> None:
    if os.geteuid():
        raise ConsolidateError("--system needs root: it records all users' processes")
    perf = shutil.which("perf")
    if perf is None:
        raise not_installed("perf", "linux-perf")
    command = [perf, "trace", "--all-cpus", "--output", str(output), "--"]
    # It ends with what it runs: however long it takes to begin, and if this process is gone.
    command += ["sleep", f"{seconds:g}"]
    with Ending() as ending:
        status = ending.run(command)
    if status:
        raise ConsolidateError(
            "perf trace ended with the error that it printed: it needs tracefs and the kernel's"
            " tracepoints of system calls"
        )


def lost(output: Path) -> int:
    """Events that perf could not keep up with."""
    return sum(map(int, LOST.findall(output.read_text(errors="replace"))))
