# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Paths of syscript's other parts: in the source tree, or as `make install` puts them."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# The source tree; an installed package has only measure/ next to it.
ROOT = PACKAGE.parent
BUILD = ROOT / "build"
GUEST = ROOT / "vm" / "guest"
PREFIX = PACKAGE.parents[2]
# Of each its place in the source tree, then its installed place.
COMMAND = (BUILD / "syscript", PREFIX / "bin" / "syscript")
SYSCALLS = (ROOT / "core" / "syscalls.def", PACKAGE / "syscalls.def")
NUMBERS = (BUILD / "gen" / "syscall-numbers", PACKAGE / "syscall-numbers")
VERSION = (BUILD / "gen" / "version", PACKAGE / "version")
SCRIPTS = (ROOT / "scripts", PREFIX / "share" / "syscript" / "scripts")
INCLUDE = (BUILD / "include", PREFIX / "include")
LIBRARIES = (BUILD, PREFIX / "lib")
CALIBRATE = (BUILD / "consolidate-calibrate", PACKAGE / "consolidate-calibrate")


def first(candidates: tuple[Path, ...]) -> Path | None:
    """The first of these that exists."""
    return next((path for path in candidates if path.exists()), None)


def version() -> str:
    """The version of syscript, to which this package belongs."""
    path = first(VERSION)
    return path.read_text().strip() if path is not None else "of a tree that is not built"
