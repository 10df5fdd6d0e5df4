# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Where the other parts of syscript are: in the source tree, or as `make install` puts them."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# Of the source tree; an installed package has no such surroundings.
ROOT = PACKAGE.parent
BUILD = ROOT / "build"
GUEST = ROOT / "vm" / "guest"
# Each in the tree, then installed.
SYSCALLS = (ROOT / "kernel" / "syscalls.def", PACKAGE / "syscalls.def")
SCRIPTS = (ROOT / "scripts", PACKAGE.parents[2] / "share" / "syscript" / "scripts")
CALIBRATE = (BUILD / "consolidate-calibrate", PACKAGE / "consolidate-calibrate")


def first(candidates: tuple[Path, ...]) -> Path | None:
    """The first of these that is there."""
    return next((path for path in candidates if path.exists()), None)
