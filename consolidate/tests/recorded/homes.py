# SPDX-License-Identifier: GPL-2.0
"""Recreates the files of a recorded program, and runs live.py on them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import programs
from programs import HOME

RECORDED = Path(__file__).resolve().parent
PYTHON = RECORDED.parents[2] / "build" / "venv" / "bin" / "python"
# The files before the program runs, twice; after it; and its recording.
SAVED, AGAIN, OWN, TRACES = (
    HOME.with_suffix(f".{name}") for name in ("saved", "again", "own", "t")
)


class Prepared(Exception):
    """Raised once the files are there; the command need not run."""


class Keeping(programs.Recorder):
    """Keeps the files that a command would find."""

    def command(self, command: list[str | Path]) -> list[str]:
        copy(HOME, SAVED)
        raise Prepared


class Recording(programs.Recorder):
    """Keeps the files, and records the command with all of its data."""

    def command(self, command: list[str | Path]) -> list[str]:
        for kept in (SAVED, AGAIN):
            copy(HOME, kept)
        recording = super().command(command)
        at = recording.index("--")
        return [*recording[:at], "-s", str(1 << 20), *recording[at:]]


def copy(files: Path, to: Path) -> None:
    """Copies files, including unreadable ones."""
    modes = {
        path.relative_to(files): path.stat().st_mode
        for path in files.rglob("*")
        if not path.is_symlink()
    }
    closed = [path for path, mode in modes.items() if not mode & 0o400]
    for path in closed:
        (files / path).chmod(0o700)
    subprocess.run(["cp", "-a", files, to], check=True)
    for path in closed:
        for top in (files, to):
            (top / path).chmod(modes[path])


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Recordings contain fixed paths, so only one test at a time may have them."""
    lock = os.open(HOME.parent, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    remove()
    try:
        yield
    finally:
        remove()
        os.close(lock)


def remove() -> None:
    for path in (HOME, SAVED, AGAIN, OWN, TRACES):
        subprocess.run(["chmod", "-Rf", "u+rwx", path], check=False)
        shutil.rmtree(path, ignore_errors=True)


def prepare(name: str) -> None:
    """HOME with the other set of files as the program finds them, and SAVED, a copy."""
    for path in (HOME, TRACES):
        path.mkdir()
        programs.own(path)
    with contextlib.suppress(Prepared):
        programs.PROGRAMS[name](Keeping(TRACES / "trace"), True)


def record(name: str) -> Path:
    """Prepares the files and runs the program: the files afterwards are OWN."""
    for path in (HOME, TRACES):
        path.mkdir()
        programs.own(path)
    trace = TRACES / "trace"
    programs.PROGRAMS[name](Recording(trace), True)
    HOME.rename(OWN)
    AGAIN.rename(HOME)
    return trace


def archived(name: str, which: str) -> Path:
    return RECORDED / "traces" / f"{name}.{which}.gz"


def live(one: Path, other: Path) -> dict:
    own = [OWN] if OWN.exists() else []
    command = [PYTHON, RECORDED / "live.py", one, other, HOME, SAVED, *own]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
