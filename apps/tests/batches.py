#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Batches of paths in a tree that is there, against the plain calls: results and errors.

usage: batches.py DIRECTORY read-only|writable|changing

read-only: creating is compared as well.  changing: others change it, so only errors are compared.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ctypes.CDLL(str(ROOT / "build" / "libsyscript.so"), use_errno=True)
NAMES, SIZE = 200, 8192
BASIC = 0x7FF  # STATX_BASIC_STATS


class File(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("path", "data", "size")]
    _fields_ += [("result", ctypes.c_int64)]


class Stat(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint32), ("blksize", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_uint64) for name in ("attributes", "ino", "size", "blocks")]
    _fields_ += [(name, ctypes.c_uint32) for name in ("mode", "nlink", "uid", "gid")]
    _fields_ += [(name, ctypes.c_uint64) for name in ("dev", "rdev")]
    _fields_ += [("times", ctypes.c_uint8 * 64)]


def names() -> Iterator[str]:
    """What is there, and what is wrong in many ways."""
    yield from ("", ".", "..", "./", "nowhere", "nowhere/x", "/proc/nowhere")
    yield from ("x" * 256, "x/" * 2100)
    for place, directories, files in os.walk("."):
        for name in (*files, *directories):
            path = f"{place}/{name}"
            yield from (path, f"{path}/", f"{path}/x", f"{path}/..")
        yield from (f"{place}/nowhere", f"{place}/{'y' * 255}", f"{place}/{'y' * 256}")


T = TypeVar("T")


def outcome(call: Callable[..., T], *args: Any, **more: Any) -> tuple[int, T | None]:
    """0 and the result, or -errno."""
    try:
        return 0, call(*args, **more)
    except OSError as error:
        return -(error.errno or 0), None


def batch(call: str, paths: list[bytes], data: list[ctypes.Array], *more: int) -> list[int]:
    kept = [ctypes.create_string_buffer(path) for path in paths]
    files = (File * len(paths))()
    for file, path, at in zip(files, kept, data, strict=True):
        file.path, file.data = ctypes.addressof(path), ctypes.addressof(at)
        file.size, file.result = ctypes.sizeof(at), 99
    done = getattr(LIBRARY, f"syscript_{call}")(-100, files, len(files), *more)
    assert done == 0, f"{call}: {os.strerror(-done)}"
    return [file.result for file in files]


faults: list[str] = []


def same(call: str, path: bytes, batched: object, plain: object) -> None:
    if batched != plain:
        faults.append(f"{call} of {path[-100:]!r}: {batched}, not {plain}")


def compare_attributes(paths: list[bytes], stable: bool) -> None:
    for flags, follow in ((0, True), (0x100, False)):
        found = [Stat() for _ in paths]
        results = batch("stat_many", paths, found, BASIC, flags)
        for path, result, at in zip(paths, results, found, strict=True):
            plain, st = outcome(os.stat, path, follow_symlinks=follow)
            same("stat", path, result, plain)
            if st and stable:
                same(
                    "attributes",
                    path,
                    (at.ino, at.size, at.blocks, at.mode, at.nlink, at.uid, at.gid, at.rdev),
                    (st.st_ino, st.st_size, st.st_blocks, st.st_mode)
                    + (st.st_nlink, st.st_uid, st.st_gid, st.st_rdev),
                )


def plain_read(path: bytes) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        text = b""
        while len(text) < SIZE and (more := os.read(fd, SIZE - len(text))):
            text += more
    except OSError:
        if not text:
            raise
    finally:
        os.close(fd)
    return text


def compare_contents(paths: list[bytes], stable: bool) -> None:
    data = [(ctypes.c_char * SIZE)() for _ in paths]
    results = batch("read_many", paths, data, os.O_NONBLOCK)
    for path, result, at in zip(paths, results, data, strict=True):
        plain, text = outcome(plain_read, path)
        same("read", path, min(result, 0), plain)
        if text is not None and stable:
            same("contents", path, at.raw[: max(result, 0)], text)


def compare_opening(paths: list[bytes], flags: int) -> None:
    """One by one: a batch of all would leave no descriptor."""
    for path in paths:
        (result,) = batch("open_many", [path], [Stat()], flags | os.O_CLOEXEC, 0o600, BASIC)
        plain, fd = outcome(os.open, path, flags, 0o600)
        for opened in (result, fd):
            if opened is not None and opened >= 0:
                os.close(opened)
        same(f"open {flags:o}", path, min(result, 0), plain)


def main(top: str, how: str) -> int:
    os.chdir(top)
    paths = [os.fsencode(name) for name in islice(names(), NAMES * 4)]
    compare_attributes(paths, how != "changing")
    compare_contents(paths, how != "changing")
    some = paths[:NAMES]
    if how == "read-only":
        compare_opening(some, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK)
    there = [path for path in some if os.path.lexists(path)]
    compare_opening(there, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    compare_opening(some, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    compare_opening(some, os.O_DIRECTORY)
    print(*faults[:20], sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
