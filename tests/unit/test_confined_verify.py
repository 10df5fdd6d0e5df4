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
from confined.subject import SO, Machine
from unit.test_confined_code import STUBS, Reader, any_image, disassemble

SHIFT = 16
KEY = 0x5BD1E995A7C15F39
ROOM = 150  # bytes to plant in
MOVE, CLEAR = "48 89 ff", "31 c0"  # rdi = rdi; eax = 0
MASKED = "41 89 fa 41 81 e2 ff ff 00 00 "  # r10 = edi & 0xffff
LOAD = "4b 8b 44 14 08 "  # rax = [r12 + r10 + 8]
FUEL = "49 81 69 00 01 00 00 00 "


def filled(code: bytes, room: int) -> bytes:
    """With instructions that do nothing, of 3 bytes and of 2."""
    left = room - len(code)
    assert left >= 2, "planted too much"
    twos = -left % 3
    rest = bytes.fromhex(MOVE) * ((left - 2 * twos) // 3) + bytes.fromhex(CLEAR) * twos
    assert len(code + rest) == room
    return code + rest


@contextmanager
def planting() -> Iterator[Callable[[str], str]]:
    """A function that says why code is refused in which @text, in hex, is planted.

    In a function with a frame, which saves r6; two more functions follow.
    """
    body = i.mov(6, 6) + i.mov(1, 1) * 150 + i.call(2) + i.call_number(1)
    leaf = i.mov(0, 0) * 20 + i.EXIT
    image = i.Image([(body + i.EXIT, 64), leaf, leaf], table=(0, 1), shift=SHIFT).pack()
    with Machine(image, KEY, 2) as machine:
        address, code = machine.code()
        at = code.index(bytes.fromhex(MOVE) * 100)

        targets = {name: SO.subject_stub(n) for n, name in enumerate(STUBS)} | {
            "barrier": SO.subject_stub(7),
            "gate_3": SO.subject_stub(8 + 3),
            "gate_6": SO.subject_stub(8 + 6),
            "leaf": address + code.rindex(bytes.fromhex("49 81 69 00")),
            "self": address + code.index(bytes.fromhex("49 81 69 00")),
            "middle": address + at + 1,
            "start": address,
            "dispatch": address + 11,
        }

        def plant(text: str) -> str:
            planted = b""
            for word in text.split():
                if word.startswith("@"):  # the distance to it
                    to = targets[word[1:]] - (address + at + len(planted) + 4)
                    planted += struct.pack("<i", to)
                else:
                    planted += bytes.fromhex(word)
            return machine.verify(code[:at] + filled(planted, ROOM) + code[at + ROOM :])

        yield plant


GATE = "41 51 e8 @barrier 41 c7 41 3c 01 00 00 00 4d 8b 89 80 00 00 00 e8 @gate_3 41 59 "
CLEARED = "31 ff 31 f6 31 d2 31 c9 45 31 c0 "
GATE_6 = GATE.replace("41 51", "41 51 50").replace("gate_3 41 59", "gate_6 59 41 59")
DIVIDE = "4d 85 db 74 05 31 d2 49 f7 f3 "
DIVIDE_SIGNED = "4d 85 db 74 0b 49 83 fb ff 74 05 48 99 49 f7 fb "
R11 = "49 89 fb "  # r11 = rdi
POLL = "79 0b 41 bb 01 00 00 00 e8 @poll "

GOOD = [
    MASKED + LOAD,
    MASKED + "43 0f b6 44 14 08",
    "49 8b 44 2c f8",  # rax = [r12 + rbp - 8]
    "53 5b",
    GATE + CLEARED,
    GATE_6 + "31 ff 31 f6 31 d2 45 31 c0",
    R11 + DIVIDE,
    R11 + DIVIDE_SIGNED,
    FUEL + POLL,
    "e8 @leaf",
    "e8 @self",
    "41 bb 01 00 00 00 e8 @fault_stack",
    "49 8b 49 18",  # rcx = machine.user
    "83 ed 08 81 e5 ff ff 00 00",
    MASKED + "eb 00 " + LOAD,  # masked on all ways
    "f0 49 01 44 2c 08",  # lock add [r12 + rbp + 8], rax
    "44 8d 57 08 41 81 e2 f8 ff 00 00 f0 4b 01 44 14 00",
]

WRONG = {
    # The arena
    "4b 8b 44 14 08": "the address is not masked",
    "41 89 fa 41 81 e2 ff ff 01 00 " + LOAD: "the address is not masked",
    MASKED + "49 89 fa " + LOAD: "the address is not masked",
    MASKED + "49 ff c2 " + LOAD: "no instruction that may be here",
    MASKED + "41 83 c2 08 " + LOAD: "the address is not masked",
    "49 89 fa 49 81 e2 ff ff 00 00 " + LOAD: "the address is not masked",  # of 64 bits
    MASKED + "4b 8b 84 14 f9 8f 00 00": "the offset reaches over the guard",
    MASKED + "4b 8b 84 14 f7 6f ff ff": "the offset reaches over the guard",
    MASKED + "4b 8b 44 54 08": "no instruction that may be here",  # r10 * 2
    MASKED + "4b 8b 04 14": "no instruction that may be here",  # no displacement
    "49 8b 84 24 f9 8f 01 00": "the offset reaches over the guard",
    "48 8b 47 08": "no instruction that may be here",
    "48 8b 05 00 00 00 00": "no instruction that may be here",
    "48 8b 04 25 00 00 00 00": "no instruction that may be here",
    "65 49 8b 44 2c 08": "no instruction that may be here",
    "67 49 8b 44 2c 08": "no instruction that may be here",
    MASKED + "e8 @leaf " + LOAD: "the address is not masked",
    MASKED + FUEL + POLL + LOAD: "the address is not masked",
    "74 0a " + MASKED + LOAD: "the address is not masked",  # a way around the mask
    "83 ed 08 49 8b 44 2c 00": "the address is not masked",
    # Atomically
    MASKED + "f0 4b 01 44 14 08": "an atomic operation may cross a cache line",
    "f0 49 01 44 2c 04": "an atomic operation may cross a cache line",
    MASKED + "4b 87 44 14 08": "an atomic operation may cross a cache line",
    "44 8d 57 08 41 81 e2 fc ff 00 00 f0 4b 01 44 14 00": "an atomic operation may cross",
    "f0 48 01 c0": "no instruction that may be here",
    "f0 49 8b 44 2c 08": "no instruction that may be here",
    "49 01 44 2c 08": "no instruction that may be here",  # without lock
    # Registers
    "49 89 fc": "writes a register that is to be kept",
    "49 89 f9": "writes a register that is to be kept",
    "48 89 fc": "writes a register that is to be kept",
    "48 89 fd": "writes a register that is to be kept",
    "48 83 c4 08": "reads what is not the program's",
    "83 cd 08": "writes a register that is to be kept",
    "48 83 ed 08": "writes a register that is to be kept",
    "49 81 e1 ff ff 00 00": "reads what is not the program's",
    "41 81 e1 ff ff 00 00": "reads what is not the program's",
    "4c 89 e0": "reads what is not the program's",
    "4c 89 c8": "reads what is not the program's",
    "48 89 e0": "reads what is not the program's",
    "4c 89 d0": "reads what is not the program's",  # r10, before it is written
    "49 8d 41 00": "reads what is not the program's",
    "83 ed 04 81 e5 ff ff 00 00": "moves the frame to no multiple of 8",
    # The machine
    "49 8b 41 20": "no instruction that may be here",  # machine.base
    "49 89 41 18": "no instruction that may be here",
    "49 c7 41 00 ff 00 00 00": "no instruction that may be here",
    "49 81 41 00 01 00 00 00": "no instruction that may be here",  # more fuel
    "49 81 69 00 00 00 00 00 " + POLL: "fuel is not taken",
    "49 81 69 00 ff ff ff ff " + POLL: "fuel is not taken",
    FUEL + "31 c0": "its branch is missing",
    FUEL + POLL.replace("79", "78"): "its branch is missing",
    FUEL + POLL.replace("0b", "06"): "its call is missing",
    FUEL + POLL.replace("poll", "leaf"): "its call is missing",
    "49 3b 61 10 73 0b 41 bb 01 00 00 00 e8 @fault_stack": "not to be here",
    # The stack
    "5b": "pops the return address",
    "58 58": "pops the return address",
    "58": "pops the return address",
    "50": "returns to what it has pushed",
    "54": "pushes what is not the program's",
    "41 54": "pushes what is not the program's",
    "41 52": "pushes what is not the program's",
    "50 5d": "pops into another register",
    "50 41 59": "pops into another register",
    "41 51 58": "pops into another register",
    "c3 cc": "returns to what it has pushed",
    "c3 90": "no instruction that may be here",
    "50" * 12: "too much is pushed",
    # Branches
    "eb 01 31 c0": "leads to no instruction of the routine",
    "eb fe": "a jump backward without fuel",
    "74 fe": "a jump backward without fuel",
    "e9 @middle": "leads to no instruction of the routine|leads to no",
    "e8 @middle": "calls no routine",
    "e8 @start": "calls no routine",
    "e9 @start": "leads to no instruction of the routine",
    "e9 @leaf": "returns to what it has pushed",
    "0f 84 @leaf": "leads out of the routine",
    "e8 @poll": "calls what is not to be called",
    "e9 @poll": "leads out of the code",
    "e9 @gate": "leads out of the code",
    "ff e0": "no instruction that may be here",
    "ff d0": "no instruction that may be here",
    "41 ff 61 08": "no instruction that may be here",
    "f3 0f 1e fa": "indirect branches may land",
    "48 b8 00 f3 0f 1e fa 00 00 00": "indirect branches may land",
    "83 ed 08 e8 @leaf": "the frame's place is not masked",
    "e8 @fault_stack": "tells of what is not the program's",
    "41 bb 01 00 00 00 e8 @fault_access": "tells of what is not the program's",
    "e8 @gate": "a call of which the number is not known",
    # Where ways meet
    GATE + "eb 00": "branches with something of the kernel's",
    GATE + FUEL + POLL: "branches with something of the kernel's",
    "74 02 41 51 31 c0 41 59": "branches without the machine",
    "74 01 50 31 c0 58": "the stack differs between two ways",
    "74 06 50 74 03 58 eb 00 31 c0": "the stack differs between two ways",
    "31 c0 50 74 fb": "too little is known for a jump to there",
    "31 c0 83 ed 08 74 f9": "too little is known for a jump to there",
    "74 08 " + FUEL + POLL: "its branch is missing",
    "e8 @dispatch": "a call of which the number is not known",
    # System calls
    GATE: "branches with something of the kernel's|reads what",
    GATE + CLEARED.replace("31 ff", ""): "something of the kernel's|reads what",
    GATE.replace("e8 @barrier", ""): "a system call without a barrier",
    GATE.replace("@barrier", "@barrier 74 00"): "branches without the machine",
    GATE.replace("@barrier", "@leaf"): "branches without the machine",
    GATE.replace("4d 8b 89 80 00 00 00", ""): "a system call with something of the kernel's",
    GATE.replace("gate_3", "gate_6"): "a system call without its sixth argument",
    GATE.replace("41 51", "50").replace("41 59", "58") + CLEARED: "the machine",
    GATE[: -len("41 59 ")] + CLEARED: "the machine",
    GATE.replace("41 59", "49 8b 49 18"): "r9 is not the machine",
    "e8 @gate_3": "something of the kernel's",
    "0f 05": "no instruction that may be here",
    "cd 80": "no instruction that may be here",
    "0f 01 f9": "no instruction that may be here",
    "fa": "no instruction that may be here",
    "f4": "no instruction that may be here",
    "cc": "no instruction that may be here",
    # Divisions
    R11 + "49 f7 f3": "a division that may trap",
    R11 + "31 d2 49 f7 f3": "a division that may trap",
    R11 + DIVIDE.replace("31 d2", "89 d2"): "a division that may trap",
    R11 + DIVIDE.replace("4d 85", "45 85"): "a division that may trap",
    R11 + DIVIDE.replace("74", "75"): "a division that may trap",
    R11 + DIVIDE.replace("f7 f3", "f7 fb"): "a division that may trap",
    R11 + DIVIDE.replace("49 f7 f3", "48 f7 f7"): "a division that may trap",
    R11 + "4d 85 db 74 0a 49 83 fb ff 74 04 99 49 f7 fb": "a division that may trap",
    R11 + DIVIDE_SIGNED.replace("fb ff", "fb fe"): "a division that may trap",
    R11 + DIVIDE_SIGNED.replace("74 05", "31 d2"): "a division that may trap",
}


@pytest.mark.parametrize("code", GOOD)
def test_accepted(code: str) -> None:
    with planting() as plant:
        assert plant(code) == ""


def test_refused() -> None:
    with planting() as plant:
        for code, why in WRONG.items():
            assert re.search(why, plant(code)), (code, why, plant(code))


def accepted_tries() -> list[int]:
    """Bits of the routine for IMAGE_CALL_TRY, and of the entry, that may be changed."""
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
    """Why a call is refused in a function that did not look for room on the stack."""
    leaf = i.mov(1, 1) * 50 + i.EXIT
    with Machine(i.Image([leaf]).pack(), KEY) as machine:
        address, code = machine.code()
        at = code.index(bytes.fromhex(MOVE) * 50)
        start = code.index(bytes.fromhex("49 81 69 00"))
        planted = b"\xe8" + struct.pack("<i", start - at - 5) + bytes.fromhex("31 c0 31 c0")
        return machine.verify(code[:at] + planted + code[at + 9 :])


def length_without_fuel() -> str:
    """Why a function is refused that pays for less than it is long."""
    with Machine(i.Image([i.mov(1, 1) * 400 + i.EXIT]).pack(), KEY) as machine:
        code = bytearray(machine.code()[1])
        at = code.index(bytes.fromhex("49 81 69 00")) + 4
        code[at : at + 4] = b"\1\0\0\0"
        return machine.verify(bytes(code))


def test_length_wants_fuel() -> None:
    assert "more code than fuel" in length_without_fuel()


def test_calls_want_room() -> None:
    assert "calls without room on the stack" in call_without_room()


def reader_accepts(machine: Machine, code: bytes, tmp: Path) -> bool:
    names = (*STUBS, "barrier", *7 * ("system_call",))
    stubs = {SO.subject_stub(n): name for n, name in enumerate(names)}
    try:
        Reader(disassemble(machine.code()[0], code, tmp), machine.size, stubs).read()
    except AssertionError as wrong:
        # The verifier carries this along a branch, which the reader cannot.
        return "the frame's place is not masked" in str(wrong)
    return True


@pytest.mark.parametrize("seed", range(12))
def test_changed_code(seed: int, tmp_path: Path) -> None:
    """Code with one bit changed: what the verifier accepts, the reader accepts, too."""
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
    """Nothing is read past the end, nor taken for what is not there."""
    with Machine(any_image(1), KEY, 2) as machine:
        code = machine.code()[1]
        assert "machine code" in machine.verify(code[:-size] + bytes(size))
