# SPDX-License-Identifier: GPL-2.0
"""A model of A64's instructions in generated code: their encodings, and what they do.

As in model.py, values are numbers or z3's bit vectors. Bits of constants may be symbolic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3
from confined.model import (
    Access,
    Number,
    State,
    Truth,
    Value,
    and_,
    below,
    choose,
    concat,
    const,
    differ,
    divide,
    equal,
    extend,
    extract,
    negative,
    not_,
    shift_right,
)

ZERO = 31
NAMES = tuple(f"x{n}" for n in range(31))
# struct encoding of prove_arm64.c: registers, and memory or targets of branches
N_READ, M_READ, A_READ, D_READ, D_WRITTEN, M_WRITTEN, N_IS_SP, D_IS_SP = (1 << n for n in range(8))
NO_MEMORY, SCALED, UNSCALED, INDEXED, BEFORE, AFTER, TO26, TO19, TO14, ATOMIC = range(10)


class Fields:
    """The fields of a word, and the registers that it names."""

    def __init__(self, state: State, word: int, constants: z3.BitVecRef | None) -> None:
        self.state, self.word, self.constants = state, word, constants
        self.wide = bool(word >> 31)
        self.width = 64 if self.wide else 32

    def bits(self, low: int, n: int) -> int:
        """Of the opcode: never symbolic."""
        return self.word >> low & (1 << n) - 1

    def constant(self, low: int, n: int, signed: bool = False, width: int = 64) -> Value:
        if self.constants is not None:
            return extend(extract(self.constants, low, n), width, signed)
        return extend(Number(self.bits(low, n), n), width, signed)

    def value(self, number: int, width: int = 0) -> Value:
        """A constant beside other values."""
        width = width or self.width
        return Number(number, width) if self.constants is None else z3.BitVecVal(number, width)

    def register(self, low: int, width: int = 0) -> Value:
        number, width = self.bits(low, 5), width or self.width
        if number == ZERO:
            return self.value(0, width)
        return extract(self.state.regs[number], 0, width)

    def write(self, low: int, value: Value) -> None:
        """A result of 32 bits clears the upper half."""
        if self.bits(low, 5) != ZERO:
            self.state.regs[self.bits(low, 5)] = extend(value, 64)


def logical_constant(word: int, width: int) -> int:
    """The constant of and, orr, eor and ands, by the architecture's definition."""
    n, immr, imms = word >> 22 & 1, word >> 16 & 63, word >> 10 & 63
    length = ((n << 6) | (~imms & 63)).bit_length() - 1
    size = 1 << length
    assert 0 < length and size <= width
    ones, turned = (imms & size - 1) + 1, immr & size - 1
    assert ones < size
    element = (1 << ones) - 1
    element = (element >> turned | element << size - turned) & (1 << size) - 1
    return sum(element << at for at in range(0, width, size))


# -- Instructions -----------------------------------------------------------------------


def add_or_sub(s: State, f: Fields, a: Value, b: Value) -> None:
    if f.bits(30, 1):
        result = a - b
        overflow = and_(differ(negative(a), negative(b)), differ(negative(a), negative(result)))
        carry = not_(below(a, b))
    else:
        result = a + b
        unlike = differ(negative(a), negative(b))
        overflow = and_(not_(unlike), differ(negative(a), negative(result)))
        carry = below(result, a)
    if f.bits(29, 1):
        s.set_flags(result, carry, overflow)
    f.write(0, result)


def do_add_constant(s: State, f: Fields) -> None:
    by = f.constant(10, 12, width=f.width) << f.value(12 * f.bits(22, 1))
    add_or_sub(s, f, f.register(5), by)


def shifted(f: Fields) -> Value:
    """The second operand, shifted by a constant."""
    b, by = f.register(16), f.constant(10, 6, width=f.width)
    kind = f.bits(22, 2)
    if kind == 3:
        back = (f.value(f.width) - by) & f.value(f.width - 1)
        return shift_right(b, by) | b << back
    return (b << by, shift_right(b, by), b >> by)[kind]


def do_add(s: State, f: Fields) -> None:
    assert f.bits(22, 2) < 3
    add_or_sub(s, f, f.register(5), shifted(f))


def do_sum(_: State, f: Fields) -> None:
    """add x, x, w, uxtw"""
    f.write(0, f.register(5) + extend(f.register(16, 32), 64))


def logical(s: State, f: Fields, a: Value, b: Value) -> None:
    kind = f.bits(29, 2)
    result = a | b if kind == 1 else a ^ b if kind == 2 else a & b
    if kind == 3:
        s.set_flags(result, False, False)
    f.write(0, result)


def do_logical(s: State, f: Fields) -> None:
    b = shifted(f)
    logical(s, f, f.register(5), b ^ f.value(-1) if f.bits(21, 1) else b)


def do_logical_constant(s: State, f: Fields) -> None:
    """Symbolic, any constant: more than can be encoded."""
    if f.constants is None:
        b = f.value(logical_constant(f.word, f.width))
    else:
        b = z3.BitVec("mask", f.width)
    logical(s, f, f.register(5), b)


def do_move_wide(_: State, f: Fields) -> None:
    kind = f.bits(29, 2)
    at = f.constant(21, 2, width=f.width) << f.value(4)
    piece = f.constant(5, 16, width=f.width) << at
    if kind == 3:
        old = f.register(0) & ((f.value(0xFFFF) << at) ^ f.value(-1))
        piece = piece | old
    f.write(0, piece ^ f.value(-1) if kind == 0 else piece)


def do_bitfield(_: State, f: Fields) -> None:
    """sbfm and ubfm"""
    signed = f.bits(29, 2) == 0
    assert f.bits(29, 2) in (0, 2)
    right, top = f.constant(16, 6, width=f.width), f.constant(10, 6, width=f.width)
    up = f.value(f.width - 1) - top
    high = f.register(5) << up
    down = choose(below(top, right), up, up + right)
    field = high >> down if signed else shift_right(high, down)
    left = choose(below(top, right), f.value(f.width) - right, f.value(0))
    f.write(0, field << left)


def do_extract(_: State, f: Fields) -> None:
    low = f.constant(10, 6, width=f.width)
    back = f.value(f.width) - low
    f.write(0, shift_right(f.register(16), low) | f.register(5) << back)


def do_two_operands(_: State, f: Fields) -> None:
    a, b = f.register(5), f.register(16)
    by = b & f.value(f.width - 1)
    match f.bits(10, 6):
        case 2 | 3 as kind:
            zero = equal(b, f.value(0))
            quotient = divide(a, choose(zero, f.value(1), b), kind == 3)[0]
            f.write(0, choose(zero, f.value(0), quotient))
        case 8:
            f.write(0, a << by)
        case 9:
            f.write(0, shift_right(a, by))
        case 10:
            f.write(0, a >> by)
        case 11:
            back = (f.value(f.width) - by) & f.value(f.width - 1)
            f.write(0, shift_right(a, by) | a << back)
        case other:
            raise KeyError(f"operation {other}")


def do_multiply(_: State, f: Fields) -> None:
    if f.bits(21, 3):
        raise KeyError("a long product")
    product = f.register(5) * f.register(16)
    f.write(0, f.register(10) - product if f.bits(15, 1) else f.register(10) + product)


def reverse(value: Value, size: int) -> Value:
    """The bytes within each @size bits, in the other order."""
    parts = []
    for at in range(0, value.size(), size):
        parts += [extract(value, at + size - 8 - n, 8) for n in range(0, size, 8)]
    result = parts[0]
    for part in parts[1:]:
        result = concat(part, result)
    return result


def do_reverse(_: State, f: Fields) -> None:
    size = {1: 16, 2: 32, 3: 64}[f.bits(10, 6)]
    if f.bits(16, 5) or size > f.width:
        raise KeyError("another operation on one register")
    f.write(0, reverse(f.register(5), size))


def access(s: State, f: Fields, address: Value) -> None:
    bits, kind = 8 << f.bits(30, 2), f.bits(22, 2)
    if kind == 0:
        stored = f.register(0, 64)
        stored = extract(stored, 0, bits)
        s.accesses.append(Access(address, bits, stored))
        s.store(s, address, stored)
    else:
        assert kind == 1 or (kind == 2 and bits < 64)
        s.accesses.append(Access(address, bits))
        f.write(0, extend(s.load(s, address, bits), 64, kind == 2))


def do_scaled(s: State, f: Fields) -> None:
    access(s, f, f.register(5, 64) + (f.constant(10, 12) << f.value(f.bits(30, 2), 64)))


def do_unscaled(s: State, f: Fields) -> None:
    access(s, f, f.register(5, 64) + f.constant(12, 9, signed=True))


def do_indexed(s: State, f: Fields) -> None:
    access(s, f, f.register(5, 64) + extend(f.register(16, 32), 64))


def do_before(s: State, f: Fields) -> None:
    """[x, #n]!"""
    address = f.register(5, 64) + f.constant(12, 9, signed=True)
    access(s, f, address)
    s.regs[f.bits(5, 5)] = address


def do_after(s: State, f: Fields) -> None:
    """[x], #n"""
    address = f.register(5, 64)
    access(s, f, address)
    s.regs[f.bits(5, 5)] = address + f.constant(12, 9, signed=True)


def exchange(s: State, f: Fields, new: Callable[[Value], Value]) -> Value:
    """Stores what @new makes of what was there, which it returns."""
    bits, address = 64 if f.bits(30, 1) else 32, f.register(5, 64)
    s.accesses.append(Access(address, bits, None, True))
    there = s.load(s, address, bits)
    stored = new(there)
    s.accesses.append(Access(address, bits, stored, True))
    s.store(s, address, stored)
    return there


def do_atomic(s: State, f: Fields) -> None:
    """ldadd, ldclr, ldeor, ldset, swp"""
    bits = 64 if f.bits(30, 1) else 32
    b = f.register(16, bits)
    ones = f.value(-1, bits)
    how = (
        lambda a: a + b,
        lambda a: a & (b ^ ones),
        lambda a: a ^ b,
        lambda a: a | b,
    )
    f.write(0, exchange(s, f, (lambda _: b) if f.bits(15, 1) else how[f.bits(12, 3)]))


def do_compare_and_swap(s: State, f: Fields) -> None:
    bits = 64 if f.bits(30, 1) else 32
    want, new = f.register(16, bits), f.register(0, bits)
    f.write(16, exchange(s, f, lambda a: choose(equal(a, want), new, a)))


@dataclass(frozen=True)
class Encoding:
    """The words with @value in the bits of @mask; constants may be in the bits of @constant."""

    name: str
    value: int
    mask: int
    constant: int = 0
    does: int = 0
    where: int = NO_MEMORY
    do: Callable[[State, Fields], None] | None = None


def _encodings() -> list[Encoding]:
    rd, rn, rm = D_WRITTEN, N_READ, M_READ
    imm12, imm9, imm6 = 0xFFF << 10, 0x1FF << 12, 0x3F << 10
    two6, hw16 = 0xFFF << 10, 0x3FFFF << 5
    all_ = []
    for name, value, does in (("add #", 0x11, D_IS_SP), ("adds #", 0x31, 0)):
        does |= rd | rn | N_IS_SP
        all_.append(Encoding(name, value << 24, 0x3F800000, imm12, does, do=do_add_constant))
    all_ += [
        Encoding("sum", 0x8B204000, 0xFFE0FC00, 0, rd | rn | rm, do=do_sum),
        Encoding("add", 0x0B000000, 0x1F200000, imm6, rd | rn | rm, do=do_add),
        Encoding("and", 0x0A000000, 0x1F000000, imm6, rd | rn | rm, do=do_logical),
    ]
    for name, value in (("and", 0x12), ("orr", 0x32), ("eor", 0x52), ("ands", 0x72)):
        does = rd | rn | (0 if name == "ands" else D_IS_SP)
        all_.append(
            Encoding(f"{name} #", value << 24, 0x7F800000, two6, does, do=do_logical_constant)
        )
    for name, value, more in (("movn", 0x12, 0), ("movz", 0x52, 0), ("movk", 0x72, D_READ)):
        value = value << 24 | 0x800000
        all_.append(Encoding(name, value, 0x7F800000, hw16, rd | more, do=do_move_wide))
    for name, value in (("sbfm", 0x13), ("ubfm", 0x53)):
        all_.append(Encoding(name, value << 24, 0x7F800000, two6, rd | rn, do=do_bitfield))
    all_ += [
        Encoding("extr", 0x13800000, 0x7FA00000, imm6, rd | rn | rm, do=do_extract),
        Encoding("div", 0x1AC00000, 0x7FE00000, 0, rd | rn | rm, do=do_two_operands),
        Encoding("madd", 0x1B000000, 0x7F000000, 0, rd | rn | rm | A_READ, do=do_multiply),
        Encoding("rev", 0x5AC00000, 0x7FE00000, 0, rd | rn, do=do_reverse),
    ]
    ways = (
        ("scaled", 0x39000000, 0, imm12, SCALED, do_scaled),
        ("unscaled", 0x38000000, 0x200C00, imm9, UNSCALED, do_unscaled),
        ("indexed", 0x38204800, 0x20FC00, 0, INDEXED, do_indexed),
        ("before", 0x38000C00, 0x200C00, imm9, BEFORE, do_before),
        ("after", 0x38000400, 0x200C00, imm9, AFTER, do_after),
    )
    for name, value, mask, constant, where, do in ways:
        for kind, opcode in (("str", 0), ("ldr", 1), ("ldrs", 2)):
            does = D_WRITTEN if opcode else D_READ
            all_.append(
                Encoding(
                    f"{kind} {name}",
                    value | opcode << 22,
                    0x3FC00000 | mask,
                    constant,
                    does,
                    where,
                    do,
                )
            )
    all_ += [
        Encoding("ldadd", 0xB8E00000, 0xBFE0CC00, 0, rm | rd, ATOMIC, do_atomic),
        Encoding("swp", 0xB8E08000, 0xBFE0FC00, 0, rm | rd, ATOMIC, do_atomic),
        Encoding(
            "cas",
            0x88E0FC00,
            0xBFE0FC00,
            0,
            M_READ | M_WRITTEN | D_READ,
            ATOMIC,
            do_compare_and_swap,
        ),
        Encoding("b, bl", 0x14000000, 0x7C000000, 0x3FFFFFF, 0, TO26),
        Encoding("cbz", 0x34000000, 0x7E000000, 0x7FFFF << 5, D_READ, TO19),
        Encoding("tbz", 0x36000000, 0x7E000000, 0x80F80000 | 0x3FFF << 5, D_READ, TO14),
        Encoding("b.", 0x54000000, 0xFF000010, 0x7FFFF << 5, 0, TO19),
        Encoding("ret", 0xD65F03C0, 0xFFFFFFFF),
        Encoding("bti c", 0xD503245F, 0xFFFFFFFF),
    ]
    return all_


ENCODINGS = _encodings()


def encoding_of(word: int) -> Encoding:
    return next(e for e in ENCODINGS if word & e.mask == e.value)


def execute(state: State, word: int, constants: z3.BitVecRef | None = None) -> None:
    """Executes a word; @constants: 32 bits, of which the encoding's constants are taken."""
    encoding = encoding_of(word)
    assert encoding.do, f"{encoding.name} is a branch"
    encoding.do(state, Fields(state, word, constants))


# By the number in b.cond
CONDITIONS: list[Callable[[dict[str, Truth]], Truth]] = [
    lambda f: f["z"],
    lambda f: f["c"],
    lambda f: f["s"],
    lambda f: f["o"],
    lambda f: and_(f["c"], not_(f["z"])),
    lambda f: not_(differ(f["s"], f["o"])),
    lambda f: and_(not_(f["z"]), not_(differ(f["s"], f["o"]))),
]


def taken(state: State, word: int) -> Truth:
    """Is the branch taken: b.cond, cbz, cbnz, tbz, tbnz?"""
    encoding = encoding_of(word)
    if encoding.name == "b.":
        number = word & 15
        assert number < 14
        holds = CONDITIONS[number >> 1](state.flags)
        return not_(holds) if number & 1 else holds
    f = Fields(state, word, None)
    if encoding.name == "cbz":
        register = f.register(0)
        zero = equal(register, const(register, 0))
    else:
        assert encoding.name == "tbz"
        bit = extract(f.register(0, 64), f.bits(31, 1) << 5 | f.bits(19, 5), 1)
        zero = equal(bit, const(bit, 0))
    return not_(zero) if f.bits(24, 1) else zero
