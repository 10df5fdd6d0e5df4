# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Records a trace with strace, in the form that tells most."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from consolidate.errors import ConsolidateError

# Threads and children, time and duration, what descriptors are, and the names that
# getdents listed: they show where the paths of later calls come from.
OPTIONS = ("-f", "-ttt", "-T", "-yy", "-s", "128", "-e", "abbrev=!getdents,getdents64")
# strace's own failure, before the command began.
FAILED = 1


def record(command: list[str], output: Path, pids: list[int]) -> int:
    """Run a command, or watch processes, and write the trace; the command's exit status."""
    strace = shutil.which("strace")
    if strace is None:
        raise ConsolidateError("strace is not installed: install the distribution's package")
    if command and shutil.which(command[0]) is None:
        raise ConsolidateError(f"there is no command {command[0]!r} to record")
    try:
        output.write_bytes(b"")
    except OSError as error:
        raise ConsolidateError(f"cannot write {output}: {error.strerror}") from error
    which = [f"--attach={pid}" for pid in pids]
    done = subprocess.run([strace, *OPTIONS, "-o", str(output), *which, "--", *command])
    if done.returncode == FAILED and not output.stat().st_size:
        raise ConsolidateError(
            "strace could not trace it, see above: it needs ptrace(2), which the owner of a"
            " process may use unless kernel.yama.ptrace_scope or a container forbids it"
        )
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
