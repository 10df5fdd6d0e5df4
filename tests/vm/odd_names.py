# SPDX-License-Identifier: GPL-2.0
"""A FUSE file system of one directory, with names that no other one has.

usage: odd_names.py DIRECTORY   mounts it there, says "mounted", and serves until it is unmounted
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time

FILE, DIRECTORY = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755
ENTRIES = [
    (b"plain", FILE),
    (b"plain\0cut", FILE),
    (b"8 bytes!\0and more", FILE),
    (b"\0nothing", FILE),
    (b"..\0up", DIRECTORY),
    (b".\0here", DIRECTORY),
    (b"x" * 255, FILE),
    (b"y" * 1024, FILE),
    (b"last", FILE),
]

LOOKUP, FORGET, GETATTR, OPENDIR, READDIR, RELEASEDIR = 1, 2, 3, 27, 28, 29
INIT, INTERRUPT, DESTROY, BATCH_FORGET = 26, 36, 38, 42
ROOT = 1


def attributes(node: int) -> bytes:
    mode = DIRECTORY if node == ROOT else ENTRIES[node - 2][1]
    return struct.pack("<6Q10I", node, 100 * node, 1, *[0] * 6, mode, 1, *[0] * 5)


def lookup(name: bytes) -> bytes:
    seen = [entry.partition(b"\0")[0] for entry, _ in ENTRIES]
    if not name or name not in seen:
        raise OSError(errno.ENOENT, "")
    node = seen.index(name) + 2
    return struct.pack("<5Q", node, 0, 0, 0, 0) + attributes(node)


def directory(offset: int, size: int) -> bytes:
    out = b""
    for i, (name, mode) in enumerate(ENTRIES[offset:], offset):
        head = struct.pack("<QQII", i + 2, i + 1, len(name), stat.S_IFMT(mode) >> 12)
        record = head + name + b"\0" * (-len(name) % 8)
        if len(out) + len(record) > size:
            break
        out += record
    return out


def answer(kind: int, node: int, body: bytes) -> bytes:
    if kind == INIT:
        return struct.pack("<4I2H2I36x", 7, 31, 1 << 16, 0, 12, 10, 1 << 16, 1)
    if kind == GETATTR:
        return struct.pack("<2Q", 0, 0) + attributes(node)
    if kind == LOOKUP:
        return lookup(body.rstrip(b"\0"))
    if kind == OPENDIR:
        return bytes(16)
    if kind == READDIR:
        return directory(*struct.unpack_from("<8xQI", body))
    if kind == RELEASEDIR:
        return b""
    raise OSError(errno.ENOSYS, "")


def mount(place: str) -> int:
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"odd_names", place.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    return device


def serve(device: int) -> None:
    while True:
        try:
            request = os.read(device, 1 << 17)
        except OSError as err:
            if err.errno == errno.ENODEV:
                return
            time.sleep(0.01)
            continue
        _, kind, unique, node = struct.unpack_from("<IIQQ", request)
        if kind in (FORGET, BATCH_FORGET, INTERRUPT, DESTROY):
            continue
        error, out = 0, b""
        try:
            out = answer(kind, node, request[40:])
        except OSError as err:
            error = -(err.errno or errno.EIO)
        os.write(device, struct.pack("<IiQ", 16 + len(out), error, unique) + out)


if __name__ == "__main__":
    opened = mount(sys.argv[1])
    print("mounted", flush=True)
    serve(opened)
