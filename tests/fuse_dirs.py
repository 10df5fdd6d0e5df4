# SPDX-License-Identifier: GPL-2.0
"""A FUSE file system whose directories are served in every way that a server may choose.

A process's view of a directory depends on how the server splits it into replies, on entries'
offsets, and on the position of the dots; a name may contain zeros. The top directories are named
after the peculiarity of their replies; each has a subdirectory served in the same way.

usage: fuse_dirs.py DIRECTORY   mounts it there, says "mounted", and serves until it is unmounted
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen, run

FILE, DIRECTORY = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755
DOTS = [(b".", DIRECTORY), (b"..", DIRECTORY)]
ODD_NAMES = [
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
FILES = [(b"file %d%s" % (i, b"!" * (i % 9)), FILE) for i in range(14)]
SUB = [(b"sub", DIRECTORY)]

LOOKUP, FORGET, GETATTR, OPENDIR, READDIR, RELEASEDIR = 1, 2, 3, 27, 28, 29
INIT, INTERRUPT, DESTROY, BATCH_FORGET, READDIRPLUS = 26, 36, 38, 42, 44
# Flags of FUSE_INIT, and of replies to FUSE_OPENDIR.
DO_READDIRPLUS, READDIRPLUS_AUTO = 1 << 13, 1 << 14
KEEP_CACHE, NONSEEKABLE, CACHE_DIR = 1 << 1, 1 << 2, 1 << 3
ROOT = 1
# Seconds for which the kernel need not ask again.
VALID = 10_000


def count(i: int) -> int:
    return i + 1


@dataclass
class Shape:
    """How directories are served."""

    entries: list[tuple[bytes, int]] = field(default_factory=lambda: [*DOTS, *FILES, *SUB])
    # Entries per reply; the list repeats.
    replies: list[int] = field(default_factory=lambda: [1000])
    # Maps an entry's number to the offset after it.
    position: Callable[[int], int] = count
    # Bytes of the next entry appended to each reply.
    cut: int = 0
    # The entry at which reading fails.
    fails: int = -1
    opened: int = 0


def last(entries: list[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    return [*FILES, *SUB, *entries]


SHAPES = {
    "whole": Shape(),
    "1": Shape(replies=[1]),
    "2": Shape(replies=[2]),
    "3": Shape(replies=[3]),
    "7": Shape(replies=[7]),
    "in turns": Shape(replies=[2, 1, 5, 1]),
    "cut": Shape(replies=[2], cut=20),
    "cut name": Shape(replies=[1], cut=28),
    "none": Shape(entries=[]),
    "dots": Shape(entries=DOTS),
    "dots 1": Shape(entries=DOTS, replies=[1]),
    "no dots 1": Shape(entries=last([]), replies=[1]),
    "dots last": Shape(entries=last(DOTS), replies=[5]),
    "dots last 1": Shape(entries=last(DOTS), replies=[1]),
    "dots between": Shape(entries=[*FILES[:9], *DOTS * 3, *FILES[9:], *SUB], replies=[2]),
    "many dots": Shape(entries=[*DOTS * 40, *FILES, *DOTS * 40, *SUB], replies=[4]),
    # More entries than readers skip at once, in one reply.
    "dots without end": Shape(entries=[*DOTS * 600, *FILES, *SUB]),
    "odd": Shape(entries=ODD_NAMES),
    "odd 1": Shape(entries=[*DOTS, *ODD_NAMES, *SUB], replies=[1]),
    "odd dots 1": Shape(entries=[(b".\0", DIRECTORY), (b"..\0.", DIRECTORY), *FILES], replies=[1]),
    "backwards": Shape(replies=[2], position=lambda i: (1 << 62) - i),
    "negative": Shape(replies=[3], position=lambda i: (1 << 64) - 1 - i),
    "not seekable": Shape(replies=[4], opened=NONSEEKABLE),
    "fails": Shape(replies=[2], fails=9),
    "fails early": Shape(replies=[1], fails=2),
    "fails at once": Shape(fails=0),
    "slash": Shape(entries=[*DOTS, *FILES[:5], (b"a/b", FILE), *FILES[5:]], replies=[2]),
    "cached": Shape(replies=[1], opened=CACHE_DIR | KEEP_CACHE),
    "cached dots": Shape(
        entries=[*DOTS * 600, *FILES, *SUB], replies=[90], opened=CACHE_DIR | KEEP_CACHE
    ),
}


@dataclass
class Node:
    mode: int
    shape: Shape
    entries: list[tuple[bytes, int]] = field(default_factory=list)
    # Inodes by name, as a process sees it.
    below: dict[bytes, int] = field(default_factory=dict)


NODES = [Node(0, Shape())]


def add_node(mode: int, shape: Shape, entries: list[tuple[bytes, int]]) -> int:
    node, number = Node(mode, shape, entries), len(NODES)
    NODES.append(node)
    for name, kind in entries:
        seen = name.partition(b"\0")[0]
        if seen and seen not in (b".", b"..") and seen not in node.below:
            # The subdirectory has no subdirectory itself.
            inner = [entry for entry in shape.entries if entry not in SUB] if name == b"sub" else []
            node.below[seen] = add_node(kind, shape, inner)
    return number


def build() -> None:
    top = NODES[add_node(DIRECTORY, Shape(), [])]
    top.entries = [*DOTS, *((name.encode(), DIRECTORY) for name in SHAPES)]
    for name, shape in SHAPES.items():
        top.below[name.encode()] = add_node(DIRECTORY, shape, shape.entries)


def attributes(number: int) -> bytes:
    mode = NODES[number].mode
    return struct.pack("<6Q10I", number, 100 * number, 1, *[0] * 6, mode, 1, *[0] * 5)


def entry_out(number: int) -> bytes:
    return struct.pack("<4Q2I", number, 0, VALID, VALID, 0, 0) + attributes(number)


def lookup(number: int, name: bytes) -> bytes:
    below = NODES[number].below
    if name not in below:
        raise OSError(errno.ENOENT, "")
    return entry_out(below[name])


class Opened:
    """A directory opened at some offset."""

    def __init__(self, number: int, plus: bool) -> None:
        self.node, self.plus = NODES[number], plus
        self.shape = self.node.shape
        self.at = self.turn = 0
        self.starts = {0: 0}
        for i in range(len(self.node.entries)):
            self.starts[self.shape.position(i)] = i + 1

    def record(self, i: int) -> bytes:
        name, mode = self.node.entries[i]
        number = self.node.below.get(name.partition(b"\0")[0], 0)
        head = struct.pack(
            "<QQII", number or 1, self.shape.position(i), len(name), stat.S_IFMT(mode) >> 12
        )
        known = (entry_out(number) if number else bytes(128)) if self.plus else b""
        return known + head + name + b"\0" * (-len(name) % 8)

    def read(self, position: int, size: int) -> bytes:
        self.at = self.starts[position]
        most = self.shape.replies[self.turn % len(self.shape.replies)]
        self.turn += 1
        out = b""
        if self.at == self.shape.fails:
            raise OSError(errno.EIO, "")
        for _ in range(most):
            if self.at in (len(self.node.entries), self.shape.fails):
                return out
            record = self.record(self.at)
            if len(out) + len(record) > size:
                return out
            out += record
            self.at += 1
        if self.at < len(self.node.entries):
            out += self.record(self.at)[: min(self.shape.cut, size - len(out))]
        return out


class Server:
    def __init__(self, device: int, plus: bool) -> None:
        self.device, self.plus = device, plus
        self.opened: dict[int, Opened] = {}

    def open(self, number: int) -> bytes:
        handle = len(self.opened) + 1
        self.opened[handle] = Opened(number, self.plus)
        return struct.pack("<QII", handle, NODES[number].shape.opened, 0)

    def answer(self, kind: int, number: int, body: bytes) -> bytes:
        if kind == INIT:
            flags = DO_READDIRPLUS if self.plus else 0
            return struct.pack("<4I2H2I36x", 7, 31, 1 << 16, flags, 12, 10, 1 << 16, 1)
        if kind == GETATTR:
            return struct.pack("<Q2I", VALID, 0, 0) + attributes(number)
        if kind == LOOKUP:
            return lookup(number, body.rstrip(b"\0"))
        if kind == OPENDIR:
            return self.open(number)
        if kind in (READDIR, READDIRPLUS):
            handle, position, size = struct.unpack_from("<QQI", body)
            return self.opened[handle].read(position, size)
        if kind == RELEASEDIR:
            return b""
        raise OSError(errno.ENOSYS, "")

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self.device, 1 << 17)
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
                out = self.answer(kind, node, request[40:])
            except OSError as err:
                error = -(err.errno or errno.EIO)
            os.write(self.device, struct.pack("<IiQ", 16 + len(out), error, unique) + out)


def mount(place: str) -> int:
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"fuse_dirs", place.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    return device


@contextmanager
def served(at: Path, *options: str) -> Iterator[Path]:
    at.mkdir()
    with Popen([sys.executable, __file__, at, *options], stdout=PIPE) as server:
        assert server.stdout
        assert server.stdout.readline() == b"mounted\n"
        try:
            yield at
        finally:
            run(["umount", at], check=True)


if __name__ == "__main__":
    build()
    server = Server(mount(sys.argv[1]), "plus" in sys.argv[2:])
    print("mounted", flush=True)
    server.serve()
