# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Run programs that read ahead, and their plain versions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from compounds import BUILD

WALKS = BUILD / "walks"
# Reads ahead from the first entry on; scripts run in the process without the module.
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


def failing(unreliable: Path, tmp_path: Path, good_calls: int) -> dict[str, str]:
    """An environment with a library that counts its calls and fails after some."""
    return {
        **AHEAD,
        "LD_LIBRARY_PATH": str(unreliable),
        "REAL": str(BUILD / "libsyscript.so.0"),
        "GOOD_CALLS": str(good_calls),
        "COUNT": str(tmp_path / "count"),
    }


def calls(tmp_path: Path) -> int:
    return int((tmp_path / "count").read_text())
