# SPDX-License-Identifier: GPL-2.0
"""The confined engine in this process: subject.c."""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confined.remote import Remote
from library import Library

KERNEL = "SYSCRIPT_GUEST" in os.environ
REMOTE = os.environ.get("CONFINED_REMOTE")  # the command of remote.py
BUILT = Path(__file__).resolve().parents[2] / "build" / "tests" / "confined" / "subject.so"
LIBRARY = Path(os.environ.get("CONFINED_SUBJECT", BUILT))
DONE, STACK, FUNCTION, THROW, ACCESS, ABORT, STOP = range(7)
WAYS = {"interpreted": 0, "machine code": 1}
MASK = (1 << 64) - 1
CALLS_MAX = 64


def signed(v: int) -> int:
    return (v + (1 << 63)) % (1 << 64) - (1 << 63)


class Run(ctypes.Structure):
    """struct machine of engine/confined/machine.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("fuel", "stack")),
        *((name, ctypes.c_uint64) for name in ("native", "user", "base", "try_sp")),
        ("home", ctypes.c_uint64),
        ("end", ctypes.c_uint32),
        ("pc", ctypes.c_uint32),
        ("value", ctypes.c_uint64),
        ("args", ctypes.c_uint64 * 5),
    ]


class Call(ctypes.Structure):
    _fields_ = [("what", ctypes.c_uint32), ("args", ctypes.c_uint64 * 6)]


class Label(ctypes.Structure):
    """struct verify_label of engine/confined/verify_code.h."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("at", "credit")),
        *((name, ctypes.c_uint16) for name in ("masked", "by4", "by8", "unset")),
        *((name, ctypes.c_uint8) for name in ("depth", "room")),
        ("calls", ctypes.c_bool),
    ]


def with_facts(label: Any, text: str) -> Any:
    """A label of any architecture with some facts: "m10,d2" masks r10 and pushes two words."""
    for letter, value in re.findall(r"([a-z])(\d+)", text):
        number = int(value)
        match letter:
            case "m":
                label.masked |= 1 << number
            case "e":
                label.by8 |= 1 << number
                label.by4 |= 1 << number
            case "s":
                label.unset &= ~(1 << number)
            case "d":
                label.depth = number
            case "r":
                label.room = number
            case "k":
                label.calls = number
            case "c":
                label.credit = number
    return label


class Base(ctypes.Structure):
    """struct verify_base of engine/confined/verify_code.h."""

    _fields_ = [
        ("exec", ctypes.c_uint64),
        ("arena_shift", ctypes.c_uint32),
        ("labels", ctypes.c_void_p),
        ("nlabels", ctypes.c_uint32),
    ]


class Code(ctypes.Structure):
    """The beginning of struct code of engine/confined/user/memory.h."""

    _fields_ = [
        ("exec", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
        ("size", ctypes.c_uint32),
        ("base", Base),
    ]


class RefusedError(Exception):
    """The checker's message."""


@dataclass
class Result:
    end: int
    value: int
    text: str
    calls: list[tuple[int, tuple[int, ...]]]


def library() -> ctypes.CDLL:
    so = ctypes.CDLL(str(LIBRARY))
    so.subject_load.restype = ctypes.c_void_p
    so.subject_load.argtypes = [
        *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p),
        *(ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t),
    ]
    so.subject_run.restype = ctypes.POINTER(Run)
    so.subject_run.argtypes = [
        *(ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64 * 5, ctypes.c_uint32),
    ]
    so.subject_calls.restype = ctypes.POINTER(Call)
    so.subject_calls.argtypes = [
        *(ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64),
    ]
    so.subject_charges.restype = ctypes.POINTER(ctypes.c_uint16)
    so.subject_charges.argtypes = so.subject_polls.argtypes = [ctypes.c_void_p]
    so.subject_watch.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    so.subject_polls.restype = ctypes.c_uint32
    so.subject_arena.restype = so.subject_stub.restype = ctypes.c_void_p
    so.subject_arena.argtypes = so.subject_free.argtypes = [ctypes.c_void_p]
    so.subject_code.restype = ctypes.POINTER(Code)
    so.subject_code.argtypes = [ctypes.c_void_p]
    so.subject_verify.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32),
        *(ctypes.c_char_p, ctypes.c_size_t),
    ]
    so.subject_text.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    return so


class Local:
    """The functions of subject.c, in this process."""

    def __init__(self) -> None:
        self.so = library()

    def load(self, image: bytes, base: int, place: int, key: int, thunks: int) -> tuple[int, str]:
        """The handle, or 0 and the reason."""
        error = ctypes.create_string_buffer(256)
        handle = self.so.subject_load(
            image, len(image), base, place, key, thunks, error, len(error)
        )
        return handle or 0, error.value.decode()

    def free(self, handle: int) -> None:
        self.so.subject_free(handle)

    def arena(self, handle: int, size: int) -> tuple[int, ctypes.Array[ctypes.c_char]]:
        address = self.so.subject_arena(handle)
        return address, (ctypes.c_char * size).from_address(address)

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def write(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def code(self, handle: int) -> tuple[int, bytes]:
        """Its address, and its bytes."""
        code = self.so.subject_code(handle).contents
        return code.exec, ctypes.string_at(code.exec, code.size)

    def run(self, handle: int, how: int, args: Sequence[int], polls: int) -> Run:
        return self.so.subject_run(handle, how, (ctypes.c_uint64 * 5)(*args), polls).contents

    def calls(self, handle: int, next_result: int) -> list[Call]:
        n = ctypes.c_uint32()
        calls = self.so.subject_calls(handle, n, next_result)
        return calls[: min(n.value, CALLS_MAX)]

    def charges(self, handle: int, n: int) -> list[int]:
        return self.so.subject_charges(handle)[:n]

    def polls(self, handle: int) -> int:
        return self.so.subject_polls(handle)

    def watch(self, handle: int, offset: int) -> None:
        self.so.subject_watch(handle, offset)

    def verify(self, handle: int, code: bytes, labels: bytes, n: int) -> tuple[int, str]:
        error = ctypes.create_string_buffer(256)
        result = self.so.subject_verify(handle, code, labels, n, error, len(error))
        return result, error.value.decode()

    def text(self, handle: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.so.subject_text(handle, text, len(text))
        return text.value.decode()

    def stub(self, n: int) -> int:
        """The address of a stub, in the order of subject_stub()."""
        return self.so.subject_stub(n) or 0


def subject_library() -> Local | Remote | None:
    """None before it is built."""
    if REMOTE:
        return Remote(REMOTE, Run, Call)
    return Local() if LIBRARY.exists() else None


SO = subject_library()


class Machine:
    """An accepted image."""

    def __init__(
        self,
        image: bytes,
        key: int = 0,
        thunks: int = 0,
        base: Machine | None = None,
        place: int = 0,
    ) -> None:
        """@thunks: 1 with thunks for system calls, 2 and barriers; do not run it. 4: atomic.

        @place: address of the arena, 0 for anywhere.
        """
        self.base = base
        self.handle, error = SO.load(image, base.handle if base else 0, place, key, thunks)
        if not self.handle:
            raise RefusedError(error)
        self.size = 1 << int.from_bytes(image[20:22], "little")
        self.address, self.arena = SO.arena(self.handle, self.size)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        SO.free(self.handle)

    def write(self, offset: int, values: Sequence[int], size: int = 8) -> None:
        data = b"".join((v % (1 << 8 * size)).to_bytes(size, "little") for v in values)
        SO.write(self.address + offset, data)

    def read(self, offset: int, n: int = 1, size: int = 8) -> list[int]:
        data = SO.read(self.address + offset, n * size)
        return [int.from_bytes(data[i * size : i * size + size], "little") for i in range(n)]

    def code(self) -> tuple[int, bytes]:
        """The address of the machine code, and the code."""
        return SO.code(self.handle)

    def charges(self, n: int) -> list[int]:
        """checked.charges of engine/confined/validate_image.h."""
        return SO.charges(self.handle, n)

    def watch(self, offset: int) -> None:
        """Polls the clock only if the word at @offset in the arena is odd."""
        SO.watch(self.handle, offset)

    def looks(self, *args: int, how: str = "machine code", limit: int = 1 << 20) -> int:
        """How often a run polls the clock."""
        result = self.run(*args, how=how, polls=limit)
        assert result.end == DONE, result
        return limit - SO.polls(self.handle)

    def verify(self, code: bytes, labels: Sequence[Label] = ()) -> str:
        """The verifier's reason to refuse @code in place of the machine code, or ""."""
        more = b"".join(bytes(label) for label in labels)
        result, error = SO.verify(self.handle, code, more, len(labels))
        assert result in (0, -errno.EINVAL, -errno.EAGAIN), os.strerror(-result)
        return error if result else ""

    def run(
        self, *args: int, how: str = "machine code", polls: int = 100, result: int = 0
    ) -> Result:
        """System calls return @result; the run stops at its (@polls + 1)th poll of the clock."""
        values = [a & MASK for a in (*args, *(0,) * (5 - len(args)))]
        SO.calls(self.handle, result & MASK)
        run = SO.run(self.handle, WAYS[how], values, polls)
        end, value = run.end, run.value
        text = SO.text(self.handle) if end != DONE else ""
        calls = [(call.what, tuple(call.args)) for call in SO.calls(self.handle, 0)]
        return Result(end, value, text, calls)


def run_in_kernel(image: bytes, machine: Machine, args: tuple[int, ...]) -> Result:
    """Like Machine.run(), in the kernel; the image must make no system calls."""
    lib = Library()
    fd, text = lib.register(image, engine=1, shared=machine.address, shared_len=machine.size)
    assert fd >= 0, text
    count, value = lib.call(fd, *(signed(a) for a in args))
    text = lib.error(fd) if count < 0 else ""
    os.close(fd)
    assert count == 1 or count == -errno.EPROTO, (count, text)
    return Result(DONE if count == 1 else -1, value & MASK, text, [])


def check_kernel(image: bytes, args: tuple[int, ...]) -> None:
    """The kernel gives the interpreter's results, with the same arena afterwards."""
    with Machine(image) as machine:
        want = machine.run(*args, how="interpreted")
        arena = bytes(machine.arena)
        machine.arena[:] = bytes(machine.size)
        result = run_in_kernel(image, machine, args)
        assert bytes(machine.arena) == arena
    if want.end == DONE:
        assert (result.end, result.value) == (DONE, want.value), (result, want)
    else:
        assert result.text == want.text, (result, want)


def run_all(image: bytes, *args: int, polls: int = 100, result: int = 0) -> Result:
    """Runs @image on each engine, and blinded, and in the kernel; all must agree."""
    results = []
    for key in (0, 0x5BD1E995A7C15F39):
        with Machine(image, key) as machine:
            for how in WAYS:
                machine.arena[:] = bytes(machine.size)
                results.append(machine.run(*args, how=how, polls=polls, result=result))
    assert all((r.end, r.text) == (results[0].end, results[0].text) for r in results), results
    if results[0].end != STOP:
        assert all(r == results[0] for r in results), results
        if KERNEL and not results[0].calls and polls == 100:
            check_kernel(image, args)
    return results[0]
