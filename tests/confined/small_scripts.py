# SPDX-License-Identifier: GPL-2.0
"""Registers small scripts of Lua on the confined engine, and calls each of them twice.

usage: small_scripts.py N BACKEND

Prints how many run in the kernel, and how many KiB each adds to this process's memory, with the
kernel's for it if they run there.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from library import KERNEL, Info, Library

CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
SOURCE = b"local n = 0 function run(a) n = n + a return n end"


def used(kernel: bool) -> int:
    """The resident memory of this process, or that of its control group, in KiB."""
    if not kernel:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))
    group = Path("/proc/self/cgroup").read_text().split(":")[-1].strip()
    return int(Path(f"/sys/fs/cgroup{group}/memory.current").read_text()) >> 10


def register(library: Library, backend: int) -> int:
    fd, text = library.register(SOURCE, memory=65536, engine=CONFINED, backend=backend)
    assert fd >= 0, text
    return fd


def is_in_kernel(library: Library, fd: int) -> bool:
    info = Info()
    assert library.so.syscript_info(fd, ctypes.byref(info)) == 0
    return info.own()["pinned"] > 0


def main() -> None:
    n, backend, library = int(sys.argv[1]), int(sys.argv[2]), Library()
    scripts = [register(library, backend)]
    before = used(backend == KERNEL)
    scripts += [register(library, backend) for _ in range(n - 1)]
    for total in (7, 14):
        assert {library.call(fd, 7) for fd in scripts} == {(1, total)}
    inside = sum(is_in_kernel(library, fd) for fd in scripts)
    print(inside, (used(backend == KERNEL) - before) // (n - 1))


if __name__ == "__main__":
    main()
