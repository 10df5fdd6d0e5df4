# SPDX-License-Identifier: GPL-2.0
"""Programs for subsystems, by the requests of uapi/syscript.h."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from confined import insn as i

DEVICE = "/dev/syscript"
LOAD, UNLOAD, PROGRAM, INVOKE = 0xC0F0CA45, 0xC038CA46, 0xC180CA47, 0xC090CA48
LOAD_STATES = 0xC108CA45
EVENTS = 0xC138CA49
TABLE, RING = 1, 2
NEW, FALLBACK = 1, 2
DROP, ACCEPT, REJECT, QUEUE = range(4)
VIEW = 40  # sizeof(struct syscript_packet)
# A user's own namespaces, in which they may load programs.
OWN = ["unshare", "--user", "--map-root-user", "--net"]


def possible_cpus() -> int:
    return int(Path("/sys/devices/system/cpu/possible").read_text().split("-")[-1]) + 1


def image(functions: list[bytes | tuple[bytes, int]], **options) -> bytes:
    """1 KiB of stack per CPU, and no data below 0x4000."""
    options = {"stack_size": 1024, "stack_end": 0x4000 + 1024 * possible_cpus()} | options
    return i.Image(functions, native=options.pop("native", 512), **options).pack()


def references() -> int:
    """References to the module: one for each program, and for its subsystem."""
    module = Path("/sys/module/syscript")
    return int((module / "refcnt").read_text()) - len(list((module / "holders").iterdir()))


@dataclass
class Program:
    """struct syscript_program."""

    id: int
    uid: int
    state: int
    engine: int
    format: int
    machine: int
    errors_max: int
    fallback: int
    loads: int
    calls: int
    errors: int
    defaults: int
    run_time: int
    memory: int
    mcode: int
    name: str
    subsystem: str
    where: str
    error: str


def request(number: int, argument: bytearray, device: str = DEVICE) -> int:
    """0 or -errno."""
    fd = os.open(device, os.O_RDWR)
    try:
        return fcntl.ioctl(fd, number, argument)
    except OSError as error:
        return -error.errno
    finally:
        os.close(fd)


def table(
    name: str = "shared",
    entries: int = 64,
    keys: int = 8,
    value: int = 8,
    age: int = 0,
    fields: str = "n",
    kind: int = TABLE,
    zero: int = 0,
) -> bytes:
    """struct syscript_state."""
    return struct.pack(
        "<6I32s256s", kind, entries, keys, value, age, zero, name.encode(), fields.encode()
    )


def open_ring(name: str = "ring") -> tuple[int, int, str]:
    """The ring's descriptor or -errno, the bytes of a record, and its fields."""
    argument = bytearray(struct.pack("<II32s256s16x", 0, 0, name.encode(), b""))
    fd = request(EVENTS, argument)
    (size,) = struct.unpack_from("<I", argument, 4)
    return fd, size, argument[40:296].partition(b"\0")[0].decode()


def load(
    code: bytes,
    name: str = "filter",
    where: str = "inet input",
    subsystem: str = "netfilter",
    data: bytes = b"",
    functions: tuple[str, ...] = (),
    copies: int = 64,
    errors_max: int = 0,
    flags: int = 0,
    fallback: int = 0,
    engine: int = 1,
    memory: int = 0,
    device: str = DEVICE,
    lines: bytes = b"",
    data_at: int = 0,
    states: tuple[bytes, ...] = (),
    nstates: int | None = None,
) -> tuple[int, str]:
    """0 or -errno, and the message; @data_at: an address instead of @data's; @nstates: a number
    instead of that of @states."""
    text = ctypes.create_string_buffer(256)
    names = b"".join(f.encode() + b"\0" for f in functions)
    parts = (code, data, names, lines, b"".join(states))
    buffers = [ctypes.create_string_buffer(b, len(b) or 1) for b in parts]
    at = [ctypes.addressof(b) for b in buffers]
    argument = bytearray(
        struct.pack(
            "<4I4Q2QIIIIqQ32s32s64sQQ",
            *(flags, 256, engine, 0, at[0], len(code), memory, data_at or at[1]),
            *(len(data), at[2]),
            *(len(names), copies, errors_max, 0, fallback, ctypes.addressof(text)),
            *(name.encode(), subsystem.encode(), where.encode(), at[3], len(lines)),
        )
    )
    if states or nstates:
        n = len(states) if nstates is None else nstates
        argument += struct.pack("<QQII", 0, at[4], n, 0)
    number = LOAD_STATES if states or nstates else LOAD
    return request(number, argument, device), text.value.decode()


def unload(name: str = "filter") -> int:
    return request(UNLOAD, bytearray(struct.pack("<8x32s16x", name.encode())))


def invoke(name: str, *args: int, device: str = DEVICE) -> tuple[int, str, int]:
    """0 or -errno, the message, and the result."""
    text = ctypes.create_string_buffer(256)
    argument = bytearray(
        struct.pack(
            "<4IQ32s8qq16x",
            *(0, len(args), 256, 0, ctypes.addressof(text), name.encode()),
            *[*args, *[0] * (8 - len(args))],
            0,
        )
    )
    status = request(INVOKE, argument, device)
    return status, text.value.decode(), struct.unpack_from("<q", argument, 120)[0]


def programs() -> list[Program]:
    found: list[Program] = []
    last = 0
    while True:
        argument = bytearray(384)
        struct.pack_into("<Q", argument, 0, last)
        status = request(PROGRAM, argument)
        if status == -errno.ENOENT:
            return found
        assert not status
        numbers = struct.unpack_from("<Q6Iq7Q", argument)
        texts = struct.unpack_from("<32s32s64s128s", argument, 96)
        found.append(Program(*numbers, *(t.partition(b"\0")[0].decode() for t in texts)))
        last = numbers[0]


ROOT = Path(__file__).resolve().parents[1]


def compiled(name: str) -> str:
    """The object of a program in C: make guest-programs (tests/build.mk) compiles them."""
    return str(ROOT / "build" / "tests" / "programs" / f"{name}.o")


def verdict(number: int) -> bytes:
    return i.movi(0, number) + i.EXIT


def drop_port(port: int) -> bytes:
    """Drops UDP of either family to a port, read through the packet's copy."""
    body = [
        i.load(2, 1, 24, 1),  # transport
        i.jump_ifi("ne", 2, 17, 7),
        i.load(3, 1, 26, 2),  # l4
        i.alu("add", 3, 1),
        i.load(2, 3, VIEW + 2, 2),
        i.insn(0xDC, 2, 0, 0, 16),  # to host byte order
        i.jump_ifi("ne", 2, port, 2),
        i.movi(0, DROP),
        i.EXIT,
        i.movi(0, ACCEPT),
        i.EXIT,
    ]
    return b"".join(body)
