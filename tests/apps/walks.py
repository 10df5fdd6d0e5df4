# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Running programs that read ahead, and the same without."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from compounds import BUILD

WALKS = BUILD / "walks"
# Read ahead from the first entry on, by scripts in the process where there is no module.
AHEAD = {"SYSCRIPT_AHEAD": "always", "LD_LIBRARY_PATH": str(BUILD), "LC_ALL": "C"}


def run(way: str, *command: str, cwd: Path, **env: str) -> tuple[int, str, str]:
    name, *args = command
    done = subprocess.run(
        [name, *args],
        executable=WALKS / way / name,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C", **(env if way == "ahead" else {})},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr
