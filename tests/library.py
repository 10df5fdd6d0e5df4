# SPDX-License-Identifier: GPL-2.0
"""libsyscript for tests that make thousands of calls from one process."""

from __future__ import annotations

import ctypes
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
