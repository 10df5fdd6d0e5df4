# SPDX-License-Identifier: GPL-2.0
"""libsyscript for tests that make thousands of calls from one process."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build"
KERNEL = 1  # SYSCRIPT_BACKEND_KERNEL


class Options(ctypes.Structure):
    """struct syscript_options of lib/syscript.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("flags", ctypes.c_uint32),
        ("backend", ctypes.c_int),
        ("memory_limit", ctypes.c_uint64),
        ("time_limit_ns", ctypes.c_uint64),
    ]


COUNTERS = (
    *("memory_limit", "time_limit", "memory", "memory_peak", "mcode", "calls", "errors"),
    *("kills", "run_time", "syscalls", "traces", "preempt_max"),
)


class Info(ctypes.Structure):
    """struct syscript_info of include/uapi/syscript.h."""

    _fields_ = [
        ("id", ctypes.c_uint64),
        ("pid", ctypes.c_int32),
        ("uid", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("name", ctypes.c_char * 32),
        *((name, ctypes.c_uint64) for name in COUNTERS),
        ("reserved", ctypes.c_uint64 * 4),
    ]

    def __repr__(self) -> str:
        return f"script {self.id} of process {self.pid}, {self.calls} calls"


class Library:
    """The calls that tests make, in the kernel backend."""

    def __init__(self) -> None:
        self.so = ctypes.CDLL(str(BUILD / "libsyscript.so"))

    def register(self, source: bytes, memory: int, flags: int = 0) -> tuple[int, str]:
        error = ctypes.create_string_buffer(512)
        options = Options(
            size=ctypes.sizeof(Options),
            name=b"test",
            flags=flags,
            backend=KERNEL,
            memory_limit=memory,
            time_limit_ns=10_000_000_000,
        )
        fd = self.so.syscript_register(
            source, len(source), ctypes.byref(options), error, len(error)
        )
        return fd, error.value.decode(errors="replace")

    def call(self, fd: int) -> tuple[int, int]:
        result = ctypes.c_int64(0)
        count = self.so.syscript_call(fd, 0, None, 1, ctypes.byref(result))
        return count, result.value

    def error(self, fd: int) -> str:
        buffer = ctypes.create_string_buffer(512)
        self.so.syscript_error(fd, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    def scripts(self) -> Iterator[Info]:
        """The live scripts that this process may see, as `syscript list` finds them."""
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
