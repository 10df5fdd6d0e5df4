# SPDX-License-Identifier: GPL-2.0
"""System calls that generated code makes by a direct call of a thunk, on arm64.

tests/vm/test_confined.py has them with the numbers of x86-64.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from confined import insn as i
from confined.kernel import Arena, lib, libc, register

MS = 1_000_000
OPENAT, LSEEK, PREAD64, GETPPID, MMAP, OPEN = 56, 62, 67, 173, 222, 502
NATIVE = (0, 0x10000)


def called(nr: int) -> bytes:
    return i.outside(i.SYSCALL + nr)


@pytest.mark.parametrize("native", NATIVE)
def test_registers_after_a_call(native: int) -> None:
    """r1 to r5 hold nothing of the kernel; r6 to r9 are kept; r0 is the result."""
    values = {6: 0x1234567890, 7: -7, 8: 1 << 62, 9: 0x7FFFFFFF}
    code = b"".join(i.imm64(r, v) for r, v in values.items())
    code += called(GETPPID)
    for r in (2, 3, 4, 5):
        code += i.alu("or", 1, r)
    for r, v in values.items():
        code += i.imm64(5, v) + i.alu("xor", 5, r) + i.alu("or", 1, 5)
    code += i.jump_ifi("eq", 1, 0, 1) + i.movi(0, -1) + i.EXIT
    with Arena() as arena:
        fd = register([code], arena, native=native)
        assert lib.call(fd, *range(-5, 0)) == (1, os.getppid())
        os.close(fd)


@pytest.mark.parametrize("native", NATIVE)
def test_calls_of_all_lengths(native: int) -> None:
    with Arena() as arena:
        # mmap(0, 4096, r1, MAP_SHARED, r2, r3): six arguments, of which the last one matters.
        code = i.mov(0, 3) + i.mov(5, 2) + i.mov(3, 1) + i.movi(1, 0) + i.movi(2, 4096)
        code += i.movi(4, 1) + called(MMAP) + i.EXIT
        fd = register([code], arena, native=native)
        file = os.memfd_create("pages")
        os.pwrite(file, b"second", 4096)
        before = next(lib.scripts()).syscalls
        done, address = lib.call(fd, mmap.PROT_READ, file, 4096)
        assert done == 1 and ctypes.string_at(address, 6) == b"second"
        assert lib.call(fd, mmap.PROT_READ, file, 1) == (1, -errno.EINVAL)
        assert next(lib.scripts()).syscalls == before + 2
        libc.munmap(address, 4096)
        os.close(file)
        os.close(fd)


def test_addresses_of_the_kernel_are_refused() -> None:
    with Arena() as arena, Path("/proc/version").open("rb") as file:
        code = i.movi(3, 64) + i.movi(4, 0) + called(PREAD64) + i.EXIT
        fd = register([code], arena)
        assert lib.call(fd, file.fileno(), arena.address + 0x100) == (1, 64)
        assert arena.read(0x100, 5) == b"Linux"
        for address in (8, -(2**63) + 0x1000, -(2**47) + 0x1000, -4096):
            assert lib.call(fd, file.fileno(), address) == (1, -errno.EFAULT), hex(address)
        os.close(fd)


def test_old_calls() -> None:
    """open(2), which arm64 lacks, is made by machine_call(), between direct calls."""
    with Arena() as arena:
        arena.write(0x100, b"/proc/version\0")
        code = called(GETPPID) + i.arena(1, 0x100) + i.movi(2, 0) + called(OPEN) + i.mov(6, 0)
        code += called(GETPPID) + i.mov(0, 6) + i.EXIT
        fd = register([code], arena)
        done, file = lib.call(fd)
        assert done == 1 and os.read(file, 5) == b"Linux"
        os.close(file)
        os.close(fd)


@pytest.mark.parametrize("native", NATIVE)
@pytest.mark.parametrize("nr", [GETPPID, LSEEK])
def test_loops_of_calls_end(nr: int, native: int) -> None:
    """By a limit and by a signal, with the number of the call; the fuel is machine.fuel again."""
    calls = [i.movi(1, -1) + called(nr) + i.jump(-3) + i.EXIT]
    with Arena() as arena:
        fd = register(calls, arena, native=native, wall_limit_ns=50 * MS)
        assert lib.call(fd)[0] == -errno.ETIMEDOUT
        assert lib.error(fd) == "insn 1: over the wall-clock limit"
        os.close(fd)
        fd = register(calls, arena, native=native)
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert lib.call(fd)[0] == -errno.EINTR
        signal.signal(signal.SIGALRM, before)
        os.close(fd)
