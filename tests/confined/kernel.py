# SPDX-License-Identifier: GPL-2.0
"""The confined engine in the kernel, for tests in a guest."""

from __future__ import annotations

import ctypes
import mmap
import os

from confined import insn as i
from library import Library

ENGINE = 1
lib = Library()

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.mremap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t),
    *(ctypes.c_int, ctypes.c_void_p),
]


class Arena:
    """Memory at a multiple of its size."""

    def __init__(
        self,
        size: int = 0x10000,
        prot: int = mmap.PROT_READ | mmap.PROT_WRITE,
        flags: int = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        fd: int = -1,
    ) -> None:
        self.size = size
        place = libc.mmap(None, 2 * size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self.address = (place + size - 1) & -size
        fixed = 0x10
        assert libc.mmap(self.address, size, prot, flags | fixed, fd, 0) == self.address
        self.place = place

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        libc.munmap(self.place, 2 * self.size)

    def shared(self) -> dict[str, int]:
        return {"shared": self.address, "shared_len": self.size}

    def read(self, offset: int, n: int) -> bytes:
        return ctypes.string_at(self.address + offset, n)

    def write(self, offset: int, data: bytes) -> None:
        ctypes.memmove(self.address + offset, data, len(data))


class Mapped(Arena):
    """An arena of the module's own memory."""

    def __init__(self, size: int = 0x10000) -> None:
        device = os.open("/dev/syscript", os.O_RDWR | os.O_CLOEXEC)
        super().__init__(size, flags=mmap.MAP_SHARED, fd=device)
        os.close(device)

    def populate(self, offset: int, n: int) -> int:
        """Populates memory as a write would: 0 or errno."""
        failed = libc.madvise(self.address + offset, n, 23)  # MADV_POPULATE_WRITE
        return ctypes.get_errno() if failed else 0


def register(
    functions: list[bytes | tuple[bytes, int]], arena: Arena, native: int = 0, **options
) -> int:
    image = i.Image(functions, table=options.pop("table", ()), native=native).pack()
    fd, text = lib.register(image, engine=ENGINE, **arena.shared(), **options)
    assert fd >= 0, text
    return fd
