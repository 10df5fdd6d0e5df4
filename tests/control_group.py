# SPDX-License-Identifier: GPL-2.0
"""A control group with a BPF program, for tests in a guest."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
SKB, SOCKOPT = 8, 25  # types of programs
INGRESS, EGRESS, SETSOCKOPT = 0, 1, 22  # where they are attached


def bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, 128)
    ret = LIBC.syscall(321, command, buffer, len(buffer))
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


@contextmanager
def control_group() -> Iterator[int]:
    """This process and its new sockets are in a group of their own."""
    group = Path("/sys/fs/cgroup/refusing")
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    directory = os.open(group, os.O_RDONLY)
    try:
        yield directory
    finally:
        os.close(directory)
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


@contextmanager
def attached(group: int, kind: int, where: int, verdict: int) -> Iterator[None]:
    """Attach a program to the group that always returns this verdict."""
    text = struct.pack("<BBHiBBHi", 0xB7, 0, 0, verdict, 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(text)
    licence = ctypes.create_string_buffer(b"GPL")
    # BPF_PROG_LOAD, BPF_PROG_ATTACH and _DETACH.
    program = bpf(
        5,
        struct.pack("IIQQ44xI", kind, 2, ctypes.addressof(code), ctypes.addressof(licence), where),
    )
    attributes = struct.pack("IIII", group, program, where, 0)
    bpf(8, attributes)
    try:
        yield
    finally:
        bpf(9, attributes)
        os.close(program)
