# SPDX-License-Identifier: GPL-2.0
"""Builds images by hand: include/uapi/syscript_image.h for Python."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MAGIC = 0x79736F43
CHECKED, EXTENDS = 1, 2
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)
W, H, B, DW = 0x00, 0x08, 0x10, 0x18
SIZES = {1: B, 2: H, 4: W, 8: DW}
IMM, MEM, MEMSX, ATOMIC = 0x00, 0x60, 0x80, 0xC0
X = 0x08
OPS = {
    **{"add": 0x00, "sub": 0x10, "mul": 0x20, "div": 0x30, "or": 0x40, "and": 0x50},
    **{"lsh": 0x60, "rsh": 0x70, "neg": 0x80, "mod": 0x90, "xor": 0xA0, "mov": 0xB0},
    **{"arsh": 0xC0, "end": 0xD0},
}
JUMPS = {
    **{"eq": 0x10, "gt": 0x20, "ge": 0x30, "set": 0x40, "ne": 0x50, "sgt": 0x60},
    **{"sge": 0x70, "lt": 0xA0, "le": 0xB0, "slt": 0xC0, "sle": 0xD0},
}
FETCH, XCHG, CMPXCHG = 0x01, 0xE1, 0xF1
ARENA = LOCAL = 1
BASE = 2
CALL_SYSCALL, CALL_TRY, CALL_THROW, CALL_ABORT, CALL_BATCH = 1, 2, 3, 4, 5
BATCH_USE = 28
SYSCALL = 0x1000
FUNCTION = 0x2000


def machine() -> int:
    """image_header.machine: arm64 where tests run there, or by remote.py."""
    return 183 if "CONFINED_REMOTE" in os.environ or os.uname().machine == "aarch64" else 62


def insn(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    imm = (imm + (1 << 31)) % (1 << 32) - (1 << 31)
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


def alu(op: str, dst: int, src: int, off: int = 0, wide: bool = True) -> bytes:
    return insn((ALU64 if wide else ALU) | OPS[op] | X, dst, src, off)


def alui(op: str, dst: int, imm: int, off: int = 0, wide: bool = True) -> bytes:
    return insn((ALU64 if wide else ALU) | OPS[op], dst, 0, off, imm)


def mov(dst: int, src: int) -> bytes:
    return alu("mov", dst, src)


def movi(dst: int, imm: int) -> bytes:
    """Any 64 bits."""
    if -(1 << 31) <= imm < 1 << 31:
        return alui("mov", dst, imm)
    return imm64(dst, imm)


def imm64(dst: int, imm: int, src: int = 0) -> bytes:
    return insn(LD | DW | IMM, dst, src, 0, imm) + insn(0, imm=imm >> 32)


def arena(dst: int, offset: int) -> bytes:
    return imm64(dst, offset, ARENA)


def load(dst: int, base: int, off: int = 0, size: int = 8, signed: bool = False) -> bytes:
    return insn(LDX | SIZES[size] | (MEMSX if signed else MEM), dst, base, off)


def store(base: int, off: int, src: int, size: int = 8) -> bytes:
    return insn(STX | SIZES[size] | MEM, base, src, off)


def storei(base: int, off: int, imm: int, size: int = 8) -> bytes:
    return insn(ST | SIZES[size] | MEM, base, 0, off, imm)


def atomic(op: int, base: int, off: int, src: int, size: int = 8) -> bytes:
    return insn(STX | SIZES[size] | ATOMIC, base, src, off, op)


def jump(off: int) -> bytes:
    return insn(JMP, off=off)


def jump_if(op: str, dst: int, src: int, off: int, wide: bool = True) -> bytes:
    return insn((JMP if wide else JMP32) | JUMPS[op] | X, dst, src, off)


def jump_ifi(op: str, dst: int, imm: int, off: int, wide: bool = True) -> bytes:
    return insn((JMP if wide else JMP32) | JUMPS[op], dst, 0, off, imm)


def call(off: int) -> bytes:
    """Calls the function that starts @off instructions after the next one."""
    return insn(JMP | 0x80, src=LOCAL, imm=off)


def call_base(function: int) -> bytes:
    """Calls function @function of the image's base."""
    return insn(JMP | 0x80, src=BASE, imm=function)


def call_number(reg: int) -> bytes:
    return insn(JMP | 0x80 | X, reg)


def outside(what: int) -> bytes:
    return insn(JMP | 0x80, imm=what)


EXIT = insn(JMP | 0x90)


@dataclass
class Image:
    """Functions as lists of instructions, or as (instructions, frame)."""

    functions: Sequence[bytes | tuple[bytes, int]]
    table: Sequence[int] = ()
    flags: int = 0
    shift: int = 16
    stack_end: int = 0x8000
    stack_size: int = 0x4000
    native: int = 0
    over: dict[str, int] = field(default_factory=dict)

    def starts(self) -> Iterable[tuple[int, int, bytes]]:
        start = 0
        for function in self.functions:
            code, frame = function if isinstance(function, tuple) else (function, 0)
            yield start, frame, code
            start += len(code) // 8

    def pack(self) -> bytes:
        funcs = b"".join(struct.pack("<II", start, frame) for start, frame, _ in self.starts())
        insns = b"".join(code for _, _, code in self.starts())
        header = {
            "magic": MAGIC,
            "version": 2,
            "flags": self.flags,
            "ninsns": len(insns) // 8,
            "nfuncs": len(self.functions),
            "ntable": len(self.table),
            "arena_shift": self.shift,
            "machine": machine(),
            "stack_end": self.stack_end,
            "stack_size": self.stack_size,
            "native_size": self.native,
            "stop": 0,
        } | self.over
        table = struct.pack(f"<{len(self.table)}I", *self.table) + bytes(len(self.table) % 2 * 4)
        return struct.pack("<IHHIIIHHIIII", *header.values()) + funcs + table + insns
