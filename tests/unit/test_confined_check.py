# SPDX-License-Identifier: GPL-2.0
"""What the checker refuses, its messages, and how long it takes."""

from __future__ import annotations

import random
import struct
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.subject import DONE, Machine, RefusedError


def refusal(image: bytes) -> str:
    with pytest.raises(RefusedError) as refused:
        Machine(image)
    return str(refused.value)


def refused_code(code: bytes, frame: int = 0, **options: int) -> str:
    return refusal(i.Image([(code + i.EXIT, frame)], **options).pack())


NOP = i.movi(0, 0)
CODES = {
    # Registers
    i.mov(10, 0): "r10 cannot be written",
    i.mov(11, 0): "r11 cannot be written",
    i.mov(0, 11): "there is no r11",
    i.load(10, 1): "r10 cannot be written",
    i.load(0, 15): "there is no r15",
    i.store(11, 0, 0): "there is no r11",
    i.store(1, 0, 12): "there is no r12",
    i.jump_if("eq", 11, 0, 0): "there is no r11",
    i.jump_if("eq", 0, 13, 0): "there is no r13",
    i.imm64(10, 0): "r10 cannot be written",
    i.atomic(i.XCHG, 1, 0, 10): "r10 cannot be written",
    i.atomic(i.FETCH, 1, 0, 10): "r10 cannot be written",
    i.call_number(11): "there is no r11",
    # Nonzero unused fields
    i.insn(i.ALU64 | i.X, 0, 1, 0, 1): "imm is 1: must be 0",
    i.insn(i.ALU64 | i.X, 0, 1, 4): "off is 4: must be 0",
    i.insn(i.ALU64, 0, 1): "src is 1: must be 0",
    i.insn(i.ALU64 | 0x80, 0, 0, 0, 3): "imm is 3: must be 0",
    i.insn(i.ALU64 | 0x30, 0, 0, 2, 3): "off is 2: must be 0 or 1",
    i.insn(i.ALU64 | 0xB0 | i.X, 0, 0, 9): "off is 9: not the width of a move",
    i.insn(i.ALU | 0xB0 | i.X, 0, 0, 32): "off is 32: not the width of a move",
    i.insn(i.ALU64 | 0xB0, 0, 0, 8, 1): "off is 8: not the width of a move",
    i.insn(i.LDX | i.MEM | i.DW, 0, 1, 0, 5): "imm is 5: must be 0",
    i.insn(i.STX | i.MEM | i.DW, 1, 1, 0, 5): "imm is 5: must be 0",
    i.insn(i.ST | i.MEM | i.DW, 1, 1): "src is 1: must be 0",
    i.insn(i.JMP, 1): "dst is 1: must be 0",
    i.insn(i.JMP, 0, 1): "src is 1: must be 0",
    i.insn(i.JMP, imm=1): "imm is 1: must be 0",
    i.insn(i.JMP32, off=1): "off is 1: must be 0",
    i.insn(i.JMP | 0x90, 1): "dst is 1: must be 0",
    i.insn(i.JMP | 0x90, imm=1): "imm is 1: must be 0",
    i.insn(i.JMP | 0x80 | i.X, 1, imm=1): "imm is 1: must be 0",
    i.insn(i.JMP | 0x80, 1, 1, 0, -1): "dst and off of a call must be 0",
    i.insn(i.JMP | 0x80, 0, 3): "src is 3: must be 0",
    i.call_base(0): "calls function 0 of a base, but the image has none",
    # Operations that do not exist
    i.insn(i.ALU64 | 0xD0, 0, 0, 0, 8): "swaps 8 bits",
    i.insn(i.ALU64 | 0xD0 | i.X, 0, 0, 0, 16): "opcode 0xdf does not exist",
    i.insn(i.ALU64 | 0xE0): "opcode 0xe7 does not exist",
    i.insn(i.ALU64 | 0x80 | i.X): "opcode 0x8f does not exist",
    i.insn(i.JMP | 0xE0): "opcode 0xe5 does not exist",
    i.insn(i.JMP32 | 0x80): "opcode 0x86 does not exist",
    i.insn(i.JMP32 | 0x90): "opcode 0x96 does not exist",
    i.insn(i.JMP | 0x90 | i.X): "opcode 0x9d does not exist",
    i.insn(i.JMP | i.X): "opcode 0x0d does not exist",
    i.insn(i.LD | 0x20): "opcode 0x20 does not exist",
    i.insn(i.LD | 0x40 | i.DW): "opcode 0x58 does not exist",
    i.insn(i.LDX | i.MEMSX | i.DW): "opcode 0x99 does not exist",
    i.insn(i.LDX | i.ATOMIC): "opcode 0xc1 does not exist",
    i.insn(i.ST | i.ATOMIC): "opcode 0xc2 does not exist",
    i.insn(i.STX | i.IMM): "opcode 0x03 does not exist",
    i.atomic(0, 1, 0, 2, 2): "opcode 0xcb does not exist",
    i.atomic(0x50 | i.FETCH, 1, 0, 2): "atomic operation 0x51 is not available",
    i.atomic(0xE0, 1, 0, 2): "atomic operation 0xe0 is not available",
    i.alui("lsh", 0, 64): "shifts 64 bits by 64",
    i.alui("rsh", 0, -1): "shifts 64 bits by -1",
    i.alui("arsh", 0, 32, wide=False): "shifts 32 bits by 32",
    # Where control goes
    i.jump(1): "jumps to 3, outside of its function (0 to 2)",
    i.jump(-3): "jumps to -1, outside of its function (0 to 2)",
    i.jump(32767): "jumps to 32769, outside of its function (0 to 2)",
    i.insn(i.JMP32, imm=0x7FFFFFFF): "jumps to 2147483649, outside of its function (0 to 2)",
    i.insn(i.JMP32, imm=-0x80000000): "jumps to -2147483646, outside of its function (0 to 2)",
    i.jump_ifi("eq", 0, 0, 5): "jumps to 7, outside of its function (0 to 2)",
    i.call(0): "calls 2, where no function starts",
    i.call(-1): "calls 1, where no function starts",
    i.call(0x7FFFFFFF): "calls 2147483649, where no function starts",
    i.outside(0): "calls 0, which does not exist",
    i.outside(6): "calls 6, which does not exist",
    i.outside(-1): "calls -1, which does not exist",
    i.outside(0xFFF): "calls 4095, which does not exist",
    i.outside(i.SYSCALL + 400): "compounds cannot make system call 400: tests do not know it",
    # Frames
    i.load(0, 10, -8): "r10-8, 8 bytes, is outside of the frame of 0 bytes",
    i.load(0, 10, 0, 1): "r10+0, 1 bytes, is outside of the frame of 0 bytes",
}


@pytest.mark.parametrize("code", CODES, ids=[f"{n} {t}" for n, t in enumerate(CODES.values())])
def test_instructions(code: bytes) -> None:
    """The second instruction is at fault; the message says so."""
    assert refused_code(NOP + code) == "insn 1: " + CODES[code]


def test_frames() -> None:
    for off, size in ((-16, 8), (-17, 1), (-3, 4), (-1, 2), (32767, 1), (-32768, 8)):
        refused_code(i.load(0, 10, off, size), 8)
        refused_code(i.store(10, off, 0, size), 8)
        refused_code(i.storei(10, off, 0, size), 8)
    text = refused_code(i.atomic(0, 10, -12, 1), 16)
    assert text == "insn 0: atomic on r10-12, which is not a multiple of 8"


def test_middles() -> None:
    two = i.imm64(0, 1)
    assert refused_code(i.jump(1) + two) == "insn 1: a jump leads into the middle of it"
    assert refused_code(two + i.jump(-2)) == "insn 2: jumps into the middle of instruction 0"
    assert (
        refused_code(i.insn(0x18)[:8] + NOP) == "insn 0: the second half has other fields than imm"
    )
    for second in (i.insn(0, 1), i.insn(0, 0, 1), i.insn(0, 0, 0, 1), i.insn(i.LDX)):
        assert "second half has other fields" in refused_code(i.insn(0x18) + second)
    half = i.Image([i.EXIT + i.insn(0x18)]).pack()
    assert refusal(half) == "insn 1: the second half is missing"
    # A number in a constant looks like the end of the function.
    fake = i.Image([i.insn(0x18) + i.insn(0, imm=0x95)]).pack()
    assert refusal(fake) == "insn 1: the function that starts at 0 runs past its end"
    function = i.Image([i.EXIT + i.insn(0x18), i.insn(0) + i.EXIT]).pack()
    assert refusal(function) == "insn 1: the second half is missing"


def test_arena_addresses() -> None:
    assert refused_code(i.arena(0, 1 << 16)) == "insn 0: the address is outside of the arena"
    assert refused_code(i.arena(0, -1)) == "insn 0: the address is outside of the arena"
    assert refused_code(i.imm64(0, 1 << 32, 1)) == "insn 0: the address is outside of the arena"
    assert refused_code(i.imm64(0, 1, 2)) == "insn 0: src is 2: must be 0 or 1"
    Machine(i.Image([i.arena(0, 0xFFFF) + i.EXIT]).pack())


def test_functions() -> None:
    for end in (NOP, i.jump_ifi("eq", 0, 0, -1), i.outside(i.CALL_THROW)):
        text = refusal(i.Image([i.EXIT, NOP + end, i.EXIT]).pack())
        assert text == "insn 2: the function that starts at 1 runs past its end"
    # A jump into another function.
    assert "outside of its function" in refusal(i.Image([i.jump(0), i.EXIT]).pack())

    def funcs(*pairs: tuple[int, int]) -> bytes:
        image = bytearray(i.Image([i.EXIT, i.EXIT, i.EXIT]).pack())
        struct.pack_into("<6I", image, 40, *(v for pair in pairs for v in pair))
        return bytes(image)

    assert refusal(funcs((1, 0), (2, 0), (2, 0))) == "function 0 does not start at 0"
    assert refusal(funcs((0, 0), (2, 0), (1, 0))) == "function 1, at 2, is not in order"
    assert refusal(funcs((0, 0), (0, 0), (1, 0))) == "function 0, at 0, is not in order"
    assert refusal(funcs((0, 0), (1, 0), (3, 0))) == "function 2, at 3, is not in order"
    assert refusal(funcs((0, 0), (1, 0), (0xFFFFFFFF, 0))).endswith("is not in order")
    assert refusal(funcs((0, 0), (1, 4), (2, 0))) == "function 1 has a frame of 4 bytes"
    assert refusal(funcs((0, 0), (1, 32776), (2, 0))) == "function 1 has a frame of 32776 bytes"


def test_table() -> None:
    assert refusal(i.Image([i.EXIT], table=[0, 1]).pack()) == "table[1] is 1: not a function"
    assert refusal(i.Image([i.EXIT], table=[0xFFFFFFFF]).pack()).startswith("table[0] is")


@pytest.mark.parametrize("n", [1, 3])
def test_what_fills_a_table_up_is_zero(n: int) -> None:
    image = bytearray(i.Image([i.EXIT], table=[0] * n).pack())
    Machine(bytes(image))
    for byte in range(4):
        changed = bytearray(image)
        changed[40 + 8 + 4 * n + byte] = 1
        assert refusal(bytes(changed)) == "the padding of the table is not zero"


HEADERS = {
    ("magic", 0): "not an image: wrong magic number",
    ("version", 1): "an image of version 1: compile it again, for version 2",
    ("version", 3): "an image of version 3: compile it again, for version 2",
    ("machine", 183): "an image for arm64 (machine 183): compile it for x86-64",
    ("machine", 0): "an image for an unknown processor (machine 0): compile it for x86-64",
    ("machine", 0xFFFF): (
        "an image for an unknown processor (machine 65535): compile it for x86-64"
    ),
    ("flags", 2): "the image extends another: pass its base",
    ("flags", 4): "unknown flags 0x4",
    ("stop", 1): "stop is at 1: not 8 bytes of the arena",
    ("stop", 1 << 20): "stop is at 1048576: not 8 bytes of the arena",
    ("ninsns", 0): "0 instructions: must be 1 to 1048576",
    ("ninsns", 1 << 20 | 1): "1048577 instructions: must be 1 to 1048576",
    ("ninsns", 0xFFFFFFFF): "4294967295 instructions: must be 1 to 1048576",
    ("ninsns", 2): "56 bytes: the header says 64",
    ("nfuncs", 0): "0 functions: must be 1 to 65536",
    ("nfuncs", 1 << 31): "2147483648 functions: must be 1 to 65536",
    ("nfuncs", 2): "56 bytes: the header says 64",
    ("ntable", 1 << 17): "a table of 131072 entries: at most 65536",
    ("ntable", 3): "56 bytes: the header says 72",
    ("arena_shift", 15): "an arena of 2^15 bytes: must be 2^16 to 2^30",
    ("arena_shift", 31): "an arena of 2^31 bytes: must be 2^16 to 2^30",
    ("arena_shift", 0xFFFF): "an arena of 2^65535 bytes: must be 2^16 to 2^30",
    ("stack_end", 0x10000): "a stack of 16384 bytes up to 65536",
    ("stack_end", 0x3FF0): "a stack of 16384 bytes up to 16368",
    ("stack_end", 0x8008): "a stack of 16384 bytes up to 32776",
    ("stack_size", 8): "a stack of 8 bytes up to 32768",
    ("native_size", 1 << 19): "native_size is 524288: at most 262144",
}


@pytest.mark.parametrize("change", HEADERS, ids=lambda change: f"{change[0]} {change[1]:x}")
def test_headers(change: tuple[str, int]) -> None:
    assert refusal(i.Image([i.EXIT], over=dict([change])).pack()) == HEADERS[change]


def test_lengths() -> None:
    image = i.Image([NOP + i.EXIT], table=[0, 0, 0]).pack()
    Machine(image)
    for length in range(len(image)):
        refusal(image[:length])
    refusal(image + bytes(8))


def test_each_bit_of_an_instruction_counts() -> None:
    """With any bit changed, the image is refused or is another valid image."""
    code = i.imm64(1, 77) + i.alu("div", 1, 2, 1) + i.load(3, 1, 8, 4) + i.store(10, -8, 3)
    code += i.atomic(i.CMPXCHG, 1, 0, 3) + i.jump_ifi("sle", 1, 5, 1) + i.call_number(1)
    code += i.alui("end", 1, 32) + i.outside(i.SYSCALL + 39) + i.EXIT
    image = i.Image([(code, 8)], table=[0, 0]).pack()
    accepted = 0
    for bit in range(len(image) * 8):
        changed = bytearray(image)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            with Machine(bytes(changed)):
                accepted += 1
        except RefusedError as refused:
            assert str(refused)
    assert accepted < len(image) * 4


BOMBS = {
    "exits": lambda n: i.Image([i.EXIT * n]),
    "jumps to the first": lambda n: i.Image([jumps(n)]),
    "functions": lambda n: i.Image([i.EXIT] * 65536),
    "table": lambda n: i.Image([i.EXIT], table=[0] * 65536),
    "calls": lambda n: i.Image([i.EXIT] * 65535 + [calls(n)]),
    "divisions": lambda n: i.Image([i.alui("div", 9, 0x12345678, 1) * (n - 1) + i.EXIT]),
    "wide constants": lambda n: i.Image([i.imm64(9, 1 << 62) * ((n - 1) // 2) + i.EXIT]),
    "checked": lambda n: i.Image([i.load(9, 8, 5, 1) * (n - 1) + i.EXIT], flags=i.CHECKED),
}


def jumps(n: int) -> bytes:
    return b"".join(i.jump(-1 - min(k, 32767)) for k in range(n))


def calls(n: int) -> bytes:
    rng = random.Random(1)
    first = 65535
    end = 1 << 20
    return b"".join(i.call(rng.randrange(65536) - k - 1) for k in range(first, end - 1)) + i.EXIT


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    """A million instructions of the most expensive kinds: checked and compiled in seconds."""
    image = BOMBS[name](1 << 20).pack()
    start = time.process_time()
    with Machine(image, 0x5BD1E995A7C15F39) as machine:
        assert time.process_time() - start < 5
        if name in ("exits", "functions", "table"):
            assert machine.run().end == DONE


def test_contexts() -> None:
    """If a call is not allowed in this context, that is its first error."""
    function, atomic = i.outside(i.FUNCTION), 4
    assert refused_code(function) == (
        "insn 0: calls a function of a subsystem, which only its programs have"
    )
    assert refused_code(i.outside(i.FUNCTION + 1000)) == refused_code(function)
    with Machine(i.Image([function + i.outside(i.FUNCTION + 63) + i.EXIT]).pack(), thunks=atomic):
        pass
    for call in (i.SYSCALL, i.SYSCALL + 4000, i.CALL_SYSCALL, i.CALL_BATCH):
        with pytest.raises(RefusedError) as refused:
            Machine(i.Image([i.outside(call) + i.EXIT]).pack(), thunks=atomic)
        assert str(refused.value) == (
            "insn 0: makes a system call, which only scripts of a process do"
        )
    with pytest.raises(RefusedError, match="calls function 64: must be below 64"):
        Machine(i.Image([i.outside(i.FUNCTION + 64) + i.EXIT]).pack(), thunks=atomic)
