#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves the statements of docs/design/proof.md about instructions: make prove.

It asks the verifier itself which instructions it accepts, and what it knows afterwards (prove.c).

  claims    for every accepted form of an instruction and every row of them, with all
            values of registers, constants and displacements (z3): its effect on the
            state, as defined by model.py, is the one that the verifier assumes
  places    where accepted instructions access the arena
  decoder   every accepted form: another decoder (capstone) reads as many bytes and the
            same effects
  model     for every accepted form, and for rows, model.py agrees with this processor
            (native.c) and with an emulator (unicorn)

Usage: prove.py [--known FILE] LIBRARY [PART...]

LIBRARY: prove.c with verify_step.c, native.c. FILE: a cache of facts proven with another library,
which are not proven again if unchanged; created if missing.
"""

from __future__ import annotations

import argparse
import ctypes
import pickle
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import capstone
import unicorn
import z3
from capstone import x86_const as x86
from unicorn import x86_const as uc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import model, proof
from confined.model import NAMES, R9, R10, R11, R12, RAX, RBP, RCX, RSP, Number, State
from confined.proof import (
    BRANCH,
    CALL,
    CHARGE,
    GUARD,
    JUMP,
    LOADED,
    MASK,
    MOVE_FRAME,
    NO_INDEX,
    PLAIN,
    POP,
    PUSH,
    REFUSED,
    RETURN,
    ROOM,
    SHIFT,
    SHIFTS,
    THUNK,
    TRY,
    UNLESS,
    Memory,
    Words,
    fields,
    limits,
    offset,
    prove,
    same,
    variables,
)

FRAME, MACHINE, BASE, STACK = RBP, R9, R12, RSP
SECRET = 1 << STACK | 1 << MACHINE | 1 << BASE
SCRATCH = 1 << R10 | 1 << R11
ANY, IMM, TO, TO8, BARRIER = range(0x100, 0x600, 0x100)
# Offsets in struct machine
FUEL, LIMIT, NATIVE, USER, TRY_SP, PC, RUN_AT = 0, 8, 16, 24, 40, 60, 128


Insn, Transfer = proof.structures(ctypes.c_uint16)


class Found(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 16), ("insn", Insn)]


class Verifier(proof.Verifier):
    def __init__(self, path: str) -> None:
        self.known: set[tuple] = set()
        self.proven: set[tuple] = set()
        super().__init__(path, Insn, Transfer)
        self.so.prove_row.restype = ctypes.POINTER(ctypes.c_uint16)
        self.so.native_map.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        self.so.native_run.argtypes = [
            *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p),
        ]

    def search(self) -> list[tuple[bytes, Insn]]:
        room = 1 << 18
        found = (Found * room)()
        n = self.so.prove_search(found, room)
        assert n <= room, f"{n} forms of instructions"
        return [(bytes(f.bytes)[: f.insn.len], f.insn) for f in found[:n]]

    def rows(self) -> Iterator[list[int]]:
        length = ctypes.c_uint32()
        number = 0
        while row := self.so.prove_row(number, ctypes.byref(length)):
            yield row[: length.value]
            number += 1

    def is_known(self, *what: object) -> bool:
        """Was it proven with another library? Records it for this one, too."""
        self.proven.add(what)
        return what in self.known


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


def check_branch(mine: Insn, insn: capstone.CsInsn) -> None:
    assert insn.operands[0].type == x86.X86_OP_IMM
    assert insn.operands[0].imm - 0x1000 == mine.to, "to"
    assert insn.mnemonic.startswith("j") and insn.mnemonic not in ("jmp", "jrcxz", "jecxz")


def check_memory(mine: Insn, insn: capstone.CsInsn, operand: object) -> None:
    memory = operand.mem
    assert memory.segment == 0 and memory.base, "form"
    assert memory.scale == 1 or insn.mnemonic == "lea", "form"
    base = FAMILY[insn.reg_name(memory.base)]
    name = insn.reg_name(memory.index) if memory.index else "riz"
    index = NO_INDEX if name == "riz" else FAMILY[name]
    assert insn.addr_size == 8 and memory.disp == mine.disp, "disp"
    if insn.mnemonic == "lea":
        assert not mine.arena and mine.index == NO_INDEX
        assert mine.reads >> base & 1, "base"
        assert index == NO_INDEX or mine.reads >> index & 1, "index"
        return
    assert operand.size in (1, 2, 4, 8), "size"
    assert base == (BASE if mine.arena else MACHINE), "base"
    assert index == mine.index, "index"
    locked = insn.prefix[0] == x86.X86_PREFIX_LOCK or insn.mnemonic == "xchg"
    assert mine.align == (operand.size if locked else 0), "align"


def check_effects(code: bytes, mine: Insn, insn: capstone.CsInsn) -> None:
    reads, writes = (registers(map(insn.reg_name, regs)) for regs in insn.regs_access())
    operand = operand_of(insn)
    if operand:
        check_memory(mine, insn, operand)
    if insn.mnemonic in ("cdq", "cqo"):  # capstone also counts rax as written
        writes &= ~1
    if insn.mnemonic == "cmpxchg":  # capstone leaves out rax, which gets the value in memory
        writes |= 1 << RAX
    if insn.mnemonic == "xor" and len({o.reg for o in insn.operands}) == 1:
        reads = 0
    if mine.kind in (PUSH, POP):
        moved = 1 << FAMILY[insn.reg_name(insn.operands[0].reg)]
        assert (
            insn.mnemonic == ("push" if mine.kind == PUSH else "pop") and insn.operands[0].size == 8
        )
        assert mine.reads == (moved if mine.kind == PUSH else 0)
        assert mine.writes == (moved if mine.kind == POP else 0)
        assert mine.slots == (mine.kind == PUSH)
        return
    if mine.arena:  # the verifier has checked the address
        reads &= ~(1 << BASE | (0 if mine.index == NO_INDEX else 1 << mine.index)) | mine.reads
    if operand and not mine.arena and insn.mnemonic != "lea":
        reads &= ~(1 << MACHINE)
    assert reads & ~mine.reads == 0, f"reads {reads & ~mine.reads:x} more"
    assert writes & ~mine.writes == 0, f"writes {writes & ~mine.writes:x} more"
    if mine.kind in (MASK, MOVE_FRAME):
        assert insn.operands[0].size == 4 and insn.operands[1].imm % (1 << 32) == mine.imm % (
            1 << 32
        )
    if mine.kind == MASK:
        assert insn.mnemonic == "and" and FAMILY[insn.reg_name(insn.operands[0].reg)] == mine.reg


def check_field(mine: Insn, insn: capstone.CsInsn) -> None:
    """The permitted uses of struct machine, stated independently of the verifier."""
    if operand_of(insn) and not mine.arena and insn.mnemonic != "lea":
        assert insn.mnemonic in ("mov", "add", "sub") and insn.operands[0].size == 8
        assert insn.op_str.replace(" + riz", "").endswith(f", qword ptr [r9 + {USER:#x}]")


def prove_decoder(verifier: Verifier) -> None:
    reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    reader.detail = True
    forms = verifier.search()
    for code, mine in forms:
        assert verifier.decode(code[:-1]) is None, f"{code.hex(' ')}: not all of it is there"
        if verifier.is_known("decoder", code, fields(mine)):
            continue
        insn = next(reader.disasm(code, 0x1000), None)
        try:
            assert insn, "no instruction"
            assert insn.size == len(code), f"{insn.size} bytes"
            if mine.kind == BRANCH:
                check_branch(mine, insn)
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
            assert insn.mnemonic not in ("div", "idiv")
        except AssertionError as wrong:
            text = f"{insn.mnemonic} {insn.op_str}" if insn else ""
            raise AssertionError(f"{code.hex(' ')}: {text}: {wrong}") from wrong
    kinds = {mine.kind for _, mine in forms}
    assert kinds == {PLAIN, MASK, MOVE_FRAME, PUSH, POP, BRANCH}, kinds
    print(f"decoder: {len(forms)} forms")


# -- claims: forms ------------------------------------------------------------------------

BEFORE = z3.BitVecs(NAMES, 64)
SIZE, DISP, IMM64 = z3.BitVecs("size disp imm", 64)
# The arena is page-aligned and does not wrap around; its size is 2^16 to 2^30.
SANE = z3.And(
    z3.UGE(BEFORE[BASE], 1 << 32),
    z3.ULE(BEFORE[BASE], -(1 << 32) % (1 << 64)),
    BEFORE[BASE] & 0xFFF == 0,
    z3.Or(*(SIZE == 1 << shift for shift in SHIFTS)),
)


def symbolic() -> State:
    flags = {name: z3.Bool(f"flag_{name}") for name in "cozs"}
    memory = Memory()
    return State(list(BEFORE), flags, memory.load, memory.store)


def names_of(registers: int) -> set[str]:
    return {name for n, name in enumerate(NAMES) if registers >> n & 1}


def constants_of(insn: capstone.CsInsn) -> dict[str, z3.BitVecRef]:
    """Symbolic constants and displacements of any encodable value."""
    constants = {}
    if insn.disp_size:
        bits = insn.disp_size * 8
        constants["disp"] = model.extend(model.extract(DISP, 0, bits), 64, True)
    if insn.imm_size:
        bits = insn.imm_size * 8
        constants["imm"] = model.extend(model.extract(IMM64, 0, bits), 64, True)
    return constants


def prove_accesses(mine: Insn, before: State, after: State, disp: z3.BitVecRef) -> None:
    """Accesses are where @mine allows them, and arena accesses are as declared."""
    for access in after.accesses:
        address = access.address
        if mine.kind in (PUSH, POP):
            at = -8 if mine.kind == PUSH else 0
            assert offset(address, BEFORE[STACK]) == at and access.bits == 64, "stack"
            assert (access.stored is not None) == (mine.kind == PUSH), "stack"
        elif mine.arena:
            index = 0 if mine.index == NO_INDEX else BEFORE[mine.index]
            assert same(address, BEFORE[BASE] + index + disp), "not where it is said to be"
            assert access.bits <= 64, "size"
            assert mine.align * 8 == (access.bits if access.locked else 0), "align"
            if access.stored is not None:
                assert variables(access.stored) <= names_of(mine.reads) | LOADED | {"imm"}, "tells"
        else:
            user = BEFORE[MACHINE] + disp
            assert same(address, user) and mine.disp == USER and mine.index == NO_INDEX, "machine"
            assert access.stored is None and access.bits == 64, "machine"
    assert before.regs == BEFORE


def prove_registers(mine: Insn, after: State) -> set[int]:
    """The instruction writes only the registers that its table declares. Returns these."""
    written = {n for n in range(16) if not after.regs[n].eq(BEFORE[n])}
    moved = {STACK} if mine.kind in (PUSH, POP) else set()
    assert written <= {n for n in range(16) if mine.writes >> n & 1} | moved, "writes more"
    assert not written & {MACHINE, BASE}, "writes what is to be kept"
    assert FRAME not in written or mine.kind in (MASK, MOVE_FRAME), "writes the frame's place"
    if moved:
        want = -8 if mine.kind == PUSH else 8
        assert offset(after.regs[STACK], BEFORE[STACK]) == want, "the stack pointer"
    allowed = names_of(mine.reads) | LOADED | {"imm", "disp"}
    for n in written - moved:
        assert variables(after.regs[n]) <= allowed, f"{NAMES[n]} tells of more"
    for name, flag in after.flags.items():
        assert variables(flag) <= allowed | {f"flag_{name}"}, f"flag {name} tells of more"
    return written


def prove_facts(mine: Insn, transfer: Transfer, after: State, written: set[int]) -> None:
    """The facts after the instruction are true, and kernel values stay marked as such."""
    assert not mine.reads & ~transfer.deny, "reads what may be the kernel's"
    assert mine.reads & SECRET == 0, "reads a secret"
    assert transfer.set & ~sum(1 << n for n in written) == 0, "is set without being written"
    assert transfer.leaves == 0 and transfer.depth == {PUSH: 1, POP: -1}.get(mine.kind, 0)
    for n in written - {STACK}:
        kept = [fact >> n & 1 for fact in transfer.kept]
        always = [fact >> n & 1 for fact in transfer.always]
        if mine.kind == MASK:
            prove_mask(mine, after.regs[n], BEFORE[n])
            assert n == mine.reg
        elif mine.kind == MOVE_FRAME:
            given = z3.And(BEFORE[n] & 7 == 0, IMM64 & 7 == 0)
            prove("a multiple of 8", z3.Implies(given, after.regs[n] & 7 == 0))
            assert kept[0] == 0 and not any(always) and n == FRAME
        else:
            assert not any(kept) and not any(always), "known, and written"
    others = 0xFFFF & ~sum(1 << n for n in written)
    assert not any(fact & others for fact in transfer.always), "known of nothing"


def prove_mask(mine: Insn, result: z3.BitVecRef, before: z3.BitVecRef) -> None:
    """The facts that prove_masks() of prove.c takes to hold are true for every constant."""
    bits = 8 if mine.len < 6 else 32
    low = model.extend(model.extract(IMM64, 0, bits), 32, True)
    prove(
        "a mask",
        z3.Implies(z3.And(SANE, z3.ULT(low, model.extract(SIZE, 0, 32))), z3.ULT(result, SIZE)),
    )
    for n in (3, 7):
        prove("a multiple", z3.Implies(low & n == 0, result & n == 0))
        prove("a multiple as before", z3.Implies(before & n == 0, result & n == 0))


def is_secret(mine: Insn) -> bool:
    """Is its index a register that is never masked? prove_places() shows that it is not."""
    return mine.arena and mine.index != NO_INDEX and bool(SECRET >> mine.index & 1)


def prove_form(verifier: Verifier, code: bytes, mine: Insn) -> bool:
    """Proves one form; returns whether it is accepted anywhere."""
    transfer = verifier.transfer(SHIFT, mine)
    if transfer is None or is_secret(mine):
        return False
    if verifier.is_known("form", code, fields(mine), fields(transfer)):
        return True
    if mine.arena and mine.index != NO_INDEX:
        assert transfer.need[0] >> mine.index & 1, "not masked"
        for n, align in ((1, 4), (2, 8)):
            assert mine.align != align or transfer.need[n] >> mine.index & 1, "not aligned"
    insn = model.disassemble(code)
    if mine.kind == BRANCH:
        assert insn.mnemonic[0] == "j" and not mine.writes | mine.reads
        return True
    before, after = symbolic(), symbolic()
    constants = constants_of(insn)
    model.execute(after, insn, constants)
    assert not after.traps
    prove_accesses(mine, before, after, constants.get("disp"))
    prove_facts(mine, transfer, after, prove_registers(mine, after))
    return True


def prove_places(verifier: Verifier) -> None:
    """Any access that prove_accesses() allows is within the arena and its guards."""
    prove_quotients()
    index = z3.BitVec("index", 64)
    for shift in SHIFTS:
        for reg in (R10, NO_INDEX):
            low, high = limits(verifier, shift, Insn(len=8, arena=True, index=reg))
            masked = z3.ULT(index, SIZE) if reg != NO_INDEX else index == 0
            given = z3.And(SANE, SIZE == 1 << shift, masked, low <= DISP, high >= DISP)
            where = BEFORE[BASE] + index + DISP
            prove("low end", z3.Implies(given, z3.UGE(where, BEFORE[BASE] - GUARD)))
            prove("high end", z3.Implies(given, z3.ULE(where + 8, BEFORE[BASE] + SIZE + GUARD)))
        for reg in range(16):
            want = REFUSED if SECRET >> reg & 1 else 0
            assert verifier.so.prove_masks(shift, reg, 65521) == want, NAMES[reg]
    for align in (4, 8):
        for disp in range(-16, 17):
            insn = Insn(len=8, arena=True, index=NO_INDEX, align=align, disp=disp)
            assert bool(verifier.transfer(SHIFT, insn)) == (disp % align == 0), "align"
        where = BEFORE[BASE] + index + DISP
        given = z3.And(SANE, index & align - 1 == 0, DISP & align - 1 == 0)
        prove("aligned", z3.Implies(given, where & align - 1 == 0))


def prove_claims(verifier: Verifier) -> None:
    rows = [prove_row(verifier, row) for row in verifier.rows()]
    accepted = 0
    for code, mine in verifier.search():
        try:
            accepted += prove_form(verifier, code, mine)
        except (AssertionError, KeyError) as wrong:
            text = model.disassemble(code)
            raise AssertionError(f"{code.hex(' ')}: {text}: {wrong!r}") from wrong
    print(f"claims: {accepted} forms of instructions, {len(rows)} rows with {sum(rows)} ways")


# -- claims: rows -------------------------------------------------------------------------


class Names:
    """Makes fresh variables; those whose name begins with "kernel" must not leak."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, kind: str, bits: int = 64) -> z3.BitVecRef:
        self.count += 1
        return z3.BitVec(f"{kind}_{self.count}", bits)


class Way:
    """A path through a row, up to some position."""

    def __init__(self, at: int, state: State, words: Words, given: list[z3.BoolRef]) -> None:
        self.at, self.words, self.given = at, words, given
        self.state = State(
            list(state.regs), dict(state.flags), words.load, words.store, [], list(state.traps)
        )

    def fork(self, at: int, given: z3.BoolRef | None = None) -> Way:
        more = [] if given is None else [given]
        return Way(at, self.state, self.words.copy(), self.given + more)


class Row:
    """All paths through a row of instructions; a row is left only at its end."""

    def __init__(self, row: list[int], mine: Insn) -> None:
        self.row, self.mine, self.names = row, mine, Names()
        # Wildcard bytes get a fixed value; a call's target is far away.
        self.code = bytes(0x11 if byte >= ANY else byte for byte in row)
        self.ends: list[Way] = []
        self.calls = 0
        state = symbolic()
        self.go(Way(0, state, Words(BEFORE[STACK], BEFORE[MACHINE]), []))

    def hole(self, at: int) -> int:
        return self.row[at] if self.row[at] >= ANY else 0

    def go(self, way: Way) -> None:
        while way.at < len(self.code):
            insn = model.disassemble(self.code[way.at :], way.at)
            assert insn, "no instruction"
            end = way.at + insn.size
            if insn.mnemonic[0] == "j":
                to = insn.operands[0].imm
                if insn.mnemonic == "jmp":
                    way.at = to
                    continue
                taken = model.condition(way.state, insn.mnemonic[1:])
                assert way.at < to <= len(self.code), "leads out of the row"
                self.go(way.fork(to, taken))
                way = way.fork(end, z3.Not(taken))
            elif insn.mnemonic == "call":
                if not self.call(way, self.hole(way.at + 1)):
                    return
                way.at = end
            else:
                self.step(way, insn)
                way.at = end
        assert way.at == len(self.code), "leads into the middle"
        self.ends.append(way)

    def step(self, way: Way, insn: capstone.CsInsn) -> None:
        constants = {}
        if insn.imm_size and self.hole(way.at + insn.imm_offset):
            bits = insn.imm_size * 8
            constants["imm"] = model.extend(model.extract(IMM64, 0, bits), 64, True)
        known = len(way.state.traps)
        model.execute(way.state, insn, constants)
        for trap in way.state.traps[known:]:
            prove("no trap", z3.Implies(z3.And(*way.given), z3.Not(trap)))

    # What stubs.S and C keep, and whom they want what of.

    def call(self, way: Way, hole: int) -> bool:
        """Models a call; returns whether it comes back."""
        regs, kind = way.state.regs, self.mine.kind
        self.calls += 1
        assert hole in (TO, BARRIER) and regs[BASE].eq(BEFORE[BASE]), "r12"
        depth = offset(regs[STACK], BEFORE[STACK])
        assert depth is not None and -8 * self.mine.slots == depth, "the stack at a call"
        if hole == BARRIER or kind == CHARGE:
            assert kind in (CHARGE, THUNK) and regs[MACHINE].eq(BEFORE[MACHINE])
            return self.forget(way, SCRATCH, "kernel")
        if kind in (ROOM, UNLESS):  # ends the run, and reports r11 and perhaps r10
            assert regs[MACHINE].eq(BEFORE[MACHINE]) and variables(regs[R11]) <= {"imm"}
            assert same(regs[R10], BEFORE[R10])
            return False
        if kind == THUNK:
            return self.call_c(way)
        assert kind == TRY
        return self.call_routine(way)

    def forget(self, way: Way, registers: int, what: str) -> bool:
        for n in range(16):
            if registers >> n & 1:
                way.state.regs[n] = self.names.new(what)
        way.state.flags = {n: z3.Bool(f"{what}_{self.names.new(what)}") for n in "cozs"}
        return True

    def call_c(self, way: Way) -> bool:
        """r1 to r5 and the sixth argument belong to the program; C may change them."""
        regs, stack = way.state.regs, way.words.stack
        assert variables(regs[MACHINE]) == {f"machine_{RUN_AT}"}, "machine.run"
        for n in (RAX, model.RDI, model.RSI, model.RDX, RCX, model.R8):
            assert regs[n].eq(BEFORE[n]), "arguments"
        if self.mine.slots > 1:
            assert stack[-16].eq(BEFORE[RAX]), "the sixth argument"
            stack[-16] = self.names.new("kernel")
        lost = (RAX, RCX, model.RDX, model.RSI, model.RDI, model.R8, R9, R10, R11)
        self.forget(way, sum(1 << n for n in lost), "kernel")
        regs[RAX] = self.names.new("result")
        return True

    def call_routine(self, way: Way) -> bool:
        """From machine.try on, the stack has the words that confined_throw pops."""
        words = way.words
        saved = (f"machine_{TRY_SP}", "r15", "r14", "r13", "rbx", "rbp")
        for n, name in enumerate(saved):
            assert variables(words.stack[8 * n - 48]) == {name}, f"{name} is not where it is to be"
        assert same(words.machine[TRY_SP], BEFORE[STACK] - 48), "machine.try"
        assert same(way.state.regs[R10], BEFORE[model.RDI]), "the function's number"
        changed = {n for n in range(16) if n != STACK and not same(way.state.regs[n], BEFORE[n])}
        assert changed <= {n for n in range(16) if self.mine.writes >> n & 1}, "hands on"
        words.machine[TRY_SP] = self.names.new("kernel")
        keeps = 1 << STACK | 1 << MACHINE | 1 << BASE
        return self.forget(way, 0xFFFF & ~keeps, "program")


FIELDS = {CHARGE: {FUEL}, THUNK: {PC}, TRY: {TRY_SP}}
# What the flags reveal, except about registers that the row reads.
TOLD = {
    CHARGE: {f"machine_{FUEL}", "imm"},
    ROOM: {"rsp", f"machine_{NATIVE}"},
    TRY: {"rsp"},  # that it is a kernel address; no code reads its parity
    UNLESS: {f"machine_{LIMIT}", "imm"},
}


def prove_end(row: Row, way: Way, transfer: Transfer) -> int:
    """Returns the registers that hold a copy of another one."""
    mine, regs, words = row.mine, way.state.regs, way.words
    for n in (STACK, MACHINE, BASE):
        assert same(regs[n], BEFORE[n]), f"{NAMES[n]} is not kept"
    written = {n for n in range(16) if not same(regs[n], BEFORE[n])}
    callee = 0xFFFF & ~SECRET if mine.kind == TRY else 0  # keeps nothing
    assert written <= {n for n in range(16) if (mine.writes | callee) >> n & 1}, "writes more"
    allowed = names_of(mine.reads) | {"imm"}
    for n in written:
        told = {name for name in variables(regs[n]) if name.partition("_")[0] != "program"}
        told -= {name for name in told if name.startswith("result") and n == RAX}
        if not transfer.leaves >> n & 1:
            assert told <= allowed, f"{NAMES[n]} tells of {told - allowed}"
    for name, flag in way.state.flags.items():
        told = {v for v in variables(flag) if v.partition("_")[0] != "program"}
        told -= allowed | TOLD.get(mine.kind, set()) | {f"flag_{name}"}
        comes_back = mine.kind == CHARGE and way.at and any("kernel" in v for v in told)
        assert not told or comes_back, f"flags tell of {told}"
    assert words.stored <= FIELDS.get(mine.kind, set()), "writes the machine"
    assert words.lowest >= -8 * mine.slots, "pushes more"
    if mine.kind == TRY:
        assert variables(words.machine[TRY_SP]) == {f"machine_{TRY_SP}"}, "machine.try"
    return sum(1 << n for n in written)


def prove_row(verifier: Verifier, bytes_: list[int]) -> int:
    """Returns the number of paths through a row."""
    code = bytes(0x11 if byte >= ANY else byte for byte in bytes_)
    mine = verifier.decode(code)
    assert mine and mine.len == len(code), code.hex(" ")
    # Truncated, it decodes to its first instruction at most.
    cut = verifier.decode(code[:-1])
    assert not cut or cut.len == model.disassemble(code).size, f"{code.hex(' ')}: cut"
    if verifier.is_known("row", *bytes_, fields(mine), fields(verifier.transfer(SHIFT, mine))):
        return 0
    try:
        if mine.kind in (JUMP, CALL, RETURN):
            return prove_transfer_of_control(code, mine)
        transfer = verifier.transfer(SHIFT, mine)
        assert transfer and transfer.depth == 0, "is never accepted"
        row = Row(bytes_, mine)
        written = 0
        for way in row.ends:
            written |= prove_end(row, way, transfer)
        assert not mine.reads & ~transfer.deny and not mine.reads & SECRET, "reads"
        known = [a | k for a, k in zip(transfer.always, transfer.kept, strict=True)]
        assert mine.kind == TRY or not any(written & fact for fact in known), "known, and written"
        assert not any(transfer.always)
        assert row.calls == (mine.kind in (CHARGE, ROOM, UNLESS, THUNK, TRY)) + bool(mine.barrier)
        if mine.kind == CHARGE:
            prove_charge(row)
    except (AssertionError, KeyError) as wrong:
        raise AssertionError(f"row {code.hex(' ')}: {wrong!r}") from wrong
    return len(row.ends)


def prove_charge(row: Row) -> None:
    """Continues if fuel is left, and after the call."""
    left = z3.BitVec(f"machine_{FUEL}", 64) - model.extend(model.extract(IMM64, 0, 32), 64, True)
    for way in row.ends:
        assert same(way.words.machine[FUEL], left), "fuel"
        called = not way.state.regs[R11].eq(BEFORE[R11])
        prove("fuel", z3.Implies(z3.And(*way.given), (left < 0) == called))


def prove_transfer_of_control(code: bytes, mine: Insn) -> int:
    """A single instruction; followed by int3 unless control returns after it."""
    insn = model.disassemble(code)
    assert insn.mnemonic == {JUMP: "jmp", CALL: "call", RETURN: "ret"}[mine.kind]
    assert mine.kind == RETURN or insn.operands[0].imm == mine.to
    assert code[insn.size :] == (b"" if mine.kind == CALL else b"\xcc")
    assert not mine.reads | mine.writes | mine.slots
    return 1


def prove_quotients() -> None:
    """Why the quotient of a sign-extended dividend fits, except for divisors 0 and -1.

    For 8 and 16 bits; the argument is the same for 32 and 64, for which z3 takes too long: no
    quotient is further from 0 than its dividend, and only -1 negates the lowest value.
    """
    for bits in (8, 16):
        low, by = z3.BitVecs("low by", bits)
        quotient = z3.SignExt(bits, low) / z3.SignExt(bits, by)
        fits = z3.And(quotient >= -(1 << bits - 1), quotient < 1 << bits - 1)
        prove("idiv", z3.Implies(z3.And(by != 0, by != -1), fits))
        high = z3.BitVec("high", bits)
        quotient = z3.UDiv(z3.Concat(high, low), z3.ZeroExt(bits, by))
        prove("div", z3.Implies(z3.And(by != 0, z3.ULT(high, by)), z3.ULT(quotient, 1 << bits)))


# -- model --------------------------------------------------------------------------------

ARENA, RUN, STACK_AT, CODE = 0x40000000, 0x38000000, 0x39000000, 0x10000
MAPPED = (
    (ARENA - GUARD, (1 << SHIFT) + 2 * GUARD),
    (RUN, 0x1000),
    (STACK_AT, 0x2000),
)
FLAG_BITS = {"c": 0, "z": 6, "s": 7, "o": 11}


class Processor:
    """This machine's processor."""

    def __init__(self, verifier: Verifier) -> None:
        self.so = verifier.so
        for start, size in MAPPED:
            assert self.so.native_map(start, size) == 0, "no memory for the processor"

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def write(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def run(self, code: bytes, regs: list[int], flags: int) -> tuple[list[int], int]:
        values, word = (ctypes.c_uint64 * 16)(*regs), ctypes.c_uint64(flags)
        assert self.so.native_run(code, len(code), values, ctypes.byref(word)) == 0
        return list(values), word.value


class Emulator:
    """Unicorn, with only the given memory, and a code page at CODE."""

    REGS = tuple(getattr(uc, f"UC_X86_REG_{name.upper()}") for name in NAMES)

    def __init__(self) -> None:
        self.machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        for start, size in (*MAPPED, (CODE, 0x1000)):
            self.machine.mem_map(start, size)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.machine.mem_read(address, size))

    def write(self, address: int, data: bytes) -> None:
        self.machine.mem_write(address, data)

    def run(self, code: bytes, regs: list[int], flags: int) -> tuple[list[int], int]:
        for reg, value in zip(self.REGS, regs, strict=True):
            self.machine.reg_write(reg, value)
        self.machine.reg_write(uc.UC_X86_REG_EFLAGS, flags | 2)
        self.machine.mem_write(CODE, code)
        self.machine.ctl_flush_tb()
        self.machine.emu_start(CODE, CODE + len(code))
        values = [self.machine.reg_read(reg) for reg in self.REGS]
        return values, self.machine.reg_read(uc.UC_X86_REG_EFLAGS)


PATTERN = random.Random(7).randbytes(1 << 20)


def pattern(address: int, size: int) -> bytes:
    at = (address + (1 << 18)) % (1 << 19)
    return PATTERN[at : at + size]


class Concrete:
    """Memory for the model: a pattern, overlaid by stores."""

    def __init__(self) -> None:
        self.stored: dict[int, int] = {}
        self.places: list[tuple[int, int]] = []

    def load(self, _: State, address: Number, bits: int) -> Number:
        at, size = address.value, bits // 8
        self.places.append((at, size))
        there = pattern(at, size)
        data = bytes(self.stored.get(at + n, there[n]) for n in range(size))
        return Number(int.from_bytes(data, "little"), bits)

    def store(self, _: State, address: Number, value: Number) -> None:
        size = value.bits // 8
        self.places.append((address.value, size))
        data = value.value.to_bytes(size, "little")
        self.stored |= {address.value + n: byte for n, byte in enumerate(data)}


INTERESTING = (0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000)
INTERESTING += (0xFFFFFFFF, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 2)


def values_for(rng: random.Random, insn: Insn) -> list[int]:
    values = [
        rng.choice((rng.getrandbits(64), rng.getrandbits(32), rng.choice(INTERESTING)))
        for _ in NAMES
    ]
    if rng.random() < 0.2:
        values[rng.randrange(16)] = values[rng.randrange(16)]
    values[STACK], values[MACHINE], values[BASE] = STACK_AT + 0x1000, RUN + 256, ARENA
    if insn.arena and insn.index != NO_INDEX:
        values[insn.index] = rng.getrandbits(SHIFT) & ~7
    return values


def run_model(code: bytes, regs: list[int], flags: int) -> tuple[State, Concrete]:
    memory = Concrete()
    state = State(
        [Number(v, 64) for v in regs],
        {name: bool(flags >> bit & 1) for name, bit in FLAG_BITS.items()},
        memory.load,
        memory.store,
    )
    at = 0
    while at < len(code):
        insn = model.disassemble(code[at:], at)
        at += insn.size
        if insn.mnemonic[0] != "j":
            model.execute(state, insn)
        elif insn.mnemonic == "jmp" or model.condition(state, insn.mnemonic[1:]):
            at = insn.operands[0].imm
    return state, memory


def compare(where: Processor | Emulator, code: bytes, regs: list[int], flags: int) -> None:
    """The model's registers, flags and memory equal those of @where."""
    state, memory = run_model(code, regs, flags)
    assert not any(state.traps)
    around = {at - 32 for at, _ in memory.places}
    for at in around:
        where.write(at, pattern(at, 80))
    values, word = where.run(code, regs, flags)
    for n in range(16):
        want = state.regs[n].value
        assert values[n] == want, f"{NAMES[n]} is {values[n]:#x}, and {want:#x} in the model"
    for name, bit in FLAG_BITS.items():
        if name not in state.undefined:
            assert bool(word >> bit & 1) == state.flags[name], f"flag {name}"
    for at in around:
        there = pattern(at, 80)
        want = bytes(memory.stored.get(at + n, there[n]) for n in range(80))
        assert where.read(at, 80) == want, "memory"


def branch_over(code: bytes) -> bytes:
    """The branch, retargeted to skip one instruction that sets rax."""
    opcode = code[0] if code[0] != 0x0F else code[1] - 0x10
    return bytes((opcode, 7)) + bytes.fromhex("48 c7 c0 39 05 00 00")


class Comparison:
    """Random states for the model, this processor and the emulator."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier, self.rng = verifier, random.Random(1)
        self.processor, self.emulator = Processor(verifier), Emulator()
        self.counts = {Processor: 0, Emulator: 0}

    def check(self, where: Processor | Emulator, code: bytes, insn: Insn) -> None:
        regs, flags = values_for(self.rng, insn), self.rng.getrandbits(12) & 0x8C5
        self.counts[type(where)] += 1
        try:
            compare(where, code, regs, flags)
        except (AssertionError, unicorn.UcError) as wrong:
            text = f"{code.hex(' ')}: {model.disassemble(code)}, {type(where).__name__}"
            raise AssertionError(f"{text}: {wrong}, from {regs}, {flags:#x}") from wrong

    def forms(self) -> None:
        for code, insn in self.verifier.search():
            if self.verifier.transfer(SHIFT, insn) is None or is_secret(insn):
                continue
            is_branch = insn.kind == BRANCH
            run = branch_over(code) if is_branch else code
            for _ in range(64 if is_branch else STATES):
                self.check(self.processor, run, insn)
            if self.rng.random() < SAMPLE:
                self.check(self.emulator, run, insn)

    def rows(self) -> int:
        """Compares sequences without calls: divisions, and the entry."""
        rows = [bytes(r) for r in self.verifier.rows() if max(r) < ANY and r[0] != 0xC3]
        for row in rows:
            for n in range(ROW_STATES):
                self.check(self.processor, row, Insn())
                if n % 10 == 0:
                    self.check(self.emulator, row, Insn())
        return len(rows)


def prove_model(verifier: Verifier) -> None:
    comparison = Comparison(verifier)
    comparison.forms()
    rows = comparison.rows()
    ran, emulated = comparison.counts.values()
    print(f"model: {ran} states on this processor, {emulated} emulated; with {rows} rows")


STATES, SAMPLE, ROW_STATES = 2, 0.05, 2000
PARTS = {
    **{"claims": prove_claims, "places": prove_places, "decoder": prove_decoder},
    "model": prove_model,
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--known", type=Path)
    options.add_argument("library")
    options.add_argument("parts", nargs="*")
    args = options.parse_args()
    verifier = Verifier(args.library)
    if args.known and args.known.exists():
        verifier.known = pickle.loads(args.known.read_bytes())
    for name in args.parts or PARTS:
        start = time.time()
        PARTS[name](verifier)
        print(f"{name}: {time.time() - start:.1f} s", flush=True)
    if args.known and not args.known.exists():
        args.known.write_bytes(pickle.dumps(verifier.proven))


if __name__ == "__main__":
    main()
