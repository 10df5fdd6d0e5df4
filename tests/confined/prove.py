#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves what docs/design/proof.md says of single instructions: make prove.

The verifier itself is asked what it accepts and what it then knows (prove.c).

  decoder   every accepted form of an instruction, but for its constants: another
            decoder (capstone) reads as many bytes and the same effects
  machine   each of a sample of these, executed (unicorn) on two states that differ in
            what it is said not to read: it changes what it is said to write, and
            nothing that it writes depends on the difference
  claims    that masks, frames, places and divisions are what they are said to be, for
            all values of registers and constants (z3)

Usage: prove.py LIBRARY [PART...]    LIBRARY: prove.c with verify_step.c, verify_x86.c
"""

from __future__ import annotations

import ctypes
import random
import sys
import time
from collections.abc import Callable, Iterator

import capstone
import unicorn
import z3
from capstone import x86_const as x86
from unicorn import x86_const as uc

NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi")
NAMES += tuple(f"r{n}" for n in range(8, 16))
FRAME, MACHINE, BASE, STACK = 5, 9, 12, 4
SECRET = 1 << STACK | 1 << MACHINE | 1 << BASE
GUARD = 9 << 12
NO_INDEX = 0xFF
(PLAIN, MASK, MOVE_FRAME, CHARGE, ROOM, LOAD_RUN, PUSH, POP, DIVIDE, JUMP, BRANCH, CALL) = range(12)
RETURN, LANDING = 12, 13
DIVIDED = 0x80


class Insn(ctypes.Structure):
    """struct verify_insn."""

    _fields_ = [
        *((name, ctypes.c_uint8) for name in ("len", "kind", "cond", "reg")),
        *((name, ctypes.c_uint16) for name in ("reads", "writes")),
        *((name, ctypes.c_bool) for name in ("field", "arena", "number")),
        *((name, ctypes.c_uint8) for name in ("index", "align", "divide")),
        *((name, ctypes.c_int32) for name in ("disp", "imm", "rel")),
    ]


class State(ctypes.Structure):
    """struct verify_state."""

    _fields_ = [
        *((name, ctypes.c_uint16) for name in ("unset", "masked", "by4", "by8", "held")),
        *((name, ctypes.c_uint8) for name in ("depth", "divide", "machine")),
        *((name, ctypes.c_bool) for name in ("fenced", "dead")),
        ("credit", ctypes.c_int32),
    ]


class Found(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 16), ("insn", Insn)]


class Verifier:
    def __init__(self, path: str) -> None:
        self.so = ctypes.CDLL(path)
        self.so.prove_step.restype = ctypes.c_char_p
        self.so.prove_decode.restype = ctypes.c_bool
        self.so.prove_division.restype = ctypes.c_uint8
        self.so.prove_division.argtypes = [ctypes.c_uint8, ctypes.c_void_p]

    def search(self) -> list[tuple[bytes, Insn]]:
        room = 1 << 17
        found = (Found * room)()
        n = self.so.prove_search(found, room)
        assert n <= room, f"{n} forms of instructions"
        return [(bytes(f.bytes)[: f.insn.len], f.insn) for f in found[:n]]

    def decode(self, code: bytes) -> Insn | None:
        insn = Insn()
        ok = self.so.prove_decode(code + bytes(16), len(code), ctypes.byref(insn))
        return insn if ok else None

    def step(self, shift: int, insn: Insn, **known: int) -> State | None:
        """What is known after it, from nothing but @known; None if it is refused."""
        state = State(by4=1 << FRAME, by8=1 << FRAME)
        for name, value in known.items():
            setattr(state, name, value)
        why = self.so.prove_step(shift, ctypes.byref(state), ctypes.byref(insn))
        return None if why else state


# -- decoder ------------------------------------------------------------------------------

FAMILY = {}
for number, full in enumerate(NAMES):
    short = full[1:] if number < 8 else full
    names = (
        {full, "e" + short, short, short[0] + "l" if number < 4 else short + "l"}
        if number < 8
        else {full, full + "d", full + "w", full + "b"}
    )
    FAMILY |= {name: number for name in names}
FLAGS = ("rflags", "eflags", "flags", "riz")


def registers(names: Iterator[str]) -> int:
    mask = 0
    for name in names:
        if name not in FLAGS:
            mask |= 1 << FAMILY[name]
    return mask


def operand_of(insn: capstone.CsInsn) -> object | None:
    memory = [o for o in insn.operands if o.type == x86.X86_OP_MEM]
    assert len(memory) <= 1
    return memory[0] if memory else None


BRANCHES = {JUMP: ("jmp",), CALL: ("call",), RETURN: ("ret",)}


def check_branch(code: bytes, mine: Insn, insn: capstone.CsInsn) -> None:
    if mine.kind == RETURN:
        assert insn.mnemonic == "ret" and code == b"\xc3\xcc"
        return
    assert insn.operands[0].type == x86.X86_OP_IMM
    assert insn.operands[0].imm - 0x1000 - insn.size == mine.rel, "rel"
    if mine.kind == BRANCH:
        assert insn.mnemonic.startswith("j") and insn.mnemonic not in ("jmp", "jrcxz", "jecxz")
        want = {"jae": 1, "je": 2, "jns": 3}.get(insn.mnemonic, 0)
        assert mine.cond == want, "cond"
    else:
        assert insn.mnemonic in BRANCHES[mine.kind]


def check_memory(mine: Insn, insn: capstone.CsInsn, operand: object) -> None:
    memory = operand.mem
    assert memory.segment == 0 and memory.scale == 1 and memory.base, "form"
    base = FAMILY[insn.reg_name(memory.base)]
    name = insn.reg_name(memory.index) if memory.index else "riz"
    index = NO_INDEX if name == "riz" else FAMILY[name]
    assert insn.addr_size == 8 and memory.disp == mine.disp, "disp"
    if insn.mnemonic == "lea":
        assert not mine.arena and not mine.field and index == NO_INDEX
        assert mine.reads >> base & 1, "base"
        return
    assert operand.size in (1, 2, 4, 8), "size"
    assert mine.arena != mine.field, "neither arena nor machine"
    assert base == (BASE if mine.arena else MACHINE), "base"
    assert index == (mine.index if mine.arena else NO_INDEX), "index"
    locked = insn.prefix[0] == x86.X86_PREFIX_LOCK or insn.mnemonic == "xchg"
    assert mine.align == (operand.size if locked else 0), "align"


def check_effects(code: bytes, mine: Insn, insn: capstone.CsInsn) -> None:
    reads, writes = (registers(map(insn.reg_name, regs)) for regs in insn.regs_access())
    operand = operand_of(insn)
    if operand:
        check_memory(mine, insn, operand)
    if insn.mnemonic in ("cdq", "cqo"):  # capstone has rax written, too
        writes &= ~1
    if insn.mnemonic == "xor" and len({o.reg for o in insn.operands}) == 1:
        reads = 0
    if mine.kind in (PUSH, POP):
        moved = FAMILY[insn.reg_name(insn.operands[0].reg)]
        assert (
            insn.mnemonic == ("push" if mine.kind == PUSH else "pop") and insn.operands[0].size == 8
        )
        assert moved == mine.reg and not mine.reads | mine.writes
        return
    if mine.arena:  # the address is the verifier's
        reads &= ~(1 << BASE | (0 if mine.index == NO_INDEX else 1 << mine.index)) | mine.reads
    if mine.field:
        reads &= ~(1 << MACHINE)
    if mine.kind in (ROOM, LOAD_RUN, MOVE_FRAME):
        only = {ROOM: 1 << STACK, LOAD_RUN: 0, MOVE_FRAME: 1 << FRAME}[mine.kind]
        assert reads == only, "reads"
        assert writes == {ROOM: 0, LOAD_RUN: 1 << MACHINE, MOVE_FRAME: 1 << FRAME}[mine.kind]
        return
    assert reads & ~mine.reads == 0, f"reads {reads & ~mine.reads:x} more"
    assert writes & ~mine.writes == 0, f"writes {writes & ~mine.writes:x} more"
    if mine.kind in (MASK, MOVE_FRAME):
        assert insn.operands[0].size == 4 and insn.operands[1].imm % (1 << 32) == mine.imm % (
            1 << 32
        )
    if mine.kind == MASK:
        assert insn.mnemonic == "and" and FAMILY[insn.reg_name(insn.operands[0].reg)] == mine.reg


def check_field(mine: Insn, insn: capstone.CsInsn) -> None:
    """What may be done with struct machine, said once more."""
    text = f"{insn.mnemonic} {insn.op_str}".replace(" + riz", "")
    if mine.field:
        allowed = {
            CHARGE: ("sub qword ptr [r9], ",),
            ROOM: ("cmp rsp, qword ptr [r9 + 0x10]",),
            LOAD_RUN: ("mov r9, qword ptr [r9 + 0x80]",),
            PLAIN: ("mov dword ptr [r9 + 0x3c], ", "cmp ebp, dword ptr [r9 + 8]"),
        }[mine.kind]
        user = mine.kind == PLAIN and mine.disp == 24 and insn.operands[0].size == 8
        reads_user = (
            user and insn.mnemonic in ("mov", "add", "sub") and text.endswith("[r9 + 0x18]")
        )
        assert reads_user or text.startswith(allowed), text


def prove_decoder(verifier: Verifier) -> None:
    reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    reader.detail = True
    forms = verifier.search()
    for code, mine in forms:
        insn = next(reader.disasm(code, 0x1000), None)
        try:
            assert insn, "no instruction"
            if mine.kind == LANDING:
                assert insn.mnemonic == "endbr64"
                continue
            assert insn.size == len(code) - (mine.kind == RETURN), f"{insn.size} bytes"
            if mine.kind in (JUMP, BRANCH, CALL, RETURN):
                check_branch(code, mine, insn)
                continue
            assert not set(insn.groups) & {
                x86.X86_GRP_JUMP,
                x86.X86_GRP_CALL,
                x86.X86_GRP_RET,
                x86.X86_GRP_INT,
                x86.X86_GRP_PRIVILEGE,
            }
            check_effects(code, mine, insn)
            check_field(mine, insn)
            assert mine.kind != DIVIDE or insn.mnemonic in ("div", "idiv")
            assert insn.mnemonic not in ("div", "idiv") or mine.kind == DIVIDE
        except AssertionError as wrong:
            text = f"{insn.mnemonic} {insn.op_str}" if insn else ""
            raise AssertionError(f"{code.hex(' ')}: {text}: {wrong}") from wrong
    kinds = {mine.kind for _, mine in forms}
    assert kinds == set(range(14)), kinds
    print(f"decoder: {len(forms)} forms")


# -- machine ------------------------------------------------------------------------------

SAMPLE = 0.2
CODE, ARENA, RUN, STACK_AT, SHIFT = 0x10000, 0x40000000, 0x8000000, 0x9000000, 16
REGS = [getattr(uc, f"UC_X86_REG_{name.upper()}") for name in NAMES]


def set_up() -> unicorn.Uc:
    machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    machine.mem_map(CODE, 0x1000)
    machine.mem_map(ARENA - GUARD, (1 << SHIFT) + 2 * GUARD)
    machine.mem_map(RUN, 0x1000)
    machine.mem_map(STACK_AT, 0x2000)
    return machine


def execute(machine: unicorn.Uc, code: bytes, values: list[int]) -> list[int]:
    for reg, value in zip(REGS, values, strict=True):
        machine.reg_write(reg, value)
    machine.reg_write(uc.UC_X86_REG_EFLAGS, 2)
    machine.mem_write(CODE, code)
    machine.emu_start(CODE, CODE + len(code), count=1)
    return [machine.reg_read(reg) for reg in REGS]


def values_for(rng: random.Random, insn: Insn) -> list[int]:
    values = [
        rng.choice((rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(8))) for _ in NAMES
    ]
    values[STACK], values[MACHINE], values[BASE] = STACK_AT + 0x1000, RUN, ARENA
    values[FRAME] = rng.getrandbits(SHIFT) & ~7
    if insn.arena and insn.index != NO_INDEX:
        values[insn.index] = rng.getrandbits(SHIFT) & ~7
    return values


class Watched:
    """A machine that notes which memory is touched; none is mapped elsewhere."""

    def __init__(self) -> None:
        self.machine = set_up()
        self.touched: list[tuple[int, int]] = []
        self.machine.hook_add(
            unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE,
            lambda _m, _what, at, size, _value, _user: self.touched.append((at, size)),
        )

    def run(self, code: bytes, values: list[int]) -> list[int]:
        self.machine.mem_write(ARENA - GUARD, bytes(GUARD + (1 << SHIFT) + GUARD))
        self.touched.clear()
        return execute(self.machine, code, values)


def place_of(insn: Insn) -> tuple[int, int]:
    """Where it may access memory: from, and how much."""
    if insn.kind in (PUSH, POP):
        return STACK_AT + 0xFF8, 0x10
    if insn.arena:
        return ARENA - GUARD, (1 << SHIFT) + 2 * GUARD
    return RUN, 0x88


def written_by(insn: Insn) -> int:
    extra = {
        PUSH: 1 << STACK,
        POP: 1 << STACK | 1 << insn.reg,
        LOAD_RUN: 1 << MACHINE,
        MOVE_FRAME: 1 << FRAME,
    }
    return insn.writes | extra.get(insn.kind, 0)


def check_run(watched: Watched, code: bytes, insn: Insn, rng: random.Random) -> None:
    values = values_for(rng, insn)
    index = 0 if insn.index == NO_INDEX else 1 << insn.index
    kept = insn.reads | SECRET | index
    one = watched.run(code, values)
    start, room = place_of(insn)
    for at, size in watched.touched:
        assert start <= at and at + size <= start + room, hex(at)
    for n in range(16):
        assert one[n] == values[n] or written_by(insn) >> n & 1, NAMES[n]
    if insn.kind in (PUSH, POP, MOVE_FRAME):
        return
    others = [v if kept >> n & 1 else rng.getrandbits(64) for n, v in enumerate(values)]
    two = watched.run(code, others)
    for n in range(16):
        assert one[n] == two[n] or not insn.writes >> n & 1, NAMES[n]


def is_accepted(verifier: Verifier, insn: Insn) -> bool:
    index = 0 if insn.index == NO_INDEX else 1 << insn.index
    known = {"masked": index | 1 << FRAME, "by4": index | 32, "by8": index | 32}
    held = insn.kind == POP and insn.reg == MACHINE
    if insn.kind in (CHARGE, ROOM):
        return True
    return (
        not index & SECRET and verifier.step(SHIFT, insn, depth=1, held=held, **known) is not None
    )


def prove_machine(verifier: Verifier) -> None:
    rng, watched, count = random.Random(1), Watched(), 0
    for code, insn in verifier.search():
        if insn.kind >= DIVIDE or rng.random() > SAMPLE or not is_accepted(verifier, insn):
            continue
        try:
            check_run(watched, code, insn, rng)
        except (AssertionError, unicorn.UcError) as wrong:
            raise AssertionError(f"{code.hex(' ')}: {wrong}") from wrong
        count += 1
    print(f"machine: {count} forms executed on two states")


# -- claims -------------------------------------------------------------------------------


def holds(claim: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.set(timeout=60000)
    solver.add(z3.Not(claim))
    return solver.check() == z3.unsat


def prove(name: str, claim: z3.BoolRef) -> None:
    assert holds(claim), f"{name} does not hold"


def edge(accepts: Callable[[int], bool], inside: int, outside: int) -> int:
    """The last value that is accepted, from @inside to @outside."""
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if accepts(middle) else (inside, middle)
    return inside


LIMITS = -(1 << 31), (1 << 31) - 1


def accepted_range(accepts: Callable[[int], bool]) -> tuple[int, int]:
    assert accepts(0)
    low, high = edge(accepts, 0, LIMITS[0] - 1), edge(accepts, 0, LIMITS[1] + 1)
    rng = random.Random(1)
    for _ in range(2000):  # no gaps, and no islands
        for value in (rng.randint(*LIMITS), rng.randint(low, high), low - rng.randint(1, 99)):
            if LIMITS[0] <= value <= LIMITS[1]:
                assert accepts(value) == (low <= value <= high), value
    return low, high


def prove_places(verifier: Verifier, shift: int) -> None:
    """An access of at most 8 bytes lies in the arena and its guards."""
    base, index = z3.BitVecs("base index", 64)
    disp = z3.BitVec("disp", 32)
    far, size = z3.BitVecVal(GUARD, 64), z3.BitVecVal(1 << shift, 64)
    sane = z3.And(z3.UGE(base, 1 << 47), z3.ULE(base, -(1 << 40) % (1 << 64)))
    for reg in (10, NO_INDEX):
        insn = Insn(len=8, arena=True, index=reg)

        def accepts(d: int, insn: Insn = insn, reg: int = reg) -> bool:
            insn.disp = d
            return bool(verifier.step(shift, insn, masked=0 if reg == NO_INDEX else 1 << reg))

        low, high = accepted_range(accepts)
        offset = z3.SignExt(32, disp) + (index if reg != NO_INDEX else 0)
        where = base + offset
        given = z3.And(sane, disp >= low, disp <= high, z3.ULT(index, size))
        prove("low end", z3.Implies(given, z3.UGE(where, base - far)))
        prove("high end", z3.Implies(given, z3.ULE(where + 8, base + size + far)))
    for reg in range(16):  # none without a mask
        insn = Insn(len=8, arena=True, index=reg)
        assert not verifier.step(shift, insn, masked=0xFFFF & ~(1 << reg))
        for align, name in ((4, "by4"), (8, "by8")):
            insn = Insn(len=8, arena=True, index=reg, align=align)
            known = {"by4": 0xFFFF, "by8": 0xFFFF, "masked": 0xFFFF}
            known[name] &= ~(1 << reg)
            assert not verifier.step(shift, insn, **known), "aligned"
            insn.disp = align // 2
            assert not verifier.step(shift, insn, masked=0xFFFF, by4=0xFFFF, by8=0xFFFF)


def masks(rng: random.Random, shift: int) -> set[int]:
    near = {(1 << shift) + d for d in range(-9, 10)}
    return near | {1 << n for n in range(32)} | {rng.getrandbits(32) for _ in range(200)}


def prove_masks(verifier: Verifier, shift: int) -> None:
    """What is said to be masked is, for all values; the set of constants is a range."""
    value = z3.BitVec("value", 32)
    imm = z3.BitVec("imm", 32)
    bound = (1 << shift) - 1
    prove("mask", z3.Implies(z3.ULE(imm, bound), z3.ULE(value & imm, bound)))
    prove("by 4", z3.Implies(imm & 3 == 0, (value & imm) & 3 == 0))
    prove("by 8", z3.Implies(imm & 7 == 0, (value & imm) & 7 == 0))
    prove("kept by 8", z3.Implies(value & 7 == 0, (value & imm) & 7 == 0))
    for reg in (0, FRAME, 10, 11, 15):
        for constant in masks(random.Random(reg), shift):
            signed = (constant + (1 << 31)) % (1 << 32) - (1 << 31)
            insn = Insn(len=7, kind=MASK, reg=reg, reads=1 << reg, writes=1 << reg, imm=signed)
            state = verifier.step(shift, insn, by4=0, by8=0)
            constant %= 1 << 32
            bit = 1 << reg
            assert bool(state.masked & bit) <= (constant <= bound), hex(constant)
            assert bool(state.by4 & bit) <= (constant & 3 == 0), hex(constant)
            assert bool(state.by8 & bit) <= (constant & 7 == 0), hex(constant)


def prove_frames(verifier: Verifier, shift: int) -> None:
    frame, imm = z3.BitVecs("frame imm", 32)
    given = z3.And(frame & 7 == 0, imm & 7 == 0)
    prove("frame", z3.Implies(given, z3.And((frame + imm) & 7 == 0, (frame - imm) & 7 == 0)))
    for imm_value in range(-64, 65):
        insn = Insn(len=6, kind=MOVE_FRAME, imm=imm_value)
        state = verifier.step(shift, insn, masked=1 << FRAME)
        assert (state is not None) <= (imm_value % 8 == 0)
        assert state is None or not state.masked >> FRAME & 1


def prove_states(verifier: Verifier) -> None:
    """Whatever is written loses what was known of it; what is unset is not read."""
    for reg in range(16):
        bit = 1 << reg
        writes = Insn(len=3, writes=bit, index=NO_INDEX)
        state = verifier.step(SHIFT, writes, masked=0xFFFF, by4=0xFFFF, by8=0xFFFF)
        kept = reg in (STACK, FRAME, MACHINE, BASE)
        assert (state is None) == kept
        assert kept or not (state.masked | state.by4 | state.by8) & bit
        reads = Insn(len=3, reads=bit, index=NO_INDEX)
        assert not verifier.step(SHIFT, reads, unset=bit)
        assert bool(verifier.step(SHIFT, reads)) == (not SECRET & bit)
        for kind in (PUSH, POP):
            moves = Insn(len=2, kind=kind, reg=reg, index=NO_INDEX)
            for held in (0, 1):
                state = verifier.step(SHIFT, moves, depth=1, held=held, unset=0, masked=0xFFFF)
                if kind == PUSH:
                    assert (state is None) == (reg in (STACK, BASE))
                    assert not state or (state.held >> 1 & 1) == (reg == MACHINE)
                else:
                    fits = reg == MACHINE if held else reg not in (STACK, FRAME, MACHINE, BASE)
                    assert (state is not None) == fits
                    assert not state or not state.masked & bit & ~(1 << MACHINE)
        assert not verifier.step(SHIFT, Insn(kind=POP, reg=reg, index=NO_INDEX), depth=0)
        if reg != MACHINE:
            push = Insn(kind=PUSH, reg=reg, index=NO_INDEX)
            assert not verifier.step(SHIFT, push, unset=bit)
    for machine in (1, 2):
        assert not verifier.step(SHIFT, Insn(field=True, index=NO_INDEX), machine=machine)
        push = Insn(kind=PUSH, reg=MACHINE, index=NO_INDEX)
        assert not verifier.step(SHIFT, push, machine=machine)
    for kind in range(14, 40):
        assert not verifier.step(SHIFT, Insn(kind=kind, index=NO_INDEX))


DIVISIONS = {
    # what must come first, in bytes; then what divides
    (False, False): "45 85 db 74 00 31 d2 41 f7 f3",
    (False, True): "4d 85 db 74 00 31 d2 49 f7 f3",
    (True, False): "45 85 db 74 00 41 83 fb ff 74 00 99 41 f7 fb",
    (True, True): "4d 85 db 74 00 49 83 fb ff 74 00 48 99 49 f7 fb",
}


def rows(verifier: Verifier, text: str) -> list[Insn]:
    code, insns = bytes.fromhex(text), []
    while code:
        insns.append(verifier.decode(code))
        code = code[insns[-1].len :]
    return insns


def end_of(verifier: Verifier, insns: list[Insn]) -> int:
    step = 0
    for insn in insns:
        step = verifier.so.prove_division(step, ctypes.byref(insn))
    return step


def prove_divisions(verifier: Verifier) -> None:
    """Only these rows divide, and they cannot trap: what is dropped or added ends them."""
    every = {id(i): i for text in DIVISIONS.values() for i in rows(verifier, text)}
    for text in DIVISIONS.values():
        insns = rows(verifier, text)
        assert end_of(verifier, insns) == DIVIDED
        for n in range(len(insns)):
            assert end_of(verifier, insns[:n] + insns[n + 1 :]) != DIVIDED
            for other in every.values():
                row = [*insns[:n], other, *insns[n + 1 :]]
                same = (other.divide, other.kind, other.cond) == (
                    insns[n].divide,
                    insns[n].kind,
                    insns[n].cond,
                )
                clears = other.divide & 7 == insns[n].divide & 7 == 3  # both clear rdx
                assert same or clears or end_of(verifier, row) != DIVIDED
                assert (
                    n == 0
                    or end_of(verifier, [*insns[:n], other, *insns[n:]]) != DIVIDED
                    or (other.divide & 7 == 1 and n == 1)
                    or same
                    or clears
                )
    for bits in (8, 16):  # as z3 can; the argument is the same for 32 and 64
        low, by = z3.BitVecs("low by", bits)
        wide = z3.ZeroExt(bits, low)
        quotient = z3.UDiv(wide, z3.ZeroExt(bits, by))
        prove("div", z3.Implies(by != 0, z3.ULT(quotient, 1 << bits)))
        wide = z3.SignExt(bits, low)
        quotient = wide / z3.SignExt(bits, by)
        fits = z3.And(quotient >= -(1 << bits - 1), quotient < 1 << bits - 1)
        prove("idiv", z3.Implies(z3.And(by != 0, by != -1), fits))


def prove_claims(verifier: Verifier) -> None:
    for shift in range(16, 31):
        prove_places(verifier, shift)
        prove_masks(verifier, shift)
    prove_frames(verifier, SHIFT)
    prove_states(verifier)
    prove_divisions(verifier)
    print("claims: places, masks, frames, states, divisions")


PARTS = {"claims": prove_claims, "decoder": prove_decoder, "machine": prove_machine}


def main() -> None:
    verifier = Verifier(sys.argv[1])
    for name in sys.argv[2:] or PARTS:
        start = time.time()
        PARTS[name](verifier)
        print(f"{name}: {time.time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
