# SPDX-License-Identifier: GPL-2.0
"""What proofs about the verifier of any architecture share: prove.py, prove_arm64.py."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import z3
from confined.model import State

GUARD = 9 << 12
NO_INDEX = 0xFF
REFUSED = 0xFFFFFFFF  # of prove_masks()
# enum verify_kind
PLAIN, MASK, MASK_COPY, MOVE_FRAME, PUSH, POP, LINK, UNLINK, JUMP, BRANCH, CALL, RETURN = range(12)
ENTRY, CHARGE, ROOM, UNLESS, THUNK, TRY = range(12, 18)
SHIFT = 16
SHIFTS = range(16, 31)


def structures(set_: type) -> tuple[type, type]:
    """struct verify_insn and struct transfer, with verify_set's type."""

    class Insn(ctypes.Structure):
        """struct verify_insn."""

        _fields_ = [
            *((name, ctypes.c_uint8) for name in ("len", "kind", "reg", "slots")),
            *((name, set_) for name in ("reads", "writes", "leaves", "places")),
            *((name, ctypes.c_bool) for name in ("arena", "runs_on")),
            *((name, ctypes.c_uint8) for name in ("index", "align")),
            *((name, ctypes.c_int32) for name in ("disp", "imm")),
            *((name, ctypes.c_int64) for name in ("to", "barrier")),
        ]

    class Transfer(ctypes.Structure):
        """struct transfer of prove.c."""

        _fields_ = [
            ("need", set_ * 3),
            ("deny", set_),
            ("always", set_ * 3),
            ("kept", set_ * 3),
            *((name, set_) for name in ("set", "leaves")),
            ("depth", ctypes.c_int8),
            ("regular", ctypes.c_bool),
        ]

    return Insn, Transfer


def fields(of: ctypes.Structure | None) -> tuple | None:
    """All fields of a structure, as a hashable value."""
    if of is None:
        return None
    values = (getattr(of, name) for name, _ in of._fields_)
    return tuple(tuple(v) if isinstance(v, ctypes.Array) else v for v in values)


class Verifier:
    """The compiled decoder and step function of one architecture."""

    def __init__(self, path: str, insn: type, transfer: type) -> None:
        self.insn, self.transfer_of = insn, transfer
        self.so = ctypes.CDLL(path)
        self.so.prove_decode.restype = self.so.prove_transfer.restype = ctypes.c_bool
        self.so.prove_range.argtypes = [
            *(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint32),
        ]
        self.so.prove_masks.restype = ctypes.c_uint32

    def decode(self, code: bytes) -> ctypes.Structure | None:
        insn = self.insn()
        ok = self.so.prove_decode(code + bytes(16), len(code), ctypes.byref(insn))
        return insn if ok else None

    def transfer(self, shift: int, insn: ctypes.Structure) -> ctypes.Structure | None:
        """The new knowledge according to verify_step(); None if the instruction is refused."""
        transfer = self.transfer_of()
        if not self.so.prove_transfer(shift, ctypes.byref(insn), ctypes.byref(transfer)):
            return None
        assert transfer.regular, "what is known is not known bit by bit"
        return transfer


def holds(claim: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.set(timeout=60000)
    solver.add(z3.Not(claim))
    return solver.check() == z3.unsat


def prove(name: str, claim: z3.BoolRef) -> None:
    assert holds(claim), f"{name} does not hold"


def same(a: z3.ExprRef, b: z3.ExprRef) -> bool:
    """Equal as expressions; unequal ones may still have equal values."""
    return a.eq(b) or z3.simplify(a).eq(z3.simplify(b))


def offset(a: z3.BitVecRef, b: z3.BitVecRef) -> int | None:
    """The distance of @a from @b, if it is a constant."""
    distance = z3.simplify(a - b)
    return distance.as_signed_long() if z3.is_bv_value(distance) else None


VARIABLES: dict[int, tuple[z3.ExprRef, frozenset[str]]] = {}


def variables(expr: z3.ExprRef | bool) -> frozenset[str]:
    """Names of all variables in @expr."""
    if isinstance(expr, bool):
        return frozenset()
    if known := VARIABLES.get(expr.get_id()):
        return known[1]
    if z3.is_const(expr):
        names = [expr.decl().name()] if expr.decl().kind() == z3.Z3_OP_UNINTERPRETED else []
        found = frozenset(names)
    else:
        found = frozenset().union(*map(variables, expr.children()))
    VARIABLES[expr.get_id()] = expr, found  # keep a reference, so that the ID is not reused
    return found


class Memory:
    """Loads return unknown values, because other threads may write to the arena."""

    def __init__(self) -> None:
        self.count = 0

    def load(self, _: State, address: z3.BitVecRef, bits: int) -> z3.BitVecRef:
        assert address is not None
        self.count += 1
        return z3.BitVec(f"loaded{self.count}", bits)

    def store(self, _: State, address: z3.BitVecRef, value: z3.BitVecRef) -> None:
        assert address is not None and value is not None


LOADED = {f"loaded{n}" for n in range(1, 5)}


class Words:
    """The stack and struct machine, as words; @stack and @machine are their addresses before."""

    def __init__(self, stack: z3.BitVecRef, machine: z3.BitVecRef) -> None:
        self.at_stack, self.at_machine = stack, machine
        self.stack, self.machine, self.stored, self.lowest = {}, {}, set(), 0

    def copy(self) -> Words:
        words = Words(self.at_stack, self.at_machine)
        words.stack, words.machine = dict(self.stack), dict(self.machine)
        words.stored, words.lowest = set(self.stored), self.lowest
        return words

    def find(self, address: z3.BitVecRef) -> tuple[dict, int, bool]:
        """The words there, the place among them, and whether they are the machine's."""
        if (at := offset(address, self.at_stack)) is not None:
            self.lowest = min(self.lowest, at)
            assert at < 0, "not this routine's words"
            return self.stack, at, False
        at = offset(address, self.at_machine)
        assert at is not None, f"neither stack nor machine: {address}"
        return self.machine, at, True

    def load(self, _: State, address: z3.BitVecRef, bits: int) -> z3.BitVecRef:
        words, at, of_machine = self.find(address)
        assert of_machine or at in words, "not pushed"
        return words.setdefault(at, z3.BitVec(f"machine_{at}", bits))

    def store(self, _: State, address: z3.BitVecRef, value: z3.BitVecRef) -> None:
        words, at, of_machine = self.find(address)
        words[at] = value
        if of_machine:
            self.stored.add(at)


def limits(verifier: Verifier, shift: int, insn: ctypes.Structure) -> tuple[int, int]:
    """The range of accepted displacements; all in between are accepted, too."""

    def accepts(disp: int) -> bool:
        insn.disp = disp
        transfer = verifier.transfer_of()
        return verifier.so.prove_transfer(shift, ctypes.byref(insn), ctypes.byref(transfer))

    low, high = edge(accepts, 0, -(1 << 31) - 1), edge(accepts, 0, 1 << 31)
    wrong = verifier.so.prove_range(shift, ctypes.byref(insn), low, high, 4093)
    assert not wrong, f"{wrong} displacements are not as their range says"
    return low, high


def edge(accepts: Callable[[int], bool], inside: int, outside: int) -> int:
    """The last accepted value between @inside and @outside."""
    assert accepts(inside)
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if accepts(middle) else (inside, middle)
    return inside
