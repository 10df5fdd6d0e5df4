# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The frequency of this machine's TSC, which an emulated guest reads as its own.

A guest that calibrates it on a busy machine may be wrong by a factor of 4: its clock then runs
fast, and time limits end what has had little time.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import time

READ_TSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32,%rdx; or %rdx,%rax; ret
MEASURED, TRIES = 0.1, 50  # s; pairs of readings, of which the closest counts


def frequency_khz() -> int | None:
    """None if it cannot be measured."""
    if platform.machine() != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError:
        return None
    code.write(READ_TSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def reading() -> tuple[int, int, int]:
        """How long it took at most, in ns; the time; and the TSC."""
        before, ticks, after = time.monotonic_ns(), read(), time.monotonic_ns()
        return after - before, (before + after) // 2, ticks

    _, since, first = min(reading() for _ in range(TRIES))
    time.sleep(MEASURED)
    _, until, last = min(reading() for _ in range(TRIES))
    return round((last - first) * 1_000_000 / (until - since))
