# SPDX-License-Identifier: GPL-2.0
"""libsyscript for tests that make thousands of calls from one process."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build"
AUTO = 0  # SYSCRIPT_BACKEND_AUTO
KERNEL = 1  # SYSCRIPT_BACKEND_KERNEL
CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED


class Options(ctypes.Structure):
    """struct syscript_options of lib/syscript.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("flags", ctypes.c_uint32),
        ("backend", ctypes.c_int),
        ("memory_limit", ctypes.c_uint64),
        ("time_limit_ns", ctypes.c_uint64),
        ("wall_limit_ns", ctypes.c_uint64),
        ("grace_ns", ctypes.c_uint64),
        ("engine", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("shared", ctypes.c_void_p),
        ("shared_len", ctypes.c_size_t),
        ("base", ctypes.c_uint64),
        ("only", ctypes.c_char_p),
    ]


COUNTERS = (
    *("memory_limit", "time_limit", "wall_limit", "grace", "memory", "memory_peak", "calls"),
    *("errors", "kills", "run_time", "syscalls", "preempt_max"),
)


class Counter(ctypes.Structure):
    """struct syscript_counter: a counter of the engine."""

    _fields_ = [("name", ctypes.c_char * 24), ("value", ctypes.c_uint64)]


class Info(ctypes.Structure):
    """struct syscript_info of include/uapi/syscript.h."""

    _fields_ = [
        ("id", ctypes.c_uint64),
        ("pid", ctypes.c_int32),
        ("uid", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("name", ctypes.c_char * 32),
        ("engine", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("engine_name", ctypes.c_char * 16),
        *((name, ctypes.c_uint64) for name in COUNTERS),
        ("counters", Counter * 6),
        ("reserved", ctypes.c_uint64 * 4),
    ]

    def own(self) -> dict[str, int]:
        """The engine's counters by name."""
        return {c.name.decode(): c.value for c in self.counters if c.name}

    def __repr__(self) -> str:
        return f"script {self.id} of process {self.pid}, {self.calls} calls"


class Library:
    """The library calls that tests make, in the kernel backend."""

    def __init__(self) -> None:
        self.so = ctypes.CDLL(str(BUILD / "libsyscript.so"))

    def register(
        self, source: bytes, memory: int = 0, flags: int = 0, **more: int
    ) -> tuple[int, str]:
        """The descriptor or -errno, and the error message; more: fields of Options."""
        error = ctypes.create_string_buffer(512)
        options = Options(
            size=ctypes.sizeof(Options),
            flags=flags,
            memory_limit=memory,
            **{"name": b"test", "backend": KERNEL, "time_limit_ns": 10_000_000_000, **more},
        )
        fd = self.so.syscript_register(
            source, len(source), ctypes.byref(options), error, len(error)
        )
        return fd, error.value.decode(errors="replace")

    def call(self, fd: int, *args: int) -> tuple[int, int]:
        """The number of results or -errno, and the first result."""
        result = ctypes.c_int64(0)
        passed = (ctypes.c_int64 * 8)(*args)
        count = self.so.syscript_call(fd, len(args), passed, 1, ctypes.byref(result))
        return count, result.value

    def output(self, fd: int) -> bytes:
        buffer = ctypes.create_string_buffer(4096)
        taken = self.so.syscript_output(fd, buffer, len(buffer))
        return buffer.raw[: max(taken, 0)]

    def error(self, fd: int) -> str:
        buffer = ctypes.create_string_buffer(512)
        self.so.syscript_error(fd, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    def scripts(self) -> Iterator[Info]:
        """The live scripts visible to this process, as `syscript list` finds them."""
        after = 0
        while True:
            info = Info(id=after)
            error = self.so.syscript_next(ctypes.byref(info))
            if error == -errno.ENOENT:
                return
            if error:
                raise OSError(-error, f"syscript_next: {os.strerror(-error)}")
            yield info
            after = info.id
