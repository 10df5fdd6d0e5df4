#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves what docs/design/proof.md says of A64's instructions: make prove ARCH=arm64.

It asks the verifier itself, compiled for this machine (prove_arm64.c).

  words     all 2^32 words: those that the verifier accepts, alone or in the sequences that compute
            an address, are encodings of model_arm64.py, and it reads their fields as given there
  claims    for every accepted form of a word, with all values of registers and constants (z3):
            its effect on the state, as defined by model_arm64.py, is the one that the verifier
            assumes; so for the sequences that are checked as one instruction
  places    where accepted words access the arena
  model     model_arm64.py agrees with an emulator (unicorn) in random states

Usage: prove_arm64.py LIBRARY [PART...]
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing.pool import ThreadPool
from pathlib import Path

import unicorn
import z3
from unicorn import arm64_const as uc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import model_arm64 as model
from confined import proof
from confined.model import Number, State
from confined.model_arm64 import ENCODINGS, NAMES, Encoding
from confined.proof import (
    BRANCH,
    CALL,
    CHARGE,
    ENTRY,
    GUARD,
    JUMP,
    LINK,
    LOADED,
    MASK,
    MASK_COPY,
    MOVE_FRAME,
    NO_INDEX,
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
    UNLINK,
    Memory,
    Words,
    limits,
    offset,
    prove,
    same,
    variables,
)

Insn, Transfer = proof.structures(ctypes.c_uint32)
FRAME, BASE, MACHINE, FUEL_IN, FRAME_PLACE, STACK, RETURN_TO = 23, 24, 25, 26, 27, 28, 30
PLACES = range(10, 14)
ADDRESS, SCRATCH = 9, (9, 16, 17)
PROGRAM = (0, 1, 2, 3, 4, 6, 19, 20, 21, 22)
SECRET = sum(1 << n for n in range(32) if n not in (*PROGRAM, *SCRATCH, FRAME))
# Offsets in struct machine
FUEL, LIMIT, NATIVE, USER, TRY_SP, PC, RUN_AT = 0, 8, 16, 24, 40, 60, 128
FORMS = 4096  # of prove_arm64.c


class CEncoding(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("value", "mask", "constant", "does", "where")]


class Form(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("encoding", "bits", "word", "used")),
        ("n", ctypes.c_uint64),
    ]


class Context(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("before", "after")),
        *((name, ctypes.c_bool) for name in ("has_before", "has_after")),
    ]


class Part(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint32), ("mask", ctypes.c_uint32)]


Parts = list[tuple[int, int]]


class Verifier(proof.Verifier):
    def __init__(self, path: str) -> None:
        super().__init__(path, Insn, Transfer)
        self.so.prove_row.restype = ctypes.POINTER(Part)
        self.so.prove_words.restype = ctypes.c_uint64
        self.table = (CEncoding * len(ENCODINGS))(
            *(CEncoding(e.value, e.mask, e.constant, e.does, e.where) for e in ENCODINGS)
        )
        self.found: dict[tuple, list[Form]] = {}

    def sweep(self, context: Context, mask: int, value: int) -> list[Form]:
        forms, wrong = (Form * FORMS)(), ctypes.c_uint32()
        bad = self.so.prove_words(
            *(self.table, len(self.table), ctypes.byref(context), mask, value),
            *(forms, ctypes.byref(wrong)),
        )
        assert not bad, f"{bad} words are not read as encoded, such as {wrong.value:#010x}"
        return [form for form in forms if form.n]

    def forms(self, before: int = 0, after: int = 0, mask: int = 0, value: int = 0) -> list[Form]:
        """The accepted forms of words between two others, if given."""
        key = (before, after, mask, value)
        if key not in self.found:
            context = Context(before, after, bool(before), bool(after))
            # In parts, by three bits that are not fixed.
            free = [bit for bit in range(32) if not mask >> bit & 1][-3:]
            parts = [
                sum(1 << bit for bit, on in zip(free, bits, strict=True) if on)
                for bits in itertools.product((0, 1), repeat=3)
            ]
            mask |= sum(1 << bit for bit in free)
            with ThreadPool(os.cpu_count()) as pool:
                swept = pool.map(lambda part: self.sweep(context, mask, value | part), parts)
            forms: dict[tuple[int, int], Form] = {}
            for form in itertools.chain(*swept):
                known = forms.setdefault((form.encoding, form.bits), form)
                known.n += form.n if known is not form else 0
            self.found[key] = list(forms.values())
        return self.found[key]

    def rows(self) -> list[Parts]:
        length, rows = ctypes.c_uint32(), []
        while row := self.so.prove_row(len(rows), ctypes.byref(length)):
            rows.append([(part.value, part.mask) for part in row[: length.value]])
        return rows


# -- words --------------------------------------------------------------------------------

START = 0x91000369  # add x9, x27, #0
END = 0xF9400121  # ldr x1, [x9]
IS_ADDRESS = 31, ADDRESS  # in the bits of the result, or of the base
AT_ADDRESS = 31 << 5, ADDRESS << 5


def contexts(verifier: Verifier) -> dict[str, list[Form]]:
    """The accepted words alone, and in each position of a sequence that computes an address."""
    return {
        "alone": verifier.forms(),
        "first": verifier.forms(0, END, *IS_ADDRESS),
        "between": verifier.forms(START, END, *IS_ADDRESS),
        "last": verifier.forms(START, 0, *AT_ADDRESS),
    }


def prove_words(verifier: Verifier) -> None:
    for name, forms in contexts(verifier).items():
        print(f"words: {sum(f.n for f in forms):,} accepted {name}, in {len(forms)} forms")
    # Words that neither write x9 nor use it: none is part of such a sequence. A sample.
    rng = random.Random(3)
    for before, after in ((0, END), (START, END), (START, 0)):
        mask = 0xFFFF_0000
        for _ in range(64):
            value = rng.getrandbits(16) << 16
            forms = verifier.sweep(
                Context(before, after, bool(before), bool(after)), mask, value & mask
            )
            for form in forms:
                at = 5 if not after else 0
                assert form.word >> at & 31 == ADDRESS, f"{form.word:#x}"


# -- claims: single words -----------------------------------------------------------------

X = z3.BitVecs(NAMES, 64)
SIZE, DISP = z3.BitVecs("size disp", 64)
CONSTANTS = z3.BitVec("constants", 32)
# Distances from the arena's beginning, of registers that have addresses of it.
OFFSETS = {n: z3.BitVec(f"offset{n}", 64) for n in (FRAME_PLACE, *PLACES)}
BEFORE = [X[BASE] + OFFSETS[n] if n in OFFSETS else X[n] for n in range(31)]
# The arena is page-aligned and does not wrap around; its size is 2^16 to 2^30. So are x27, and
# x10 to x13 where they are known to be masked.
SANE = z3.And(
    z3.UGE(X[BASE], 1 << 32),
    z3.ULE(X[BASE], -(1 << 32) % (1 << 64)),
    X[BASE] & 0xFFF == 0,
    z3.Or(*(SIZE == 1 << shift for shift in SHIFTS)),
)


def low_half(value: z3.BitVecRef) -> z3.BitVecRef:
    return z3.ZeroExt(32, z3.Extract(31, 0, value))


def symbolic() -> State:
    flags = {name: z3.Bool(f"flag_{name}") for name in "cozs"}
    memory = Memory()
    return State(list(BEFORE), flags, memory.load, memory.store)


def names_of(registers: int) -> set[str]:
    return {name for n, name in enumerate(NAMES) if registers >> n & 1}


def prove_same(address: z3.BitVecRef, want: z3.BitVecRef) -> None:
    if not same(address, want):
        prove("where it is said to be", address == want)


def index_of(mine: Insn, word: int) -> z3.BitVecRef:
    """The distance from the arena's beginning that an address has, except for constants."""
    base = word >> 5 & 31
    if base in OFFSETS:
        assert mine.index == (FRAME if base == FRAME_PLACE else base)
        return OFFSETS[base]
    assert base == BASE
    return z3.BitVecVal(0, 64) if mine.index == NO_INDEX else low_half(X[mine.index])


def distance_of(word: int, constants: z3.BitVecRef) -> z3.BitVecRef:
    """The constant in an address, by the encoding."""
    encoding = model.encoding_of(word)
    if encoding.where == model.SCALED:
        return z3.ZeroExt(52, z3.Extract(21, 10, constants)) << (word >> 30)
    if encoding.where == model.UNSCALED:
        return z3.SignExt(55, z3.Extract(20, 12, constants))
    return z3.BitVecVal(0, 64)


def prove_accesses(mine: Insn, word: int, after: State, constants: z3.BitVecRef) -> None:
    for access in after.accesses:
        if mine.kind in (PUSH, POP, LINK, UNLINK):
            pushes = mine.kind in (PUSH, LINK)
            assert offset(access.address, X[STACK]) == (-8 if pushes else 0), "stack"
            assert access.bits == 64 and (access.stored is not None) == pushes, "stack"
        elif mine.arena:
            want = X[BASE] + index_of(mine, word) + distance_of(word, constants)
            prove_same(access.address, want)
            assert access.bits <= 64 and not mine.align and not access.locked
            if access.stored is not None:
                assert variables(access.stored) <= names_of(mine.reads), "tells"
        else:
            assert offset(access.address, X[MACHINE]) == USER, "machine"
            assert access.stored is None and access.bits == 64, "machine"


def prove_registers(mine: Insn, after: State) -> set[int]:
    """The word writes only the registers that the verifier says. Returns these."""
    written = {n for n in range(31) if not after.regs[n].eq(BEFORE[n])}
    moved = {STACK} if mine.kind in (PUSH, POP, LINK, UNLINK) else set()
    if mine.kind == UNLINK:
        moved.add(RETURN_TO)
    places = {n for n in PLACES if mine.places >> n & 1}
    if mine.arena and FRAME_PLACE in written:
        places.add(FRAME_PLACE)
    for n in places & written:
        assert offset(after.regs[n] - low_half(X[mine.index]), X[BASE]) == 0, "no place"
    declared = {n for n in range(31) if mine.writes >> n & 1}
    assert written <= declared | moved | places, "writes more"
    kept = {n for n in range(31) if SECRET >> n & 1} - moved - places
    assert not written & kept, "writes what is to be kept"
    assert FRAME not in written or mine.kind in (MASK, MOVE_FRAME), "writes the frame's place"
    if moved:
        want = -8 if mine.kind in (PUSH, LINK) else 8
        assert offset(after.regs[STACK], X[STACK]) == want, "the stack pointer"
    allowed = names_of(mine.reads) | LOADED | {"constants", "mask"}
    for n in written - moved - places:
        assert variables(after.regs[n]) <= allowed, f"{NAMES[n]} tells of more"
    for name, flag in after.flags.items():
        assert variables(flag) <= allowed | {f"flag_{name}"}, f"flag {name} tells of more"
    return written - moved


def prove_facts(mine: Insn, transfer: Transfer, after: State, written: set[int]) -> None:
    """The facts after the word are true, and values of the kernel stay marked."""
    assert not mine.reads & ~transfer.deny and not mine.reads & SECRET, "reads"
    assert transfer.set & ~sum(1 << n for n in written) == 0, "is set without being written"
    depth = {PUSH: 1, LINK: 1, POP: -1, UNLINK: -1}.get(mine.kind, 0)
    assert transfer.leaves == 0 and transfer.depth == depth
    if mine.arena and mine.index != NO_INDEX:
        assert transfer.need[0] >> mine.index & 1, "not masked"
    for n in written:
        kept = [fact >> n & 1 for fact in transfer.kept]
        always = [fact >> n & 1 for fact in transfer.always]
        if mine.kind in (MASK, MASK_COPY):
            assert n == mine.reg and (mine.kind == MASK) == bool(mine.reads >> n & 1)
            prove_mask(mine, after.regs[n], always, kept)
        elif mine.kind == MOVE_FRAME:
            step = z3.ZeroExt(52, z3.Extract(21, 10, CONSTANTS))
            given = z3.And(BEFORE[n] & 7 == 0, step & 7 == 0)
            prove("a multiple of 8", z3.Implies(given, after.regs[n] & 7 == 0))
            assert kept[0] == 0 and not any(always) and n == FRAME
        elif mine.places >> n & 1:
            assert always == [1, 0, 0], "no place"
        else:
            assert n == FRAME_PLACE or not (any(kept) or any(always)), "known, and written"
    others = ~sum(1 << n for n in written)
    assert not any(fact & others for fact in transfer.always), "known of nothing"


def prove_mask(mine: Insn, result: z3.BitVecRef, always: list[int], kept: list[int]) -> None:
    """What verify_step() makes of this constant, and prove_masks() of others, is true of all."""
    mask = z3.ZeroExt(32, z3.BitVec("mask", 32))
    before = z3.BitVec("before", 64)
    prove("a mask", z3.Implies(z3.ULT(mask, SIZE), z3.ULT(result, SIZE)))
    for n in (3, 7):
        prove("a multiple", z3.Implies(mask & n == 0, result & n == 0))
        masked = low_half(before) & mask
        prove("a multiple as before", z3.Implies(before & n == 0, masked & n == 0))
    imm = mine.imm & 0xFFFFFFFF
    assert always[0] <= (imm < 1 << SHIFT)
    assert always[1] <= (imm & 3 == 0) and always[2] <= (imm & 7 == 0)
    assert mine.kind == MASK or not any(kept), "another register's facts"


def with_registers(form: Form, rng: random.Random, n: int) -> Iterator[int]:
    """Words of the form with other registers: special ones, equal ones, any."""
    lows = [low for low in (0, 5, 10, 16) if form.used >> low & 31 == 31]
    special = (0, 1, 9, 10, 16, 17, 19, 23, 24, 25, 26, 27, 28, 30, 31)
    yield form.word
    for _ in range(n if lows else 0):
        word, one = form.word & ~form.used, rng.choice(special)
        for low in lows:
            word |= rng.choice((one, rng.choice(special), rng.randrange(32))) << low
        yield word


def is_secret(mine: Insn) -> bool:
    """Is its index a register that is never masked? prove_places() shows that it is not."""
    return mine.index < 32 and mine.index not in PLACES and bool(SECRET >> mine.index & 1)


def prove_word(verifier: Verifier, word: int) -> bool:
    """Proves one word, with any constants; returns whether it is accepted anywhere."""
    mine = verifier.decode(word.to_bytes(4, "little"))
    transfer = verifier.transfer(SHIFT, mine) if mine else None
    if not transfer or is_secret(mine):
        return False
    encoding = model.encoding_of(word)
    if encoding.name == "b.":
        assert word & 15 not in (4, 5, 6, 7, 14, 15), "reads the sign or overflow alone"
    if mine.kind in (JUMP, BRANCH, CALL, RETURN, ENTRY):
        assert encoding.do is None and not mine.writes | mine.leaves | mine.places
        return True
    # These constants are the only ones.
    fixed = encoding.where in (model.BEFORE, model.AFTER) or (
        encoding.where == model.SCALED and not mine.arena
    )
    constants = z3.BitVecVal(word, 32) if fixed else CONSTANTS
    after = symbolic()
    model.execute(after, word, constants)
    assert not after.traps
    prove_accesses(mine, word, after, constants)
    prove_facts(mine, transfer, after, prove_registers(mine, after))
    return True


VARIANTS = 200  # of each form, with other registers


def prove_claims(verifier: Verifier) -> None:
    rng, proven = random.Random(5), 0
    ways = [prove_row(verifier, row) for row in rows_of(verifier)]
    for form in verifier.forms():
        for word in with_registers(form, rng, VARIANTS):
            try:
                proven += prove_word(verifier, word)
            except (AssertionError, KeyError) as wrong:
                name = ENCODINGS[form.encoding].name
                raise AssertionError(f"{word:#010x}, {name}: {wrong!r}") from wrong
    sequences = prove_addresses(verifier)
    print(
        f"claims: {len(verifier.forms())} forms with {proven} choices of registers,"
        f" {len(ways)} sequences with {sum(ways)} ways, {sequences} that compute addresses"
    )


# -- claims: sequences that compute an address --------------------------------------------


def addresses(verifier: Verifier) -> Iterator[list[Form]]:
    """All firsts and words between, with some accesses; and all accesses."""
    first, between, last = (contexts(verifier)[name] for name in ("first", "between", "last"))
    few = [
        next(f for f in last if ENCODINGS[f.encoding].where == w)
        for w in (model.SCALED, model.UNSCALED, model.ATOMIC)
    ]
    for begin, end in itertools.product(first, few):
        yield [begin, end]
        for middle in between:
            yield [begin, middle, end]
    for begin, end in itertools.product(first, last):
        yield [begin, end]


def at_address(word: int, base: int = ADDRESS) -> int:
    return word & ~(31 << 5) | base << 5


TRIES = 2000  # of other registers for a sequence, of which many are refused


def prove_addresses(verifier: Verifier) -> int:
    """Returns the number of sequences."""
    rng, n = random.Random(6), 0
    for forms in addresses(verifier):
        proven = 0
        for _ in range(TRIES):
            words = [
                # verify_step() accepts small constants; here they are any.
                [*with_registers(form, rng, 1)][1] & ~ENCODINGS[form.encoding].constant
                for form in forms
            ]
            words[:-1] = [at_address(word & ~31 | ADDRESS) for word in words[:-1]]
            words[-1] = at_address(words[-1])
            sums = ENCODINGS[forms[0].encoding].name == "sum"
            base = BASE if sums else rng.choice((BASE, FRAME_PLACE, *PLACES))
            words[0] = at_address(words[0], base)
            proven += prove_address(verifier, words)
            if proven == 4:
                break
        assert proven, f"{[hex(form.word) for form in forms]} is never accepted"
        n += proven
    return n


def prove_address(verifier: Verifier, words: list[int]) -> bool:
    mine = verifier.decode(b"".join(word.to_bytes(4, "little") for word in words))
    if not mine or mine.len != 4 * len(words):
        return False
    transfer = verifier.transfer(SHIFT, mine)
    if not transfer or is_secret(mine):
        return False
    after, total = symbolic(), z3.BitVecVal(0, 64)
    for at, word in enumerate(words):
        constants = z3.BitVec(f"constants{at}", 32)
        model.execute(after, word, constants)
        if at + 1 < len(words):
            encoding = model.encoding_of(word)
            if encoding.name == "add #":
                by = z3.ZeroExt(52, z3.Extract(21, 10, constants)) << 12 * (word >> 22 & 1)
                total = total - by if word >> 30 & 1 else total + by
        else:
            total = total + distance_of(word, constants)
    want = X[BASE] + index_of(mine, words[0]) + total
    for access in after.accesses:
        prove_same(access.address, want)
        assert mine.align * 8 == (access.bits if access.locked else 0), "align"
        if access.stored is not None:
            assert variables(access.stored) <= names_of(mine.reads) | LOADED, "tells"
    assert after.accesses and mine.arena
    assert transfer.leaves == 1 << ADDRESS and mine.writes >> ADDRESS & 1
    if mine.index != NO_INDEX:
        assert transfer.need[0] >> mine.index & 1, "not masked"
        assert mine.align != 4 or transfer.need[1] >> mine.index & 1, "not aligned"
        assert mine.align != 8 or transfer.need[2] >> mine.index & 1, "not aligned"
    written = {n for n in range(31) if not after.regs[n].eq(BEFORE[n])}
    assert written <= {n for n in range(31) if mine.writes >> n & 1}, "writes more"
    assert not mine.reads & ~transfer.deny and not mine.reads & (SECRET | 1 << ADDRESS)
    for n in written - {ADDRESS}:
        assert not SECRET >> n & 1 and n != FRAME, "writes what is to be kept"
        assert variables(after.regs[n]) <= names_of(mine.reads) | LOADED, "tells"
        assert not any(f >> n & 1 for f in (*transfer.kept, *transfer.always)), "known"
    assert all(same(flag, z3.Bool(f"flag_{name}")) for name, flag in after.flags.items())
    return True


# -- claims: other sequences --------------------------------------------------------------


class Way:
    """A path through a sequence, up to some word."""

    def __init__(self, at: int, state: State, words: Words, given: list[z3.BoolRef]) -> None:
        self.at, self.words, self.given, self.called = at, words, given, 0
        self.state = State(list(state.regs), dict(state.flags), words.load, words.store)

    def fork(self, at: int, given: z3.BoolRef) -> Way:
        way = Way(at, self.state, self.words.copy(), [*self.given, given])
        way.called = self.called
        return way


# C may change these; of them the program's are x0 to x4 and x6.
BY_C = (*range(19), RETURN_TO)


class Row:
    """All paths through a sequence; it is left only at its end."""

    def __init__(self, parts: Parts, mine: Insn) -> None:
        self.parts, self.mine, self.count = parts, mine, 0
        self.ends: list[Way] = []
        self.calls = 0
        self.go(Way(0, symbolic(), Words(X[STACK], X[MACHINE]), []))

    def fresh(self, kind: str) -> z3.BitVecRef:
        self.count += 1
        return z3.BitVec(f"{kind}_{self.count}", 64)

    def go(self, way: Way) -> None:
        while way.at < len(self.parts):
            word, mask = self.parts[way.at]
            name = model.encoding_of(word).name
            if name == "b.":
                to = way.at + (word >> 5 & 0x7FFFF)
                assert mask == 0xFFFFFFFF and way.at < to <= len(self.parts), "leads out"
                taken = model.taken(way.state, word)
                self.go(way.fork(to, taken))
                way.given.append(z3.Not(taken))
            elif name == "b, bl":
                assert word >> 31 and mask == 0xFC000000
                self.calls += 1
                way.called += 1
                if not self.call(way):
                    return
            else:
                constants = z3.BitVecVal(word, 32)
                if mask != 0xFFFFFFFF:
                    encoding = model.encoding_of(word)
                    assert ~mask & 0xFFFFFFFF & ~encoding.constant == 0, "more than constants"
                    constants = z3.BitVec(f"constants{way.at}", 32)
                model.execute(way.state, word, constants)
            way.at += 1
        self.ends.append(way)

    # What stubs.S and C keep, and what they are given.

    def call(self, way: Way) -> bool:
        """Models a call; returns whether it comes back."""
        regs, kind = way.state.regs, self.mine.kind
        assert same(regs[MACHINE], X[MACHINE]) and same(regs[BASE], X[BASE])
        assert offset(regs[STACK], X[STACK]) == -8 * self.mine.slots, "the stack at a call"
        if kind == TRY:
            return self.call_routine(way)
        if kind == THUNK and self.mine.barrier and way.called == 1:
            return self.forget(way, (*SCRATCH, RETURN_TO), "kernel")
        if kind == THUNK:
            return self.call_c(way)
        # confined_poll, confined_fault_stack and confined_fault_access: a number is reported
        assert constants_alone(regs[17]), "reports more"
        if self.mine.reads >> 16 & 1:
            assert same(regs[16], X[16]), "reports another address"
        self.forget(way, (*set(BY_C) - set(PROGRAM), FUEL_IN), "kernel")
        if kind in (ROOM, UNLESS):  # the arena may have another address, and x27 follows it
            regs[FRAME_PLACE] = regs[FRAME_PLACE] - regs[BASE]
            regs[BASE] = z3.BitVec("base_after", 64)
            regs[FRAME_PLACE] = regs[FRAME_PLACE] + regs[BASE]
        return True

    def forget(self, way: Way, registers: tuple[int, ...], what: str) -> bool:
        for n in registers:
            way.state.regs[n] = self.fresh(what)
        # Those of a comparison with a constant: see stubs.S.
        way.state.flags = {n: z3.Bool(f"stub_{n}_{self.count}") for n in "cozs"}
        return True

    def call_c(self, way: Way) -> bool:
        regs = way.state.regs
        assert variables(regs[5]) == {f"machine_{RUN_AT}"}, "machine.run"
        for n in (0, 1, 2, 3, 4, 6):
            assert regs[n].eq(X[n]), "arguments"
        assert same(way.words.machine[FUEL], X[FUEL_IN]), "machine.fuel"
        self.forget(way, BY_C, "kernel")
        way.state.flags = {n: z3.Bool(f"kernel_{n}") for n in "cozs"}
        regs[0] = self.fresh("result")
        way.words.machine[FUEL] = self.fresh("fuel")
        return True

    def call_routine(self, way: Way) -> bool:
        """From machine.try on, the stack has the words that confined_throw pops."""
        words, regs = way.words, way.state.regs
        saved = (f"machine_{TRY_SP}", "x22", "x21", "x20", "x19", "x23", "x30")
        for n, name in enumerate(saved):
            assert variables(words.stack[8 * n - 56]) == {name}, f"{name} is not where it is to be"
        assert same(words.machine[TRY_SP], X[STACK] - 56), "machine.try"
        assert same(regs[16], X[0]), "the function's number"
        changed = {n for n in range(31) if n != STACK and not same(regs[n], BEFORE[n])}
        assert changed <= {n for n in range(31) if self.mine.writes >> n & 1}, "hands on"
        words.machine[TRY_SP] = self.fresh("kernel")
        keeps = (STACK, MACHINE, BASE, FRAME_PLACE)
        return self.forget(way, tuple(n for n in range(31) if n not in keeps), "program")


def constants_alone(value: z3.BitVecRef) -> bool:
    return all(name.startswith("constants") for name in variables(value))


FIELDS = {THUNK: {PC, FUEL}, TRY: {TRY_SP}}
# What the flags reveal, except about registers that the sequence reads.
TOLD = {
    CHARGE: {"x26"},
    ROOM: {"x28", f"machine_{NATIVE}"},
    UNLESS: {f"machine_{LIMIT}"},
}


def prove_end(row: Row, way: Way, transfer: Transfer) -> int:
    """Returns the registers that were written."""
    mine, regs, words = row.mine, way.state.regs, way.words
    for n in (STACK, MACHINE):
        assert same(regs[n], BEFORE[n]), f"{NAMES[n]} is not kept"
    moved = str(regs[BASE]) == "base_after"
    assert moved or same(regs[BASE], X[BASE]), "x24 is not kept"
    assert offset(regs[FRAME_PLACE] - OFFSETS[FRAME_PLACE], regs[BASE]) == 0, "x27 is lost"
    written = {n for n in range(31) if not same(regs[n], BEFORE[n])}
    written -= {BASE, FRAME_PLACE} if moved else set()
    may = mine.writes | mine.leaves
    if way.called:  # what no code reads
        may |= sum(1 << n for n in BY_C if n not in PROGRAM and n not in SCRATCH)
    may |= 1 << FUEL_IN if mine.kind in (CHARGE, THUNK) or way.called else 0
    if mine.kind == TRY:
        assert same(regs[RETURN_TO], X[RETURN_TO]), "the return address"
        may |= ~(1 << STACK | 1 << MACHINE | 1 << BASE)
    assert written <= {n for n in range(31) if may >> n & 1}, "writes more"
    allowed = names_of(mine.reads)
    # check_call() of verify_code.c: after calls of routines, scratch registers are the kernel's.
    leaves = transfer.leaves | (sum(1 << n for n in SCRATCH) if mine.kind == TRY else 0)
    for n in written:
        told = {v for v in variables(regs[n]) if v.partition("_")[0] != "program"}
        told -= {v for v in told if v.startswith(("constants", "result"))}
        if n in (*PROGRAM, FRAME, *SCRATCH) and not leaves >> n & 1:
            assert told <= allowed, f"{NAMES[n]} tells of {told - allowed}"
    for name, flag in way.state.flags.items():
        told = {v for v in variables(flag) if v.partition("_")[0] not in ("program", "stub")}
        told -= allowed | TOLD.get(mine.kind, set()) | {f"flag_{name}"}
        assert not {v for v in told if not v.startswith("constants")}, f"flags tell of {told}"
    assert words.stored <= FIELDS.get(mine.kind, set()), "writes the machine"
    assert words.lowest >= -8 * mine.slots, "pushes more"
    if mine.kind == TRY:
        assert variables(words.machine[TRY_SP]) == {f"machine_{TRY_SP}"}, "machine.try"
    return sum(1 << n for n in written)


def rows_of(verifier: Verifier) -> list[Parts]:
    high, charge, *others, barrier = verifier.rows()
    jump, leave = (0x14000000, 0xFC000000), (0xD65F03C0, 0xFFFFFFFF)
    return [charge, high + charge, *others, [jump, *barrier], [leave, *barrier]]


def prove_row(verifier: Verifier, parts: Parts) -> int:
    """Returns the number of paths through a sequence."""
    code = b"".join(value.to_bytes(4, "little") for value, _ in parts)
    mine = verifier.decode(code)
    assert mine and mine.len == len(code), code.hex(" ")
    cut = verifier.decode(code[:-4])
    assert not cut or cut.len < len(code) - 4 or cut.runs_on, f"{code.hex(' ')}: cut"
    if mine.kind in (JUMP, RETURN):
        assert not mine.runs_on and not mine.reads | mine.writes | mine.slots
        return 1
    transfer = verifier.transfer(SHIFT, mine)
    assert transfer and transfer.depth == 0, "is never accepted"
    try:
        row = Row(parts, mine)
        written = 0
        for way in row.ends:
            written |= prove_end(row, way, transfer)
        assert not mine.reads & ~transfer.deny and not mine.reads & SECRET, "reads"
        known = [a | k for a, k in zip(transfer.always, transfer.kept, strict=True)]
        usable = sum(1 << n for n in (*PROGRAM, FRAME, *SCRATCH, *PLACES))
        assert mine.kind == TRY or not any(written & usable & f for f in known[:1]), "masked"
        assert mine.kind == TRY or not any(
            written & usable & ~sum(1 << n for n in PLACES) & f for f in known
        ), "known, and written"
        assert not any(transfer.always)
        assert row.calls == 1 + bool(mine.barrier)
        if mine.kind == CHARGE:
            prove_charge(row, len(parts))
        if mine.kind in (ROOM, UNLESS):
            prove_comparison(row)
    except (AssertionError, KeyError) as wrong:
        raise AssertionError(f"sequence {code.hex(' ')}: {wrong!r}") from wrong
    return len(row.ends)


def prove_charge(row: Row, length: int) -> None:
    """Continues if fuel is left, and after the call."""
    paid = z3.BitVecVal(0, 64)
    for at in range(length - 4):
        piece = z3.ZeroExt(52, z3.Extract(21, 10, z3.BitVec(f"constants{at}", 32)))
        paid += piece << (12 if at + 5 < length else 0)
    left = X[FUEL_IN] - paid
    for way in row.ends:
        prove("fuel", z3.Implies(z3.And(*way.given), (left < 0) == bool(way.called)))
        if not way.called:
            prove("fuel", way.state.regs[FUEL_IN] == left)


def prove_comparison(row: Row) -> None:
    """Continues without a call if there is room, or the address is in its range."""
    if row.mine.kind == ROOM:
        fits = z3.UGE(X[STACK], z3.BitVec(f"machine_{NATIVE}", 64))
    elif row.mine.reads >> FRAME & 1:
        limit = z3.BitVec(f"machine_{LIMIT}", 64)
        fits = z3.Extract(31, 0, X[FRAME]) >= z3.Extract(31, 0, limit)
    else:
        fits = z3.ULE(X[17], X[ADDRESS])
    for way in row.ends:
        prove("comparison", z3.Implies(z3.And(*way.given), fits == (not way.called)))


# -- places -------------------------------------------------------------------------------


def prove_places(verifier: Verifier) -> None:
    """Any access that prove_accesses() allows is within the arena and its guards."""
    index = z3.BitVec("index", 64)
    for shift in SHIFTS:
        for reg in (0, 10, FRAME, NO_INDEX):
            low, high = limits(verifier, shift, Insn(len=8, arena=True, index=reg))
            masked = z3.ULT(index, SIZE) if reg != NO_INDEX else index == 0
            given = z3.And(SANE, SIZE == 1 << shift, masked, low <= DISP, high >= DISP)
            where = X[BASE] + index + DISP
            prove("low end", z3.Implies(given, z3.UGE(where, X[BASE] - GUARD)))
            prove("high end", z3.Implies(given, z3.ULE(where + 8, X[BASE] + SIZE + GUARD)))
        for reg in range(31):
            want = REFUSED if SECRET >> reg & 1 else 0
            assert verifier.so.prove_masks(shift, reg, 65521) == want, NAMES[reg]
    prove("half", z3.Implies(z3.And(SANE, z3.ULT(index, SIZE)), low_half(index) == index))
    for align in (4, 8):
        for disp in range(-16, 17):
            insn = Insn(len=8, arena=True, index=NO_INDEX, align=align, disp=disp)
            assert bool(verifier.transfer(SHIFT, insn)) == (disp % align == 0), "align"
        where = X[BASE] + index + DISP
        given = z3.And(SANE, index & align - 1 == 0, DISP & align - 1 == 0)
        prove("aligned", z3.Implies(given, where & align - 1 == 0))


# -- model --------------------------------------------------------------------------------

ARENA, RUN, STACK_AT, CODE = 0x40000000, 0x38000000, 0x39000000, 0x10000
MAPPED = ((ARENA - GUARD, (1 << SHIFT) + 2 * GUARD), (RUN, 0x1000), (STACK_AT, 0x2000))
FLAG_BITS = {"s": 31, "z": 30, "c": 29, "o": 28}
INTERESTING = (0, 1, 7, 0x7F, 0x80, 0xFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
INTERESTING += (1 << 63, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 2)


class Emulator:
    """Unicorn, with memory whose every byte depends on its address."""

    REGS = tuple(getattr(uc, f"UC_ARM64_REG_{name.upper()}") for name in NAMES)

    def __init__(self) -> None:
        self.machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        self.machine.ctl_set_cpu_model(uc.UC_CPU_ARM64_MAX)
        for start, size in (*MAPPED, (CODE, 0x1000)):
            self.machine.mem_map(start, size)

    def run(self, word: int, regs: list[int], flags: int) -> tuple[list[int], int]:
        for reg, value in zip(self.REGS, regs, strict=True):
            self.machine.reg_write(reg, value)
        self.machine.reg_write(uc.UC_ARM64_REG_NZCV, flags)
        self.machine.mem_write(CODE, word.to_bytes(4, "little"))
        self.machine.ctl_flush_tb()
        self.machine.emu_start(CODE, CODE + 4, count=1)
        values = [self.machine.reg_read(reg) for reg in self.REGS]
        return values, self.machine.reg_read(uc.UC_ARM64_REG_NZCV)


class Concrete:
    """Memory for the model: zeros, overlaid by what was put there, and by stores."""

    def __init__(self, there: dict[int, int]) -> None:
        self.bytes = there
        self.places: list[int] = []

    def load(self, _: State, address: Number, bits: int) -> Number:
        self.places.append(address.value)
        data = bytes(self.bytes.get(address.value + n, 0) for n in range(bits // 8))
        return Number(int.from_bytes(data, "little"), bits)

    def store(self, _: State, address: Number, value: Number) -> None:
        self.places.append(address.value)
        data = value.value.to_bytes(value.bits // 8, "little")
        self.bytes |= {address.value + n: byte for n, byte in enumerate(data)}


class Comparison:
    def __init__(self, verifier: Verifier) -> None:
        self.verifier, self.rng, self.emulator = verifier, random.Random(1), Emulator()
        self.count = 0

    def is_accepted(self, word: int) -> bool:
        atomic = model.encoding_of(word).where == model.ATOMIC
        words = (START, word) if atomic else (word,)
        mine = self.verifier.decode(b"".join(w.to_bytes(4, "little") for w in words))
        return bool(mine and self.verifier.transfer(SHIFT, mine)) and not is_secret(mine)

    def word_of(self, form: Form) -> int | None:
        """Any constants, and any registers with which the form is accepted."""
        encoding, rng = ENCODINGS[form.encoding], self.rng
        for word in with_registers(form, rng, 40):
            if encoding.where == model.ATOMIC:
                word = at_address(word)  # noqa: PLW2901
            other = word & ~encoding.constant | rng.getrandbits(32) & encoding.constant
            choice = rng.choice((word, other))
            if rng.random() < 0.5 and self.is_accepted(choice):
                return choice
        return None

    def registers(self, word: int, encoding: Encoding) -> list[int]:
        rng = self.rng
        values = [
            rng.choice((rng.getrandbits(64), rng.getrandbits(32), rng.choice(INTERESTING)))
            for _ in NAMES
        ]
        if rng.random() < 0.2:
            values[rng.randrange(31)] = values[rng.randrange(31)]
        middle = ARENA + 0x8000
        if encoding.where and encoding.where != model.ATOMIC:
            if encoding.where == model.INDEXED and word >> 16 & 31 != 31:
                values[word >> 16 & 31] = rng.getrandbits(SHIFT) & ~7
            for n in (*PLACES, BASE, FRAME_PLACE):
                values[n] = middle if encoding.where != model.INDEXED else ARENA
        if encoding.where == model.ATOMIC:
            values[ADDRESS] = middle + 8 * rng.randrange(64)
        values[MACHINE], values[STACK] = RUN + 256, STACK_AT + 0x1000
        return values

    def check(self, word: int) -> None:
        encoding = model.encoding_of(word)
        regs, flags = self.registers(word, encoding), self.rng.getrandbits(4) << 28
        there: dict[int, int] = {}
        memory = Concrete(there)
        state = State(
            [Number(v, 64) for v in regs],
            {name: bool(flags >> bit & 1) for name, bit in FLAG_BITS.items()},
            memory.load,
            memory.store,
        )
        machine = self.emulator.machine
        if encoding.where:
            at = self.address_of(word, regs)
            data = self.rng.randbytes(16)
            if encoding.name == "cas" and self.rng.random() < 0.5 and word >> 16 & 31 != 31:
                data = regs[word >> 16 & 31].to_bytes(8, "little") + data[8:]
            machine.mem_write(at, data)
            there |= {at + n: byte for n, byte in enumerate(data)}
        model.execute(state, word)
        values, nzcv = self.emulator.run(word, regs, flags)
        for n in range(31):
            want = state.regs[n].value
            assert values[n] == want, f"x{n} is {values[n]:#x}, and {want:#x} in the model"
        for name, bit in FLAG_BITS.items():
            assert bool(nzcv >> bit & 1) == state.flags[name], f"flag {name}"
        for place in memory.places:
            got = bytes(machine.mem_read(place, 8))
            assert got == bytes(there.get(place + n, 0) for n in range(8)), "memory"
        self.count += 1

    @staticmethod
    def address_of(word: int, regs: list[int]) -> int:
        """Where the word accesses memory, by the model; to put something there."""
        memory = Concrete({})
        flags = dict.fromkeys("cozs", False)
        state = State([Number(v, 64) for v in regs], flags, memory.load, memory.store)
        model.execute(state, word)
        return memory.places[0]


STATES = 60


def prove_model(verifier: Verifier) -> None:
    comparison = Comparison(verifier)
    last = contexts(verifier)["last"]
    forms = [f for f in verifier.forms() if ENCODINGS[f.encoding].do]
    forms += [f for f in last if ENCODINGS[f.encoding].where == model.ATOMIC]
    for form in forms:
        for _ in range(STATES):
            word = comparison.word_of(form)
            if word is None:
                continue
            try:
                comparison.check(word)
            except (AssertionError, unicorn.UcError) as wrong:
                name = ENCODINGS[form.encoding].name
                raise AssertionError(f"{word:#010x}, {name}: {wrong}") from wrong
    print(f"model: {comparison.count} states of {len(forms)} forms, emulated")


PARTS = {
    **{"words": prove_words, "claims": prove_claims, "places": prove_places},
    "model": prove_model,
}


def main() -> None:
    verifier = Verifier(sys.argv[1])
    for name in sys.argv[2:] or PARTS:
        start = time.time()
        PARTS[name](verifier)
        print(f"{name}: {time.time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
