# SPDX-License-Identifier: GPL-2.0
"""Machine of subject.py on an emulated processor: remote.c runs there, and is asked by pipes.

CONFINED_REMOTE is its command. With it, tests that use subject.py test another architecture.
"""

from __future__ import annotations

import ctypes
import shlex
import struct
import subprocess
from collections.abc import Sequence
from typing import IO

NAMES = ("load", "free", "arena", "read", "write", "run", "calls", "charges", "polls", "watch")
NAMES += ("code", "verify", "text", "stub", "sample")
REQUEST, ANSWER = "<II8Q", "<QII"


def read_all(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    assert len(data) == size, "the emulated process ended"
    return data


def text_of(data: bytes) -> str:
    return data.split(b"\0")[0].decode()


class Remote:
    """The functions of subject.c in the process of @command: see subject.Local."""

    def __init__(
        self, command: str, run: type[ctypes.Structure], call: type[ctypes.Structure]
    ) -> None:
        self.run_type, self.call_type = run, call
        self.child = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, name: str, subject: int, *args: int, data: bytes = b"") -> tuple[int, bytes]:
        """The answer's value and bytes."""
        words = [a % (1 << 64) for a in (subject, *args, *(0,) * (7 - len(args)))]
        self.child.stdin.write(struct.pack(REQUEST, NAMES.index(name), len(data), *words) + data)
        self.child.stdin.flush()
        answer = read_all(self.child.stdout, struct.calcsize(ANSWER))
        value, size, _ = struct.unpack(ANSWER, answer)
        return value, read_all(self.child.stdout, size)

    def load(self, image: bytes, base: int, place: int, key: int, thunks: int) -> tuple[int, str]:
        handle, error = self.ask("load", base, place, key, thunks, data=image)
        return handle, text_of(error)

    def free(self, handle: int) -> None:
        self.ask("free", handle)

    def arena(self, handle: int, size: int) -> tuple[int, Arena]:
        address = self.ask("arena", handle)[0]
        return address, Arena(self, address, size)

    def read(self, address: int, size: int) -> bytes:
        return self.ask("read", 0, address, size)[1]

    def write(self, address: int, data: bytes) -> None:
        self.ask("write", 0, address, data=data)

    def code(self, handle: int) -> tuple[int, bytes]:
        return self.ask("code", handle)

    def run(self, handle: int, how: int, args: Sequence[int], polls: int) -> ctypes.Structure:
        return self.run_type.from_buffer_copy(self.ask("run", handle, how, polls, *args)[1])

    def calls(self, handle: int, next_result: int) -> ctypes.Array:
        data = self.ask("calls", handle, next_result)[1]
        kind = self.call_type * (len(data) // ctypes.sizeof(self.call_type))
        return kind.from_buffer_copy(data)

    def charges(self, handle: int, n: int) -> list[int]:
        return list(struct.unpack(f"<{n}H", self.ask("charges", handle, n)[1]))

    def polls(self, handle: int) -> int:
        return self.ask("polls", handle)[0]

    def watch(self, handle: int, offset: int) -> None:
        self.ask("watch", handle, offset)

    def verify(self, handle: int, code: bytes, labels: bytes, n: int) -> tuple[int, str]:
        aligned = code + bytes(-len(code) % 8)
        result, error = self.ask("verify", handle, len(aligned), n, data=aligned + labels)
        return ctypes.c_int64(result).value, text_of(error)

    def text(self, handle: int) -> str:
        return text_of(self.ask("text", handle)[1])

    def stub(self, n: int) -> int:
        return self.ask("stub", 0, n)[0]


class Arena:
    """Bytes of the emulated process, as ctypes has them in this one."""

    def __init__(self, remote: Remote, address: int, size: int) -> None:
        self.remote, self.address, self.size = remote, address, size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self.size)
        return self.remote.read(self.address + start, stop - start)

    def __setitem__(self, part: slice, data: bytes) -> None:
        self.remote.write(self.address + part.indices(self.size)[0], data)

    def __bytes__(self) -> bytes:
        return self[:]
