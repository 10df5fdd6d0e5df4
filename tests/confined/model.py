# SPDX-License-Identifier: GPL-2.0
"""A model of the instructions in generated code, by mnemonic, as capstone decodes them.

It works on two kinds of values: numbers, to compare with an emulator and with a processor, and z3's
bit vectors, to prove statements about all numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import capstone
import z3
from capstone import x86_const as x86

RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
R8, R9, R10, R11, R12 = range(8, 13)
NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi")
NAMES += tuple(f"r{n}" for n in range(8, 16))
REGISTERS: dict[str, tuple[int, int]] = {}  # number and bits
for number, full in enumerate(NAMES):
    if number < 8:
        short = full[1:]
        low = short[0] + "l" if number < 4 else short + "l"
        sized = {full: 64, "e" + short: 32, short: 16, low: 8}
    else:
        sized = {full: 64, full + "d": 32, full + "w": 16, full + "b": 8}
    REGISTERS |= {name: (number, bits) for name, bits in sized.items()}

READER = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
READER.detail = True


class Number:
    """A number of a given width, with z3's operators."""

    def __init__(self, value: int, bits: int) -> None:
        self.value = value & (1 << bits) - 1
        self.bits = bits

    def size(self) -> int:
        return self.bits

    def signed(self) -> int:
        return self.value - (self.value >> self.bits - 1 << self.bits)

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, self.bits)

    def __sub__(self, other: Number) -> Number:
        return Number(self.value - other.value, self.bits)

    def __mul__(self, other: Number) -> Number:
        return Number(self.value * other.value, self.bits)

    def __and__(self, other: Number) -> Number:
        return Number(self.value & other.value, self.bits)

    def __or__(self, other: Number) -> Number:
        return Number(self.value | other.value, self.bits)

    def __xor__(self, other: Number) -> Number:
        return Number(self.value ^ other.value, self.bits)

    def __lshift__(self, other: Number) -> Number:
        return Number(self.value << other.value, self.bits)

    def __rshift__(self, other: Number) -> Number:
        return Number(self.signed() >> other.value, self.bits)


Value = Number | z3.BitVecRef
Truth = bool | z3.BoolRef


def const(like: Value, value: int, bits: int = 0) -> Value:
    bits = bits or like.size()
    return Number(value, bits) if isinstance(like, Number) else z3.BitVecVal(value, bits)


def extract(v: Value, low: int, bits: int) -> Value:
    if isinstance(v, Number):
        return Number(v.value >> low, bits)
    return v if bits == v.size() else z3.Extract(low + bits - 1, low, v)


def extend(v: Value, bits: int, signed: bool = False) -> Value:
    if isinstance(v, Number):
        return Number(v.signed() if signed else v.value, bits)
    more = bits - v.size()
    return v if not more else z3.SignExt(more, v) if signed else z3.ZeroExt(more, v)


def concat(high: Value, low: Value) -> Value:
    if isinstance(high, Number):
        return Number(high.value << low.bits | low.value, high.bits + low.bits)
    return z3.Concat(high, low)


def shift_right(v: Value, by: Value) -> Value:
    return Number(v.value >> by.value, v.bits) if isinstance(v, Number) else z3.LShR(v, by)


def equal(a: Value, b: Value) -> Truth:
    return a.value == b.value if isinstance(a, Number) else a == b


def below(a: Value, b: Value) -> Truth:
    return a.value < b.value if isinstance(a, Number) else z3.ULT(a, b)


def negative(v: Value) -> Truth:
    return equal(extract(v, v.size() - 1, 1), const(v, 1, 1))


def not_(a: Truth) -> Truth:
    return not a if isinstance(a, bool) else z3.Not(a)


def and_(a: Truth, b: Truth) -> Truth:
    return a and b if isinstance(a, bool) and isinstance(b, bool) else z3.And(a, b)


def or_(a: Truth, b: Truth) -> Truth:
    return a or b if isinstance(a, bool) and isinstance(b, bool) else z3.Or(a, b)


def differ(a: Truth, b: Truth) -> Truth:
    return a != b if isinstance(a, bool) and isinstance(b, bool) else z3.Xor(a, b)


def choose(when: Truth, a: Value, b: Value) -> Value:
    if isinstance(when, bool):
        return a if when else b
    return z3.If(when, a, b)


def divide(a: Value, b: Value, signed: bool) -> tuple[Value, Value]:
    """Quotient and remainder, rounded toward 0; division by 0 gives an irrelevant value."""
    if isinstance(a, Number):
        if not signed:
            q, r = divmod(a.value, b.value or 1)
            return Number(q, a.bits), Number(r, a.bits)
        x, y = a.signed(), b.signed() or 1
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return Number(q, a.bits), Number(x - q * y, a.bits)
    return (a / b, z3.SRem(a, b)) if signed else (z3.UDiv(a, b), z3.URem(a, b))


@dataclass
class Access:
    address: Value
    bits: int
    stored: Value | None = None
    locked: bool = False


@dataclass
class State:
    """Registers, the four flags that conditions read, and the events so far."""

    regs: list[Value]
    flags: dict[str, Truth]
    load: Callable[[State, Value, int], Value]
    store: Callable[[State, Value, Value], None]
    accesses: list[Access] = field(default_factory=list)
    traps: list[Truth] = field(default_factory=list)
    undefined: set[str] = field(default_factory=set)

    def set_flags(self, result: Value, carry: Truth, overflow: Truth) -> None:
        self.flags = {
            "c": carry,
            "o": overflow,
            "z": equal(result, const(result, 0)),
            "s": negative(result),
        }
        self.undefined.clear()


CONDITIONS: dict[str, Callable[[dict[str, Truth]], Truth]] = {
    "o": lambda f: f["o"],
    "b": lambda f: f["c"],
    "e": lambda f: f["z"],
    "be": lambda f: or_(f["c"], f["z"]),
    "s": lambda f: f["s"],
    "l": lambda f: differ(f["s"], f["o"]),
    "le": lambda f: or_(f["z"], differ(f["s"], f["o"])),
}
NEGATED = {"no": "o", "ae": "b", "ne": "e", "a": "be", "ns": "s", "ge": "l", "g": "le"}


def condition(state: State, name: str) -> Truth:
    if name in NEGATED:
        return not_(CONDITIONS[NEGATED[name]](state.flags))
    return CONDITIONS[name](state.flags)


class Operands:
    """Reads and writes an instruction's operands, each once."""

    def __init__(self, state: State, insn: capstone.CsInsn, constants: dict[str, Value]) -> None:
        self.state, self.insn, self.constants = state, insn, constants
        self.locked = insn.prefix[0] == x86.X86_PREFIX_LOCK

    def constant(self, value: int, name: str, bits: int) -> Value:
        """A symbolic constant in place of the given one."""
        if name in self.constants:
            return extract(self.constants[name], 0, bits)
        return const(self.state.regs[0], value, bits)

    def address(self, n: int) -> Value:
        memory, regs = self.insn.operands[n].mem, self.state.regs
        assert memory.segment == 0 and self.insn.addr_size == 8
        where = regs[REGISTERS[self.insn.reg_name(memory.base)][0]]
        index = self.insn.reg_name(memory.index) if memory.index else "riz"
        if index != "riz":
            value = regs[REGISTERS[index][0]]
            where = where + (value << const(value, memory.scale.bit_length() - 1))
        return where + self.constant(memory.disp, "disp", 64)

    def bits(self, n: int) -> int:
        return self.insn.operands[n].size * 8

    def read(self, n: int) -> Value:
        operand, bits = self.insn.operands[n], self.bits(n)
        if operand.type == x86.X86_OP_REG:
            reg, bits = REGISTERS[self.insn.reg_name(operand.reg)]
            return extract(self.state.regs[reg], 0, bits)
        if operand.type == x86.X86_OP_IMM:
            return self.constant(operand.imm, "imm", self.bits(0))
        address = self.address(n)
        self.state.accesses.append(Access(address, bits, None, self.locked))
        return self.state.load(self.state, address, bits)

    def write(self, n: int, value: Value) -> None:
        operand = self.insn.operands[n]
        if operand.type == x86.X86_OP_MEM:
            address = self.address(n)
            self.state.accesses.append(Access(address, self.bits(n), value, self.locked))
            self.state.store(self.state, address, value)
            return
        self.write_register(*REGISTERS[self.insn.reg_name(operand.reg)], value)

    def write_register(self, reg: int, bits: int, value: Value) -> None:
        """Writing 32 bits clears the upper half; writing 8 or 16 keeps the other bits."""
        regs = self.state.regs
        if bits < 32:
            value = concat(extract(regs[reg], bits, 64 - bits), value)
        regs[reg] = extend(value, 64)


# -- Instructions -----------------------------------------------------------------------


def do_add(s: State, ops: Operands, keep: bool = True) -> Value:
    a, b = ops.read(0), ops.read(1)
    result = a + b
    overflow = and_(not_(differ(negative(a), negative(b))), differ(negative(a), negative(result)))
    s.set_flags(result, below(result, a), overflow)
    if keep:
        ops.write(0, result)
    return a


def do_sub(s: State, ops: Operands, keep: bool = True) -> Value:
    a, b = ops.read(0), ops.read(1)
    result = a - b
    overflow = and_(differ(negative(a), negative(b)), differ(negative(a), negative(result)))
    s.set_flags(result, below(a, b), overflow)
    if keep:
        ops.write(0, result)
    return a


def do_logic(how: Callable[[Value, Value], Value], keep: bool = True) -> Callable:
    def do(s: State, ops: Operands) -> None:
        a, b = ops.read(0), ops.read(1)
        same = ops.insn.operands[0].type == ops.insn.operands[1].type == x86.X86_OP_REG
        same = same and ops.insn.operands[0].reg == ops.insn.operands[1].reg
        # r ^ r is 0 whatever r is, so it is allowed on kernel values.
        result = const(a, 0) if same and ops.insn.mnemonic == "xor" else how(a, b)
        s.set_flags(result, False, False)
        if keep:
            ops.write(0, result)

    return do


def do_neg(s: State, ops: Operands) -> None:
    a = ops.read(0)
    result = const(a, 0) - a
    lowest = const(a, 1 << a.size() - 1)
    s.set_flags(result, not_(equal(a, const(a, 0))), equal(a, lowest))
    ops.write(0, result)


def do_shift(how: Callable[[Value, Value], Value]) -> Callable:
    def do(s: State, ops: Operands) -> None:
        a = ops.read(0)
        by = extend(extract(ops.read(1), 0, 8), a.size()) if a.size() > 8 else ops.read(1)
        by = by & const(a, a.size() - 1)
        ops.write(0, how(a, by))
        s.flags = dict.fromkeys("cozs", False)  # depends on the count: no code reads them
        s.undefined |= set("cozs")

    return do


def do_rol(s: State, ops: Operands) -> None:
    """Rotates by a constant: two flags stay, and no code reads the others."""
    a = ops.read(0)
    by = extend(extract(ops.read(1), 0, 8), a.size()) & const(a, a.size() - 1)
    back = (const(a, a.size()) - by) & const(a, a.size() - 1)
    ops.write(0, (a << by) | shift_right(a, back))
    s.flags |= dict.fromkeys("co", False)
    s.undefined |= set("co")


def do_imul(s: State, ops: Operands) -> None:
    ops.write(0, ops.read(0) * ops.read(1))
    s.undefined |= set("cozs")


def do_extend(signed: bool) -> Callable:
    return lambda _, ops: ops.write(0, extend(ops.read(1), ops.bits(0), signed))


def do_xadd(s: State, ops: Operands) -> None:
    b = ops.read(1)
    ops.write(1, do_add(s, ops))
    assert b is not None


def do_xchg(_: State, ops: Operands) -> None:
    ops.locked = True
    a, b = ops.read(0), ops.read(1)
    ops.write(0, b)
    ops.write(1, a)


def do_cmpxchg(s: State, ops: Operands) -> None:
    """The destination is always written."""
    there, new = ops.read(0), ops.read(1)
    bits = there.size()
    rax = extract(s.regs[RAX], 0, bits)
    same, result = equal(rax, there), rax - there
    overflow = and_(differ(negative(rax), negative(there)), differ(negative(rax), negative(result)))
    s.set_flags(result, below(rax, there), overflow)
    ops.write(0, choose(same, new, there))
    # If equal, rax is unchanged, including its upper half.
    before = s.regs[RAX]
    ops.write_register(RAX, bits, there)
    s.regs[RAX] = choose(same, before, s.regs[RAX])


def do_push(s: State, ops: Operands) -> None:
    value = ops.read(0)
    s.regs[RSP] = s.regs[RSP] - const(s.regs[RSP], 8)
    s.accesses.append(Access(s.regs[RSP], 64, value))
    s.store(s, s.regs[RSP], value)


def do_pop(s: State, ops: Operands) -> None:
    s.accesses.append(Access(s.regs[RSP], 64))
    value = s.load(s, s.regs[RSP], 64)
    s.regs[RSP] = s.regs[RSP] + const(s.regs[RSP], 8)
    ops.write(0, value)


def do_divide(signed: bool) -> Callable:
    """Traps unless the quotient fits.

    Unsigned, it fits if the upper half is less than the divisor. Signed, only dividends
    sign-extended from the lower half are modelled; their quotient fits except for division by -1 of
    the lowest value. prove.py has the reason.
    """

    def do(s: State, ops: Operands) -> None:
        by, bits = ops.read(0), ops.bits(0)
        low, high = extract(s.regs[RAX], 0, bits), extract(s.regs[RDX], 0, bits)
        zero = equal(by, const(by, 0))
        if signed:
            fits = equal(high, extract(extend(low, 2 * bits, True), bits, bits))
            s.traps += [zero, not_(fits), equal(by, const(by, -1))]
            quotient, rest = divide(low, by, True)
        else:
            s.traps += [zero, not_(below(high, by))]
            if isinstance(low, Number):
                quotient, rest = divide(concat(high, low), extend(by, 2 * bits), False)
                quotient, rest = extract(quotient, 0, bits), extract(rest, 0, bits)
            else:  # no claim depends on them
                quotient, rest = z3.UDiv(low, by), z3.URem(low, by)
        ops.write_register(RAX, bits, quotient)
        ops.write_register(RDX, bits, rest)
        s.undefined |= set("cozs")

    return do


def do_extend_rax(bits: int) -> Callable:
    def do(s: State, ops: Operands) -> None:
        low = extract(s.regs[RAX], 0, bits)
        ops.write_register(RDX, bits, extract(extend(low, 2 * bits, True), bits, bits))

    return do


def do_bswap(_: State, ops: Operands) -> None:
    a = ops.read(0)
    result = extract(a, 0, 8)
    for at in range(8, a.size(), 8):
        result = concat(result, extract(a, at, 8))
    ops.write(0, result)


INSNS: dict[str, Callable[[State, Operands], object]] = {
    "add": do_add,
    "sub": do_sub,
    "cmp": lambda s, ops: do_sub(s, ops, keep=False),
    "and": do_logic(lambda a, b: a & b),
    "or": do_logic(lambda a, b: a | b),
    "xor": do_logic(lambda a, b: a ^ b),
    "test": do_logic(lambda a, b: a & b, keep=False),
    "neg": do_neg,
    "rol": do_rol,
    "shl": do_shift(lambda a, by: a << by),
    "sal": do_shift(lambda a, by: a << by),
    "shr": do_shift(shift_right),
    "sar": do_shift(lambda a, by: a >> by),
    "imul": do_imul,
    "mov": lambda _, ops: ops.write(0, ops.read(1)),
    "movabs": lambda _, ops: ops.write(0, ops.read(1)),
    "movzx": do_extend(signed=False),
    "movsx": do_extend(signed=True),
    "movsxd": do_extend(signed=True),
    "lea": lambda _, ops: ops.write(0, extract(ops.address(1), 0, ops.bits(0))),
    "xadd": do_xadd,
    "xchg": do_xchg,
    "cmpxchg": do_cmpxchg,
    "push": do_push,
    "pop": do_pop,
    "div": do_divide(signed=False),
    "idiv": do_divide(signed=True),
    "cdq": do_extend_rax(32),
    "cqo": do_extend_rax(64),
    "bswap": do_bswap,
    "endbr64": lambda *_: None,
}


def disassemble(code: bytes, at: int = 0) -> capstone.CsInsn | None:
    return next(READER.disasm(code, at, 1), None)


def execute(state: State, insn: capstone.CsInsn, constants: dict[str, Value] | None = None) -> None:
    """Executes an instruction; @constants replace the values of its "imm" and "disp"."""
    name = insn.mnemonic.removeprefix("lock ")
    INSNS[name](state, Operands(state, insn, constants or {}))
