# SPDX-License-Identifier: GPL-2.0
"""What the verifier of machine code refuses, and that it accepts no more than the reader."""

from __future__ import annotations

import random
import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.subject import SO, Label, Machine, RefusedError, with_facts
from unit.test_confined_code import STUBS, Reader, any_image, disassemble

SHIFT = 16
KEY = 0x5BD1E995A7C15F39
ROOM = 150  # bytes to plant in
MOVE, CLEAR = "48 89 ff", "31 c0"  # rdi = rdi; eax = 0
MASKED = "41 89 fa 41 81 e2 ff ff 00 00 "  # r10 = edi & 0xffff
LOAD = "4b 8b 44 14 08 "  # rax = [r12 + r10 + 8]
FUEL = "49 81 69 00 01 00 00 00 "


def filled(code: bytes, room: int) -> bytes:
    """Pads code with no-op instructions of 3 and 2 bytes."""
    left = room - len(code)
    assert left >= 2, "planted too much"
    twos = -left % 3
    rest = bytes.fromhex(MOVE) * ((left - 2 * twos) // 3) + bytes.fromhex(CLEAR) * twos
    assert len(code + rest) == room
    return code + rest


def label_of(text: str, at: int) -> Label:
    """The label at an offset: the generator's facts for that function, changed by @text."""
    frame = 1 << 5
    label = Label(at, 20000, frame, frame, frame, 3 << 10, depth=1, room=2, calls=True)
    return with_facts(label, text)


@contextmanager
def planting() -> Iterator[Callable[[str], str]]:
    """A function that plants code (@text in hex) and returns why it is refused.

    The code is in a function with a frame, which saves r6; two more functions follow. ":" is a
    label, ":m10,d2" one where r10 is masked and two words are pushed: see label_of().
    """
    body = i.mov(6, 6) + i.mov(1, 1) * 150 + i.call(2) + i.call_number(1)
    leaf = i.mov(0, 0) * 20 + i.EXIT
    image = i.Image([(body + i.EXIT, 64), leaf, leaf], table=(0, 1), shift=SHIFT).pack()
    with Machine(image, KEY, 2) as machine:
        address, code = machine.code()
        at = code.index(bytes.fromhex(MOVE) * 100)

        targets = {name: SO.stub(n) for n, name in enumerate(STUBS)} | {
            "barrier": SO.stub(8),
            "thunk_3": SO.stub(9 + 3),
            "thunk_6": SO.stub(9 + 6),
            "leaf": address + code.rindex(bytes.fromhex("49 81 69 00")),
            "self": address + code.index(bytes.fromhex("49 81 69 00")),
            "middle": address + at + 1,
            "start": address,
            "dispatch": address + 12,
        }

        def plant(text: str) -> str:
            planted, labels = b"", []
            for word in text.split():
                if word.startswith(":"):
                    labels.append(label_of(word, at + len(planted)))
                elif word.startswith("@"):  # the distance to it
                    to = targets[word[1:]] - (address + at + len(planted) + 4)
                    planted += struct.pack("<i", to)
                else:
                    planted += bytes.fromhex(word)
            whole = code[:at] + filled(planted, ROOM) + code[at + ROOM :]
            return machine.verify(whole, labels)

        yield plant


THUNK = "41 51 e8 @barrier 41 c7 41 3c 01 00 00 00 4d 8b 89 80 00 00 00 e8 @thunk_3 41 59 "
CLEAR_ARGS = "31 ff 31 f6 31 d2 31 c9 45 31 c0 "
THUNK_6 = THUNK.replace("41 51", "41 51 50").replace("thunk_3 41 59", "thunk_6 59 41 59")
DIVIDE = "4d 85 db 74 07 31 d2 49 f7 f3 eb 02 31 c0 "
DIVIDE_SIGNED = "4d 85 db 74 0d 49 83 fb ff 74 0b 48 99 49 f7 fb eb 07 31 c0 eb 03 48 f7 d8 "
R11 = "49 89 fb "  # r11 = rdi
POLL = "79 0b 41 bb 01 00 00 00 e8 @poll "
TRY_BEGIN = "55 53 41 55 41 56 41 57 41 ff 71 28 49 89 61 28 49 89 fa 48 89 f7 "
NONE = "instruction is not allowed"
PREFIXES = bytes.fromhex("26 2e 36 3e 64 65 66 67 f0 f2 f3 40 48")

GOOD = [
    MASKED + LOAD,
    MASKED + "43 0f b6 44 14 08",
    MASKED + "43 c7 44 14 08 03 00 00 00 4b c7 44 14 10 ff ff ff ff",  # store constants
    "49 8b 44 2c f8",  # rax = [r12 + rbp - 8]
    "53 5b",
    THUNK + CLEAR_ARGS,
    THUNK_6 + CLEAR_ARGS,
    R11 + DIVIDE,
    R11 + DIVIDE_SIGNED,
    FUEL + POLL,
    "e8 @leaf",
    "e8 @self 49 81 69 00 00 01 00 00 " + POLL,
    "41 bb 01 00 00 00 e8 @fault_stack",
    "49 8b 49 18",  # rcx = machine.user
    "83 ed 08 81 e5 ff ff 00 00",
    MASKED + "eb 01 cc :m10 " + LOAD,  # masked on all ways
    MASKED + ":m10 " + LOAD + FUEL + POLL + MASKED + "75 da",  # and around a loop
    "74 02 31 c0 : 31 c0",
    ": " + FUEL + POLL + "74 e9",
    "eb 06 cc :m10 " + LOAD + ":c19000 31 c0",  # where nothing leads
    "f0 49 01 44 2c 08",  # lock add [r12 + rbp + 8], rax
    "44 8d 57 08 41 81 e2 f8 ff 00 00 f0 4b 01 44 14 00",
    "50 74 02 31 c0 :d2 58",
    "48 8d 44 f7 08",  # lea rax, [rdi + rsi * 8 + 8]
    "48 c1 c0 0d c1 c7 05",  # rol
    MASKED + "4b 03 44 14 08 4b 33 44 14 10 4b 3b 44 14 08 4b 39 44 14 08",
    "81 e7 ff ff 00 00 49 8b 44 3c 08",  # masked in rdi itself
]

WRONG = {
    # The arena
    "4b 8b 44 14 08": "address is not masked",
    "41 89 fa 41 81 e2 ff ff 01 00 " + LOAD: "address is not masked",
    MASKED + "49 89 fa " + LOAD: "address is not masked",
    "43 c7 44 14 08 03 00 00 00": "address is not masked",
    MASKED + "43 c7 84 14 f9 8f 00 00 03 00 00 00": "offset exceeds the guard area",
    MASKED + "66 43 c7 44 14 08 03 00": NONE,
    "c7 47 08 03 00 00 00": NONE,  # a store of a constant, not to the arena
    MASKED + "49 ff c2 " + LOAD: NONE,
    MASKED + "41 83 c2 08 " + LOAD: "address is not masked",
    "49 89 fa 49 81 e2 ff ff 00 00 " + LOAD: "address is not masked",  # of 64 bits
    MASKED + "4b 8b 84 14 f9 8f 00 00": "offset exceeds the guard area",
    MASKED + "4b 8b 84 14 f7 6f ff ff": "offset exceeds the guard area",
    MASKED + "4b 8b 44 54 08": NONE,  # r10 * 2
    MASKED + "4b 8b 04 14": NONE,  # no displacement
    "49 8b 84 24 f9 8f 01 00": "offset exceeds the guard area",
    "48 8b 47 08": NONE,
    "4b 03 44 14 08": "address is not masked",
    "4b 39 44 14 08": "address is not masked",
    "81 e7 ff ff 01 00 49 8b 44 3c 08": "address is not masked",
    "81 e7 ff ff 00 00 48 ff c7": NONE,
    "81 e7 ff ff 00 00 48 83 c7 08 49 8b 44 3c 08": "address is not masked",
    MASKED + "4b 01 44 14 08": NONE,  # a read-modify-write of memory, without lock
    "48 03 47 08": NONE,
    "49 3b 41 18": NONE,
    "49 03 41 10": NONE,
    "4a 8d 44 27 08": "reads a register that may hold a kernel value",  # lea rax, [rdi + r12 + 8]
    "4b 8d 44 d3 08": "may hold a kernel value",  # lea rax, [r11 + r10 * 8 + 8]
    "48 8d 84 f7 00 00 00 00": NONE,
    "48 c1 c8 05": NONE,  # ror
    "48 c1 d0 05": NONE,  # rcl
    "48 8b 05 00 00 00 00": NONE,
    "48 8b 04 25 00 00 00 00": NONE,
    "48 89 05 00 00 00 00": NONE,
    "48 8d 05 00 00 00 00": NONE,
    "ff 15 00 00 00 00": NONE,
    # Prefixes: too many, for segments, in another order
    **{f"{byte:02x} 48 89 f8": NONE for byte in PREFIXES},
    **{f"{byte:02x} 49 8b 44 2c 08": NONE for byte in PREFIXES},
    "66 66 41 89 44 2c 08": NONE,
    "f0 f0 49 01 44 2c 08": NONE,
    "66 f0 41 01 44 2c 08": NONE,
    "41 66 89 44 2c 08": NONE,
    "48 e8 @leaf": NONE,
    "66 e8 @leaf": NONE,
    "f2 e8 @leaf": NONE,
    "3e 74 00": NONE,
    "f3 c3 cc": NONE,
    "c2 00 00 cc": NONE,
    "c4 e2 f8 f2 c7": NONE,  # andn: a VEX encoding
    MASKED + "e8 @leaf " + LOAD: "address is not masked",
    MASKED + FUEL + POLL + LOAD: "address is not masked",
    MASKED + THUNK + CLEAR_ARGS + LOAD: "address is not masked",
    "74 0a " + MASKED + ": " + LOAD: "address is not masked",  # a way around the mask
    "74 0a " + MASKED + ":m10 " + LOAD: "not masked at branch target",
    "74 0a " + MASKED + LOAD: "branch target has no label",
    ":m10 " + LOAD: "not masked at branch target",
    MASKED + ":m10 " + LOAD + "4d 89 da 75 f6": "kernel value",
    MASKED + ":m10 " + LOAD + "49 89 fa 75 f6": "not masked at branch target",
    "83 ed 08 49 8b 44 2c 00": "address is not masked",
    # Atomically
    MASKED + "f0 4b 01 44 14 08": "atomic operation may cross a cache line",
    MASKED + ":m10,e10 f0 4b 01 44 14 08": "register is not aligned",
    "44 8d 57 08 41 81 e2 fc ff 00 00 :m10,e10 f0 4b 01 44 14 00": "register is not aligned",
    "81 e7 f8 ff 00 00 e8 @leaf 81 e7 ff ff 00 00 f0 49 01 44 3c 00": "atomic operation",
    "f0 49 01 44 2c 04": "atomic operation may cross a cache line",
    MASKED + "4b 87 44 14 08": "atomic operation may cross a cache line",
    "44 8d 57 08 41 81 e2 fc ff 00 00 f0 4b 01 44 14 00": "atomic operation may cross",
    "f0 48 01 c0": NONE,
    "f0 49 8b 44 2c 08": NONE,
    "49 01 44 2c 08": NONE,  # without lock
    # Registers
    "49 89 fc": "writes a reserved register",
    "49 89 f9": "writes a reserved register",
    "48 89 fc": "writes a reserved register",
    "48 89 fd": "writes a reserved register",
    "48 83 c4 08": "reads a register that may hold a kernel value",
    "83 cd 08": "writes a reserved register",
    "48 83 ed 08": "writes a reserved register",
    "49 81 e1 ff ff 00 00": "reads a register that may hold a kernel value",
    "41 81 e1 ff ff 00 00": "reads a register that may hold a kernel value",
    "4c 89 e0": "reads a register that may hold a kernel value",
    "4c 89 c8": "reads a register that may hold a kernel value",
    "48 89 e0": "reads a register that may hold a kernel value",
    "4c 89 d0": "reads a register that may hold a kernel value",  # r10, before it is written
    "49 8d 41 00": "reads a register that may hold a kernel value",
    "83 ed 04 81 e5 ff ff 00 00": "frame offset is not a multiple of 8",
    # The machine
    "49 8b 41 20": NONE,  # machine.base
    "49 89 41 18": NONE,
    "49 c7 41 00 ff 00 00 00": NONE,
    "41 c7 41 3c 01 00 00 00": NONE,  # writes machine.pc, outside a thunk
    "4d 8b 89 80 00 00 00": NONE,
    "49 81 41 00 01 00 00 00": NONE,  # more fuel
    "49 81 69 00 00 00 00 00 " + POLL: "invalid fuel charge",
    "49 81 69 00 ff ff ff ff " + POLL: "invalid fuel charge",
    FUEL + "31 c0": NONE,
    FUEL + POLL.replace("79", "78"): NONE,
    FUEL + POLL.replace("0b", "06"): NONE,
    FUEL + POLL.replace("poll", "leaf"): "invalid fuel charge",
    "49 3b 61 10 73 0b 41 bb 01 00 00 00 e8 @fault_stack": "stack check after a push",
    "58 49 3b 61 10 73 0b 41 bb 01 00 00 00 e8 @abort": "comparison without its fault call",
    "41 3b 69 08 7d 0b 41 bb 01 00 00 00 e8 @leaf": "comparison without its fault call",
    "41 3b 69 08 7d 0b 41 bb 01 00 00 00 e8 @fault_access": "comparison without its fault call",
    "49 81 fb 00 00 01 00 76 0b 41 bb 01 00 00 00 e8 @fault_access": "kernel value",
    # The stack
    "5b": "pops the return address",
    "58 58": "pops the return address",
    "58": "pops the return address",
    "50": "stack depth differs at branch target",
    "54": "reads a register that may hold a kernel value",
    "41 51": "reads a register that may hold a kernel value",
    "41 54": "reads a register that may hold a kernel value",
    "41 52": "reads a register that may hold a kernel value",
    "50 5d": "writes a reserved register",
    "50 41 59": "writes a reserved register",
    "c3 cc": "stack depth differs at branch target",
    "c3 90": NONE,
    "50" * 12: "stack push exceeds the limit",
    "50" * 11 + THUNK + CLEAR_ARGS: "stack push exceeds the limit",
    # Branches
    "eb 01 31 c0": NONE,
    "eb 01 cc 31 c0": "branch target has no label",
    "eb fe cc": "branch target has no label",
    "74 fe": "branch target has no label",
    "eb 01 cc 31 c0 : 31 c0": "branch target has no label",
    "eb 03 cc 31 c0 : 31 c0": "unreachable code",
    "74 01 : 31 c0": "branch target has no label",
    "eb 01 90 : 31 c0": NONE,
    ": eb fe cc": "too little fuel paid",
    ": 74 fe": "too little fuel paid",
    "31 : c0": "label is not at an instruction boundary",
    "e9 @middle cc": "branch target has no label",
    "e8 @middle": "call target is not a routine",
    "e8 @start": "call target is not a routine",
    "e9 @start cc": "branch target has no label",
    "e9 @leaf cc": "stack depth differs at branch target",
    "0f 84 @leaf": "stack depth differs at branch target",
    "e8 @poll": "call target is not allowed",
    "e9 @poll cc": "call target is not allowed",
    "e9 @thunk cc": "jump target is outside the code",
    "41 bb 01 00 00 00 e9 @fault_stack 90": NONE,
    # Returns by a push and a return to the pushed address.
    "50 41 bb 01 00 00 00 e9 @fault_stack cc": "jump target is outside the code",
    "7a 00 : 31 c0": NONE,  # parity
    "0f 8b 00 00 00 00 : 31 c0": NONE,
    "ff e0": NONE,
    "ff d0": NONE,
    "41 ff 61 08": NONE,
    "f3 0f 1e fa": NONE,
    "f3 0f 1e fa 31 c0": "code contains endbr64",
    "48 b8 00 f3 0f 1e fa 00 00 00": "code contains endbr64",
    "49 8d 87 f3 0f 1e fa": "code contains endbr64",  # a displacement
    "81 c0 f3 0f 1e fa": "code contains endbr64",
    "83 ed 08 e8 @leaf": "frame register is not masked at branch target",
    "83 ed 08 74 00 : 31 c0": "frame register is not masked at branch target",
    "e8 @fault_stack": "stub would report a kernel value",
    "41 bb 01 00 00 00 e8 @fault_access": "stub would report a kernel value",
    "e8 @thunk": "stub would report a kernel value",
    "74 00 :c4000000": "too little fuel paid",
    "74 00 :c3": "more code than fuel paid for",
    # Where ways meet
    "74 01 50 : 31 c0 58": "stack depth differs at branch target",
    "74 02 50 58 :d2 31 c0": "stack depth differs at branch target",
    ":d2 31 c0": "stack depth differs at branch target",
    "58 : 50": "stack depth differs at branch target",
    "74 00 :r3": "stack check missing before branch target",
    "74 00 :r0 e8 @leaf": "call without a stack check",
    "74 00 :k0 e8 @leaf": "call without a stack check",
    "74 00 :k0 31 c0 : 31 c0": "leaf routine reaches code that calls",
    "74 00 :s10 31 c0": "register may hold a kernel value at branch target",
    "e8 @self": "more code than fuel paid for",
    # What calls leave
    "49 89 fa e8 @leaf 4c 89 d0": "reads a register that may hold a kernel value",
    "49 89 fa 41 bb 01 00 00 00 e8 @fault_stack 4c 89 d0": "may hold a kernel value",
    "81 e7 ff ff 00 00 41 bb 01 00 00 00 e8 @fault_stack 49 8b 44 3c 08": "not masked",
    "58 :d0,r2 e8 fb ff ff ff 50": "stack check missing before branch target",
    "58 :d0 e8 00 00 00 00 :d0,k0,r1,c19000 50": "too little fuel paid",
    "49 81 69 00 00 00 01 00 " + POLL + ":c4000000": "too little fuel paid",
    "e8 @dispatch": "register may hold a kernel value at branch target",
    # System calls
    "e8 @thunk_3": "call target is not allowed",
    THUNK: "reads a register",
    THUNK + CLEAR_ARGS.replace("31 ff", ""): "reads a register",
    THUNK.replace("e8 @barrier", "") + CLEAR_ARGS: "system call without a speculation barrier",
    THUNK.replace("@barrier", "@barrier 74 00") + CLEAR_ARGS: "reads a register",
    THUNK.replace("@barrier", "@leaf") + CLEAR_ARGS: "system call without a speculation barrier",
    THUNK.replace("thunk_3", "leaf") + CLEAR_ARGS: "call target is not allowed",
    THUNK.replace("4d 8b 89 80 00 00 00", "") + CLEAR_ARGS: "reads a register",
    THUNK.replace("thunk_3", "thunk_6") + CLEAR_ARGS: "system call without its sixth argument",
    THUNK.replace("41 51", "50").replace("41 59", "58") + CLEAR_ARGS: "call target|instruction is",
    THUNK[: -len("41 59 ")] + CLEAR_ARGS: "reads a register",
    THUNK.replace("41 59", "49 8b 49 18") + CLEAR_ARGS: "reads a register",
    THUNK + CLEAR_ARGS[:-1].replace("31 c0", ": 31 c0"): "reads a register|instruction boundary",
    "0f 05": NONE,
    "cd 80": NONE,
    "0f 01 f9": NONE,
    "fa": NONE,
    "f4": NONE,
    "cc": NONE,
    # Divisions
    R11 + "49 f7 f3": NONE,
    R11 + "31 d2 49 f7 f3": NONE,
    R11 + DIVIDE.replace("31 d2", "89 d2"): NONE,
    R11 + DIVIDE.replace("4d 85", "45 85"): NONE,
    R11 + DIVIDE.replace("74", "75"): "branch target has no label",
    R11 + DIVIDE.replace("f7 f3", "f7 fb"): NONE,
    R11 + DIVIDE.replace("49 f7 f3", "48 f7 f7"): NONE,
    R11 + DIVIDE_SIGNED.replace("48 99", "48 90"): NONE,
    R11 + DIVIDE_SIGNED.replace("fb ff", "fb fe"): NONE,
    DIVIDE: "reads a register that may hold a kernel value",
    R11 + DIVIDE.replace("31 d2", "31 : d2"): "label is not at an instruction boundary",
    R11 + DIVIDE.replace("49 f7", ": 49 f7"): "label is not at an instruction boundary",
    # IMAGE_CALL_TRY's routine, inlined elsewhere
    TRY_BEGIN + "e8 @leaf 41 8f 41 28 48 83 c4 28": "stack depth differs at branch target",
    "58 83 ed 08 " + TRY_BEGIN + "e8 @leaf 41 8f 41 28 48 83 c4 28": "frame register is not masked",
    "58 " + TRY_BEGIN + "e8 @middle 41 8f 41 28 48 83 c4 28": "call target is not a routine",
}
for code, why in [(c, w) for c, w in WRONG.items() if w == NONE and " f7 " in c]:
    WRONG[code] = f"{why}|branch target has no label"  # a branch that is not part of a row


@pytest.mark.parametrize("code", GOOD)
def test_accepted(code: str) -> None:
    with planting() as plant:
        assert plant(code) == ""


def test_refused() -> None:
    with planting() as plant:
        for code, why in WRONG.items():
            assert re.search(why, plant(code)), (code, why, plant(code))


def accepted_tries() -> list[int]:
    """Bits that may be changed in the routine for IMAGE_CALL_TRY, and in the entry."""
    accepted = []
    with Machine(any_image(1), KEY, 2) as machine:
        code = machine.code()[1]
        begin = code.index(bytes.fromhex("55 53 41 55"))
        for bit in [*range(4 * 8, 11 * 8), *range(begin * 8, (begin + 37) * 8)]:
            changed = bytearray(code)
            changed[bit // 8] ^= 1 << bit % 8
            if not machine.verify(bytes(changed)):
                accepted.append(bit)
    return accepted


def test_try_is_exact() -> None:
    assert accepted_tries() == []


def call_without_room() -> str:
    """Why a call is refused in a function without a stack check."""
    leaf = i.mov(1, 1) * 50 + i.EXIT
    with Machine(i.Image([leaf]).pack(), KEY) as machine:
        address, code = machine.code()
        at = code.index(bytes.fromhex(MOVE) * 50)
        start = code.index(bytes.fromhex("49 81 69 00"))
        planted = b"\xe8" + struct.pack("<i", start - at - 5) + bytes.fromhex("31 c0 31 c0")
        return machine.verify(code[:at] + planted + code[at + 9 :])


def length_without_fuel() -> str:
    """Why a function is refused that pays for less than its length."""
    with Machine(i.Image([i.mov(1, 1) * 400 + i.EXIT]).pack(), KEY) as machine:
        code = bytearray(machine.code()[1])
        at = code.index(bytes.fromhex("49 81 69 00")) + 4
        code[at : at + 4] = b"\1\0\0\0"
        return machine.verify(bytes(code))


def label_behind() -> str:
    """Why a label is refused at the end of the code."""
    with Machine(i.Image([i.EXIT]).pack(), KEY) as machine:
        code = machine.code()[1]
        return machine.verify(code, [label_of(":", len(code))])


def past_its_end() -> str:
    """Why code is refused whose last function does not return."""
    with Machine(i.Image([i.EXIT]).pack(), KEY) as machine:
        code = machine.code()[1]
        assert code.endswith(bytes.fromhex("c3 cc"))
        return machine.verify(code[:-2] + bytes.fromhex("31 c0"))


def for_another_base() -> str:
    """Why code that extends an image of another arena size is refused."""
    entry, extension = i.Image([i.EXIT], table=[0]), i.Image([i.EXIT], table=[1], flags=i.EXTENDS)
    with Machine(entry.pack()) as below:
        SO.so.subject_code(below.handle).contents.base.arena_shift += 1
        try:
            with Machine(extension.pack(), base=below):
                return ""
        except RefusedError as why:
            return str(why)


def without_landing() -> str:
    """Why code is refused that does not begin with a landing pad for indirect branches."""
    with Machine(i.Image([i.EXIT]).pack(), KEY) as machine:
        return machine.verify(bytes.fromhex("31 c0 31 c0") + machine.code()[1][4:])


def test_entry_is_landed_at() -> None:
    assert "code does not begin with endbr64" in without_landing()


def test_labels_are_in_the_code() -> None:
    assert "label is not at an instruction boundary" in label_behind()


def test_length_wants_fuel() -> None:
    assert "more code than fuel paid for" in length_without_fuel()


def test_last_functions_return() -> None:
    assert "control flow runs past the end" in past_its_end()


def test_bases_are_those_it_was_made_for() -> None:
    assert "extension of another base" in for_another_base()


def test_calls_want_room() -> None:
    assert "call without a stack check" in call_without_room()


def reader_accepts(machine: Machine, code: bytes, tmp: Path) -> bool:
    names = (*STUBS, "barrier", *7 * ("system_call",))
    stubs = {SO.stub(n): name for n, name in enumerate(names)}
    try:
        Reader(disassemble(machine.code()[0], code, tmp), machine.size, stubs).read()
    except AssertionError as wrong:
        # The verifier tracks this fact along a branch; the reader cannot.
        return "frame register is not masked at branch target" in str(wrong)
    return True


@pytest.mark.parametrize("seed", range(12))
def test_changed_code(seed: int, tmp_path: Path) -> None:
    """Code with one bit changed: whatever the verifier accepts, the reader accepts, too."""
    rng = random.Random(seed)
    refused = accepted = 0
    with Machine(any_image(seed), KEY, seed % 3) as machine:
        code = machine.code()[1]
        assert machine.verify(code) == ""
        for _ in range(3000):
            changed = bytearray(code)
            changed[rng.randrange(len(code))] ^= 1 << rng.randrange(8)
            if machine.verify(bytes(changed)):
                refused += 1
                continue
            accepted += 1
            if accepted <= 8:
                assert reader_accepts(machine, bytes(changed), tmp_path), bytes(changed).hex()
    assert refused > accepted > 0


@pytest.mark.parametrize("size", (1, 5, 12, 40))
def test_cut_off(size: int) -> None:
    """Truncated code: the verifier reads nothing past the end, and assumes nothing about it."""
    with Machine(any_image(1), KEY, 2) as machine:
        code = machine.code()[1]
        assert "machine code" in machine.verify(code[:-size] + bytes(size))


def test_targets_of_which_nothing_becomes() -> None:
    """Two jump targets at one place: the first instruction generates no code."""
    same = i.alui("end", 1, 64, wide=False)
    code = i.jump_ifi("eq", 1, 1, 1) + i.jump_ifi("eq", 1, 2, 1) + same + same + i.EXIT
    with Machine(i.Image([i.mov(0, 1) + code]).pack()) as machine:
        assert machine.run(7).value == 7


def weaknesses() -> bool:
    """Whether any of the lists above fails: for weakened.py."""
    with planting() as plant:
        wrong = any(not re.search(why, plant(code)) for code, why in WRONG.items())
        wrong = wrong or any(plant(code) for code in GOOD)
    wrong = wrong or accepted_tries() != [] or "without a stack check" not in call_without_room()
    wrong = wrong or "runs past the end" not in past_its_end() or not for_another_base()
    wrong = wrong or not label_behind() or "does not begin" not in without_landing()
    return wrong or "more code than fuel paid for" not in length_without_fuel()


def test_the_verifier_as_it_is_shows_no_weakness() -> None:
    assert not weaknesses()
