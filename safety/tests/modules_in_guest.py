# SPDX-License-Identifier: GPL-2.0
"""Loading and removing modules, in the guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kit import SHARED, built

MODULES = built()


def alone(*command: str | Path) -> None:
    """Run a command that patches kernel text; fails the test if it fails."""
    done = subprocess.run([SHARED / "alone", *command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}"


def is_loaded(name: str) -> bool:
    return Path("/sys/module", name).exists()


def path_of(directory: str) -> Path:
    """The module file of "ecryptfs+kefence", or of "evmon/evmon_spin", one of several."""
    if "/" in directory:
        return MODULES / f"{directory}.ko"
    return MODULES / directory / f"{directory.partition('+')[0]}.ko"


def insmod(directory: str, **parameters: object) -> str:
    """Load a module after the kernel modules that it depends on; returns its name."""
    path = path_of(directory)
    depends = subprocess.run(
        ["modinfo", "-F", "depends", path], capture_output=True, text=True, check=True
    ).stdout
    for needed in depends.strip().split(","):
        if needed and not is_loaded(needed):
            subprocess.run(["modprobe", needed], check=True)
    alone("insmod", path, *(f"{key}={value}" for key, value in parameters.items()))
    return path.stem


def rmmod(name: str) -> None:
    if is_loaded(name):
        alone("rmmod", name)
