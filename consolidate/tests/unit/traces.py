# SPDX-License-Identifier: GPL-2.0
"""Synthetic traces for tests of consolidate, and the command itself."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

from conftest import ROOT

PYTHON = ROOT / "build" / "venv" / "bin" / "python"
# Calls without data between them.
NOISE = (
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "sched_yield",
    "umask",
    "alarm",
    "getpgrp",
    "sync",
    "getsid",
    "setsid",
    "times",
    "sysinfo",
    "uname",
    "getrusage",
    "getcwd",
    "getitimer",
)
START = 1795176158.0
STEP = 0.00003


def run(
    *args: str | Path,
    cache: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: IO[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    env["XDG_CACHE_HOME"] = str(cache or "/nonexistent")
    command = [PYTHON, "-m", "consolidate", *map(str, args)]
    return subprocess.run(
        command, env=env, stdin=stdin, capture_output=True, text=True, check=False
    )


class Writer:
    """Writes a trace as strace -f -ttt -T does."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.time = START
        self.fd = 2

    def call(self, text: str, result: str | int, tid: int = 100) -> None:
        self.time += STEP
        self.lines.append(f"{tid} {self.time:.6f} {text} = {result} <0.000009>")

    def noise(self, count: int, tid: int = 100) -> None:
        for _ in range(count):
            name = self.random.choice(NOISE)
            self.call(f"{name}()", self.random.randrange(1, 1000), tid)

    def named(self, names: list[str], tid: int = 100) -> None:
        for name in names:
            self.call(f"{name}()", self.random.randrange(1, 1000), tid)

    def write(self, path: Path) -> Path:
        path.write_text("\n".join(self.lines) + "\n")
        return path

    # -- sequences ---------------------------------------------------------------

    def read_file(self, path: str, tid: int = 100, size: int = 700) -> None:
        fd = self.random.randrange(3, 60)
        self.call(f'openat(AT_FDCWD, "{path}", O_RDONLY)', fd, tid)
        self.call(f'read({fd}, "{self.random.randrange(10**9)}"..., 4096)', size, tid)
        self.call(f'read({fd}, "", 4096)', 0, tid)
        self.call(f"close({fd})", 0, tid)

    def missing(self, path: str, tid: int = 100) -> None:
        error = "-1 ENOENT (No such file or directory)"
        self.call(f'openat(AT_FDCWD, "{path}", O_RDONLY)', error, tid)

    def list_directory(
        self,
        path: str,
        names: list[str],
        tid: int = 100,
        between: Callable[[str], None] | None = None,
    ) -> None:
        """Also attributes of its entries; between: what is done next for each entry."""
        fd = self.random.randrange(3, 60)
        entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in names)
        self.call(f'openat(AT_FDCWD, "{path}", O_RDONLY|O_DIRECTORY)', fd, tid)
        self.call(f"getdents64({fd}, [{entries}], 32768)", 24 * len(names), tid)
        for name in names:
            stat = "{st_mode=S_IFREG|0644, st_size=12, ...}"
            self.call(f'newfstatat({fd}, "{name}", {stat}, AT_SYMLINK_NOFOLLOW)', 0, tid)
            if between:
                between(name)
        self.call(f"getdents64({fd}, [], 32768)", 0, tid)
        self.call(f"close({fd})", 0, tid)

    def copy(self, count: int, tid: int = 100) -> None:
        for _ in range(count):
            text = self.random.randrange(10**9)
            size = self.random.randrange(2000, 60000)
            self.call(f'read(3, "{text}"..., 65536)', size, tid)
            self.call(f'write(4, "{text}"..., {size})', size, tid)
