# SPDX-License-Identifier: GPL-2.0
"""An ordinary user's results of the library's batches of files: test_direct.py."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from library import Library

library = Library()
so = library.so
for function in ("readdirplus", "open_read_close"):
    getattr(so, f"syscript_{function}").restype = ctypes.c_ssize_t

BASIC, DOTS = 0x7FF, 1
# Offsets in struct syscript_dirent: error, attributes, name.
ERROR, STAT, NAME = 8, 16, 16 + 136
SIZE, MODE = STAT + 24, STAT + 40


def records(dirfd: int, flags: int) -> list[tuple[str, int, int]] | int:
    """Each entry's name, size and mode; or -errno. The buffer needs many calls."""
    found, room = [], ctypes.create_string_buffer(40_000)
    os.lseek(dirfd, 0, os.SEEK_SET)
    while True:
        n = so.syscript_readdirplus(dirfd, room, len(room), BASIC, flags, None)
        if n <= 0:
            return n or found
        at = 0
        while at < n:
            reclen, namelen = struct.unpack_from("HH", room, at)
            assert struct.unpack_from("i", room, at + ERROR) == (0,)
            name = room.raw[at + NAME : at + NAME + namelen].decode()
            (size,) = struct.unpack_from("Q", room, at + SIZE)
            (mode,) = struct.unpack_from("I", room, at + MODE)
            found.append((name, size, mode))
            at += reclen


def stats(dirfd: int) -> list[int]:
    """The sizes of three files, or -errno."""
    names = [ctypes.create_string_buffer(name) for name in (b"file3", b"file5", b"nowhere")]
    attributes = ctypes.create_string_buffer(3 * 136)
    files = (ctypes.c_int64 * 12)()
    for i, name in enumerate(names):
        files[4 * i] = ctypes.addressof(name)
        files[4 * i + 1] = ctypes.addressof(attributes) + 136 * i
    so.syscript_stat_many(dirfd, files, 3, BASIC, 0)
    found = [struct.unpack_from("Q", attributes, 136 * i + SIZE - STAT)[0] for i in range(3)]
    return [files[4 * i + 3] or found[i] for i in range(3)]


def results(top: str) -> dict:
    dirfd = os.open(top, os.O_RDONLY)
    text = ctypes.create_string_buffer(64)
    entries, dots = records(dirfd, 0), records(dirfd, DOTS)
    if isinstance(entries, int):
        return {"entries": {"error": entries}}
    n = so.syscript_open_read_close(dirfd, b"file5", text, len(text), None)
    found = {
        "entries": {name: size for name, size, _ in entries},
        "dots": sorted(name for name, _, mode in dots if stat.S_ISDIR(mode)),
        "stats": stats(dirfd),
        "read": [n, text.value.decode()],
    }
    os.close(dirfd)
    return found


def in_child(top: str) -> dict:
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, json.dumps(results(top)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.wait()
    return json.loads(text)


def main() -> None:
    top = sys.argv[1]
    seen = {"parent": results(top)}
    if "error" not in seen["parent"]["entries"]:
        seen["scripts"] = sorted({info.name.decode() for info in library.scripts()})
        seen["child"] = in_child(top)
        os.closerange(3, 64)
        seen["closed"] = results(top)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
