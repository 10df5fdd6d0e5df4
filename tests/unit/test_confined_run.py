# SPDX-License-Identifier: GPL-2.0
"""What confined instructions do: interpreter, machine code and Python agree."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.random_image import straight_line
from confined.subject import (
    ABORT,
    ACCESS,
    DONE,
    FUNCTION,
    MASK,
    STACK,
    STOP,
    THROW,
    WAYS,
    Machine,
    run_all,
)

EDGES = [
    *(0, 1, 2, 7, 31, 32, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000),
    *(0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF),
    *(0x8000000000000000, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFE, MASK),
]
HOWS = list(WAYS)


def signed(v: int, bits: int) -> int:
    v %= 1 << bits
    return v - (1 << bits) if v >> (bits - 1) else v


def divide(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def quotient(op: str, a: int, b: int) -> int:
    if op == "div":
        return divide(a, b) if b else 0
    return a - b * divide(a, b) if b else a


def arithmetic(op: str, a: int, b: int, off: int, bits: int) -> int:
    """RFC 9669, in Python."""
    a, b = a % (1 << bits), b % (1 << bits)
    sa, sb = signed(a, bits), signed(b, bits)
    if op in ("div", "mod"):
        v = quotient(op, sa, sb) if off else quotient(op, a, b)
    elif op == "mov":
        v = signed(b, off) if off else b
    else:
        shift = b % bits
        v = {
            **{"add": a + b, "sub": a - b, "mul": a * b, "neg": -a},
            **{"or": a | b, "and": a & b, "xor": a ^ b},
            **{"lsh": a << shift, "rsh": a >> shift, "arsh": sa >> shift},
        }[op]
    return v % (1 << bits)


def forms() -> list[tuple[str, int, bool]]:
    plain = [op for op in i.OPS if op not in ("end", "neg", "mov")]
    return [
        *((op, 0, wide) for op in plain for wide in (True, False)),
        *((op, 1, wide) for op in ("div", "mod") for wide in (True, False)),
        *(("mov", off, True) for off in (0, 8, 16, 32)),
        *(("mov", off, False) for off in (0, 8, 16)),
    ]


REGISTERS = 0x100  # where the programs below store r0 to r9
KEYS = (0, 0x5BD1E995A7C15F39)


def many(cases: Sequence[bytes | tuple[bytes, int]], **options: int) -> bytes:
    """An image that runs case number r1, counting from 1."""
    return i.Image(
        [i.call_number(1) + i.EXIT, *cases], table=range(len(cases) + 1), **options
    ).pack()


def all_registers(code: bytes) -> tuple[bytes, int]:
    """@code with each register loaded from the arena at 0 before, and stored after."""
    before = i.arena(9, 0) + b"".join(i.load(r, 9, 8 * r) for r in range(9)) + i.load(9, 9, 72)
    # r9 is saved before it becomes the base.
    after = i.store(10, -8, 9) + i.arena(9, REGISTERS)
    after += b"".join(i.store(9, 8 * r, r) for r in range(9))
    after += i.load(0, 10, -8) + i.store(9, 72, 0) + i.EXIT
    return before + code + after, 8


def check_registers(machine: Machine, case: int, values: list[int], want: list[int]) -> None:
    for how in ("interpreted", "machine code"):
        machine.write(0, values)
        assert machine.run(case + 1, how=how).end == DONE
        assert machine.read(REGISTERS, 10) == want, (how, case, values)


@pytest.mark.parametrize(("op", "off", "wide"), forms())
def test_arithmetic_registers(op: str, off: int, wide: bool) -> None:
    """All pairs of registers, because templates use some of them themselves."""
    rng = random.Random(f"{op}{off}{wide}")
    pairs = list(itertools.product(range(10), range(10)))
    cases = [all_registers(i.alu(op, dst, src, off, wide)) for dst, src in pairs]
    with Machine(many(cases)) as machine:
        for case, (dst, src) in enumerate(pairs):
            values = [
                rng.choice(EDGES) if rng.random() < 0.7 else rng.getrandbits(64) for _ in range(10)
            ]
            want = list(values)
            want[dst] = arithmetic(op, values[dst], values[src], off, 64 if wide else 32)
            check_registers(machine, case, values, want)


@pytest.mark.parametrize(("op", "off", "wide"), [f for f in forms() if f[0] != "mov" or not f[1]])
def test_arithmetic_constants(op: str, off: int, wide: bool) -> None:
    bits = 64 if wide else 32
    shift = op in ("lsh", "rsh", "arsh")
    constants = [c % bits if shift else signed(c, 32) for c in EDGES]
    pairs = list(itertools.product(range(10), constants))
    cases = [all_registers(i.alui(op, dst, imm, off, wide)) for dst, imm in pairs]
    values = [0xFEDCBA9876543210 * (r + 1) & MASK for r in range(10)]
    for key in KEYS:
        with Machine(many(cases), key) as machine:
            for case, (dst, imm) in enumerate(pairs):
                want = list(values)
                want[dst] = arithmetic(op, values[dst], imm, off, bits)
                check_registers(machine, case, values, want)


BINARY = ("add", "sub", "or", "and", "xor", "mul", "lsh", "rsh", "arsh")
TRIPLES = [*itertools.permutations((0, 3, 7), 3), (1, 2, 1), (1, 2, 2), (6, 6, 8)]


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("op", BINARY)
def test_arithmetic_with_copies(op: str, wide: bool) -> None:
    """to = a; to op= b, and a op= b; to = a with a dead then: one instruction where the processor
    has it, also if b is a or to."""
    rng = random.Random(f"{op}{wide}")
    bits = 64 if wide else 32
    values = [rng.getrandbits(64) for _ in range(10)]
    cases, wants = [], []

    def expect(code: bytes, changed: dict[int, int]) -> None:
        cases.append(all_registers(code))
        wants.append([changed.get(r, v) for r, v in enumerate(values)])

    for to, a, b in TRIPLES:
        imm = rng.choice((1, 7, 31))
        copy = values[a] & ((1 << bits) - 1)
        second = copy if b == to else values[b]
        move = i.alu("mov", to, a, 0, wide)
        by_register, by_constant = i.alu(op, to, b, 0, wide), i.alui(op, to, imm, 0, wide)
        expect(move + by_register, {to: arithmetic(op, copy, second, 0, bits)})
        expect(move + by_constant, {to: arithmetic(op, copy, imm, 0, bits)})
        by_register, by_constant = i.alu(op, a, b, 0, wide), i.alui(op, a, imm, 0, wide)
        dead = i.movi(a, 5) if a != to else b""
        result = arithmetic(op, values[a], values[b], 0, bits)
        expect(by_register + move, {a: result, to: result})
        changed = {a: 5, to: result}
        expect(by_register + move + dead, changed)
        changed[to] = arithmetic(op, values[a], imm, 0, bits)
        expect(by_constant + move + dead, changed)
    with Machine(many(cases)) as machine:
        for case, want in enumerate(wants):
            check_registers(machine, case, values, want)


@pytest.mark.parametrize("seed", range(40))
def test_operations_made_together(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        run_all(straight_line(seed), *(rng.getrandbits(63) for _ in range(5)))


@pytest.mark.parametrize("wide", [True, False])
def test_fields(wide: bool) -> None:
    """The lowest bits of a register that was shifted to the right."""
    value, bits = 0xFEDC_BA98_7654_3210, 64 if wide else 32
    cases, wants = [], []
    for low in (0, 1, 6, 20, bits - 1):
        for mask in (1, 0x3F, 0x3FFFFFFF, 0x7FFFFFFF):
            want = (value % (1 << bits)) >> low & mask

            def field(reg: int, low: int = low, mask: int = mask) -> bytes:
                return i.alui("rsh", reg, low, 0, wide) + i.alui("and", reg, mask, 0, wide)

            copy = i.alu("mov", 2, 1, 0, wide)
            for code, result in (
                (field(1) + i.mov(0, 1), want),
                (copy + field(2) + i.mov(0, 2), want),
                (copy + field(2) + i.mov(0, 2) + i.alu("add", 0, 2), 2 * want),
                (copy + field(2) + i.mov(0, 2) + i.alu("xor", 0, 1), want ^ value),
            ):
                cases.append(i.imm64(1, value) + code + i.EXIT)
                wants.append(result)
    with Machine(many(cases)) as machine:
        for number, want in enumerate(wants):
            for how in ("interpreted", "machine code"):
                assert machine.run(number + 1, how=how).value == want


@pytest.mark.parametrize(("op", "written"), [(i.FETCH, 3), (i.XCHG, 3), (i.CMPXCHG, 0)])
def test_atomic_between_operations_made_together(op: int, written: int) -> None:
    code = i.arena(4, 0x1000) + i.storei(4, 0, 1000) + i.movi(0, 7) + i.movi(3, 5) + i.movi(2, 1)
    code += i.mov(5, written) + i.alui("lsh", 5, 4) + i.atomic(op, 4, 0, 3) + i.alu("xor", 2, 5)
    want = 1 ^ (5 if written == 3 else 7) << 4
    assert run_all(i.Image([code + i.mov(0, 2) + i.EXIT]).pack()).value == want


@pytest.mark.parametrize("wide", [True, False])
def test_negation_and_swaps(wide: bool) -> None:
    value = 0x0123456789ABCDEF
    cases, wants = [], []
    for dst in range(10):

        def case(code: bytes, want: int, dst: int = dst) -> None:
            cases.append(i.movi(dst, value) + code + i.mov(0, dst) + i.EXIT)
            wants.append(want)

        case(i.alui("neg", dst, 0, wide=wide), arithmetic("neg", value, 0, 0, 64 if wide else 32))
        for bits in (16, 32, 64):
            little = value % (1 << bits)
            swapped = int.from_bytes(little.to_bytes(bits // 8, "little"), "big")
            case(i.alui("end", dst, bits, wide=wide), swapped if wide else little)
            if not wide:
                case(i.insn(i.ALU | i.OPS["end"] | i.X, dst, imm=bits), swapped)
    with Machine(many(cases)) as machine:
        for number, want in enumerate(wants):
            for how in ("interpreted", "machine code"):
                assert machine.run(number + 1, how=how).value == want


def test_constants_64() -> None:
    """All in one image, since the kernel registers each image; the sum depends on each value."""
    code, total = i.movi(0, 0), 0
    for value in [*EDGES, 0x0123456789ABCDEF]:
        code += i.alui("mul", 0, 31) + i.imm64(1, value) + i.alu("add", 0, 1)
        total = (total * 31 + value) & MASK
    assert run_all(i.Image([code + i.EXIT]).pack()).value == total


def holds(op: str, a: int, b: int, bits: int) -> bool:
    a, b = a % (1 << bits), b % (1 << bits)
    if op.startswith("s") and op != "set":
        a, b, op = signed(a, bits), signed(b, bits), op[1:]
    return {
        "eq": a == b,
        "ne": a != b,
        "gt": a > b,
        "ge": a >= b,
        "lt": a < b,
        "le": a <= b,
        "set": bool(a & b) if op == "set" else False,
    }[op]


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("op", i.JUMPS)
def test_jumps(op: str, wide: bool) -> None:
    code = (
        i.jump_if(op, 1, 2, 2, wide) + i.alui("mov", 0, 0) + i.EXIT + i.alui("mov", 0, 1) + i.EXIT
    )
    image = i.Image([code]).pack()
    bits = 64 if wide else 32
    with Machine(image) as machine:
        for a, b in itertools.product(EDGES, EDGES):
            for how in ("interpreted", "machine code"):
                assert machine.run(a, b, how=how).value == holds(op, a, b, bits), (a, b, how)
    constants = [signed(imm, 32) for imm in EDGES]
    cases = [
        i.jump_ifi(op, 2, imm, 2, wide) + i.movi(0, 0) + i.EXIT + i.movi(0, 1) + i.EXIT
        for imm in constants
    ]
    for key in KEYS:
        with Machine(many(cases), key) as machine:
            for (case, imm), a in itertools.product(enumerate(constants), EDGES):
                for how in ("interpreted", "machine code"):
                    got = machine.run(case + 1, a, how=how).value
                    assert got == holds(op, a, imm, bits), (a, imm)


# -- Memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("sign", [False, True])
def test_loads(size: int, sign: bool) -> None:
    if sign and size == 8:
        return
    data = 0xF1E2D3C4B5A69788
    want = data % (1 << 8 * size)
    want = signed(want, 8 * size) & MASK if sign else want
    cases = [
        i.arena(base, 0x200) + i.load(dst, base, -8, size, sign) + i.mov(0, dst) + i.EXIT
        for dst, base in itertools.product(range(10), range(10))
    ]
    with Machine(many(cases)) as machine:
        machine.write(0x1F8, [data])
        for case in range(len(cases)):
            for how in ("interpreted", "machine code"):
                assert machine.run(case + 1, how=how).value == want


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_stores(size: int) -> None:
    """Stores of registers, r10 and constants, through a register, r10 and constant addresses."""
    value = 0xF1E2D3C4B5A69788
    cases = [
        i.arena(base, 0x200) + i.movi(src, value) + i.store(base, 3, src, size) + i.EXIT
        for src, base in itertools.permutations(range(10), 2)
    ]
    with Machine(many(cases)) as machine:
        for case in range(len(cases)):
            for how in ("interpreted", "machine code"):
                machine.write(0x200, [0, 0])
                machine.run(case + 1, how=how)
                got = machine.read(0x200, 16, 1)
                assert got == [0] * 3 + list(value.to_bytes(8, "little")[:size]) + [0] * (13 - size)
    for imm in (-1, 5, 0x12345678):
        code = i.storei(1, 0, imm, size) + i.storei(10, -8, imm, size) + i.load(0, 10, -8, size)
        with Machine(i.Image([(code + i.EXIT, 8)]).pack()) as machine:
            for how in ("interpreted", "machine code"):
                got = machine.run(machine.address + 64, how=how).value
                assert got == imm % (1 << 8 * size) == machine.read(64, 1, size)[0]


@pytest.mark.parametrize("how", HOWS)
def test_wild_addresses_stay_inside(how: str) -> None:
    """Every address is mapped into the arena; offsets reach into the guards and no further."""
    code = i.store(1, 0, 2) + i.load(0, 1, 0) + i.EXIT
    with Machine(i.Image([code]).pack()) as machine:
        for wild in [0, 8, 0xFFFFFFFF81000000, 0xFFFF888000000000, MASK, 1 << 63, 0x7FFFFFFFFFFF]:
            assert machine.run(wild, 0x1122334455667788, how=how).value == 0x1122334455667788
            offset = wild % machine.size
            if offset <= machine.size - 8:
                assert machine.read(offset)[0] == 0x1122334455667788
    for off, base in itertools.product((-0x8000, -1, 0x7FFF), (0, 1, 0xFFFF)):
        code = i.store(1, off, 2) + i.load(0, 1, off) + i.EXIT
        with Machine(i.Image([code]).pack()) as machine:
            assert machine.run(machine.address + base, 77, how=how).value == 77


def test_masked_addresses_follow_registers() -> None:
    """After writing the base, a call, or at a jump target, the address is masked again."""
    for change in (
        i.alui("add", 1, 8),
        i.alu("add", 1, 5),
        i.mov(1, 4),
        i.load(1, 3, 0),
        i.movi(1, 0x120),
        i.atomic(i.FETCH, 3, 8, 1),
    ):
        code = i.load(0, 1, 0) + i.load(2, 3, 8) + change + i.load(2, 1, 0)
        code += i.alui("lsh", 0, 8) + i.alu("add", 0, 2) + i.EXIT
        results = []
        with Machine(i.Image([code]).pack()) as machine:
            for how in HOWS:
                machine.write(0x100, [1, 2, 3, 4, 5, 6, 7, 8])
                machine.write(0x200, [machine.address + 0x118, 0x128])
                a = machine.address
                results.append(machine.run(a + 0x100, 0, a + 0x200, a + 0x110, 24, how=how).value)
        assert len(set(results)) == 1, results


def test_known_address_written_over() -> None:
    code = i.arena(1, 0x100) + i.alui("add", 1, 8) + i.load(0, 1, 0) + i.EXIT
    assert run_all(i.Image([i.storei(1, 0, 0) + code]).pack()).value == 0
    with Machine(i.Image([code]).pack()) as machine:
        machine.write(0x100, [1, 2])
        assert machine.run().value == 2


@pytest.mark.parametrize("size", [4, 8])
def test_atomics(size: int) -> None:
    bits = 8 * size
    ops = {"add": 0x00, "or": 0x40, "and": 0x50, "xor": 0xA0}
    old, operand, r0 = 0xF0F0F0F0F0F0F0F0, 0x1234567812345678, 0xAAAAAAAABBBBBBBB
    cases = [(code, arithmetic(op, old, operand, 0, bits), None) for op, code in ops.items()]
    cases += [
        (0x00 | i.FETCH, arithmetic("add", old, operand, 0, bits), "src"),
        (i.XCHG, operand % (1 << bits), "src"),
        (i.CMPXCHG, None, "r0"),
    ]
    programs, checks = [], []
    for (op, new, result), base, src, matching in itertools.product(
        cases, range(1, 10), range(10), (True, False)
    ):
        if base == src or (src == 0 and op == i.CMPXCHG):
            continue
        before = old % (1 << bits) if matching else r0
        code = i.arena(base, 0x100) + i.movi(src, operand) + (i.movi(0, before) if src else b"")
        # An unaligned address is rounded down.
        code += i.atomic(op, base, 5, src, size) + i.store(10, -8, src) + i.store(10, -16, 0)
        programs.append((code + i.mov(0, 10) + i.EXIT, 16))
        after = {"src": operand, "r0": before if src else operand, "memory": new}
        if op == i.CMPXCHG:
            after["memory"] = (operand if matching else old) % (1 << bits)
        if result:
            after[result] = old % (1 << bits)
            if not src:
                after["r0"] = after["src"]
        checks.append((op, base, src, after))
    with Machine(many(programs)) as machine:
        for case, (op, base, src, after) in enumerate(checks):
            for how in ("interpreted", "machine code"):
                machine.write(0x100, [0, 0])
                machine.write(0x105 & -size, [old], size)
                frame = machine.run(case + 1, how=how).value - machine.address
                got = machine.read(0x105 & -size, 1, size) + machine.read(frame - 16, 2)
                assert got == [after["memory"], after["r0"], after["src"]], (how, op, base, src)


def test_atomics_on_the_stack() -> None:
    code = i.storei(10, -8, 40) + i.movi(1, 2) + i.atomic(0, 10, -8, 1) + i.load(0, 10, -8) + i.EXIT
    assert run_all(i.Image([(code, 8)]).pack()).value == 42


# -- Functions ------------------------------------------------------------------------


def test_calls_keep_their_registers() -> None:
    """A call preserves r6 to r9; r10 is another one in the callee."""
    callee = b"".join(i.movi(r, 1000 + r) for r in range(6, 10)) + i.storei(10, -8, 9) + i.EXIT
    caller = b"".join(i.movi(r, r) for r in range(6, 10)) + i.storei(10, -8, 5)
    rest = i.load(0, 10, -8) + b"".join(i.alu("add", 0, r) for r in range(6, 10)) + i.EXIT
    image = i.Image([(caller + i.call(len(rest) // 8) + rest, 8), (callee, 64)])
    assert run_all(image.pack()).value == 5 + 6 + 7 + 8 + 9


def fibonacci() -> bytes:
    """With a frame for each call."""
    code = i.mov(0, 1) + i.jump_ifi("lt", 1, 2, 9) + i.mov(6, 1) + i.alui("sub", 1, 1)
    code += i.call(-5) + i.store(10, -8, 0)
    code += i.mov(1, 6) + i.alui("sub", 1, 2) + i.call(-9) + i.load(1, 10, -8)
    return code + i.alu("add", 0, 1) + i.EXIT


def test_recursion() -> None:
    assert run_all(i.Image([(fibonacci(), 16)]).pack(), 15).value == 610


@pytest.mark.parametrize("frame", [0, 8, 512, 32768])
def test_stack_overflow(frame: int) -> None:
    """The run ends when either stack is full."""
    endless = i.movi(0, 0) + i.call(-2) + i.EXIT
    result = run_all(i.Image([(endless, frame)]).pack())
    assert result.end == STACK
    assert result.text == "insn 0: the stack is full"


def test_stack_is_used_to_its_end() -> None:
    """Calls nest as deep as native_size and the stack allow, and no deeper."""
    deep = i.movi(0, 0) + i.jump_ifi("eq", 1, 0, 3) + i.alui("sub", 1, 1) + i.call(-4)
    deep += i.alui("add", 0, 1) + i.EXIT
    for native, size, frame, fits in ((800, 0x4000, 8, 99), (4096, 0x1000, 64, 63)):
        image = i.Image([(deep, frame)], native=native, stack_size=size).pack()
        assert run_all(image, fits).value == fits
        assert run_all(image, fits + 1).end == STACK


def test_frame_address() -> None:
    """r10 is an address in the arena."""
    code = i.storei(10, -8, 33) + i.mov(1, 10) + i.load(0, 1, -8) + i.EXIT
    assert run_all(i.Image([(code, 8)]).pack()).value == 33
    for op in ("eq", "ne"):
        code = i.movi(0, 0) + i.jump_if(op, 10, 10, 1) + i.movi(0, 1) + i.EXIT
        assert run_all(i.Image([code]).pack()).value == (op == "ne")
    code = i.store(10, -8, 10) + i.load(0, 10, -8) + i.alu("sub", 0, 10) + i.EXIT
    assert run_all(i.Image([(code, 8)]).pack()).value == 0
    with Machine(
        i.Image([i.mov(0, 10) + i.EXIT], stack_end=0x1230, stack_size=0).pack()
    ) as machine:
        for how in HOWS:
            assert machine.run(how=how).value == machine.address + 0x1230


def numbered(n: int) -> list[bytes]:
    return [i.alui("add", 1, k) + i.mov(0, 1) + i.EXIT for k in range(n)]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 200])
def test_calls_by_number(n: int) -> None:
    main = i.mov(3, 1) + i.mov(1, 2) + i.call_number(3) + i.EXIT
    image = i.Image([main, *numbered(n)], table=[0, *range(1, n + 1)]).pack()
    with Machine(image) as machine:
        for how in HOWS:
            for k in range(n):
                assert machine.run(k + 1, 500, how=how).value == 500 + k
    for wrong in (0, n + 1, 1 << 32 | 1, MASK, 1 << 63, -n):
        result = run_all(image, wrong, 5)
        assert result.end == FUNCTION
        assert result.text == "insn 2: calls a function that does not exist"


def test_no_table() -> None:
    assert run_all(i.Image([i.call_number(1) + i.EXIT]).pack(), 0).end == FUNCTION
    assert run_all(i.Image([i.call_number(10) + i.EXIT]).pack(), 0).end == FUNCTION


# -- Throwing --------------------------------------------------------------------------


def catcher(thrower: bytes, after: bytes = b"", **options: int) -> bytes:
    """try(f) with r6 to r9 set; their sum is added to the result."""
    main = b"".join(i.movi(r, r) for r in range(6, 10)) + i.storei(10, -8, 100)
    main += i.movi(1, 1) + i.movi(2, 7) + i.outside(i.CALL_TRY) + after
    main += b"".join(i.alu("add", 0, r) for r in range(6, 10))
    main += i.load(1, 10, -8) + i.alu("add", 0, 1) + i.EXIT
    spoil = b"".join(i.movi(r, 1000) for r in range(6, 10))
    functions = [(main, 8), (spoil + thrower, 256)]
    return i.Image(functions, table=[0, 1], **options).pack()


def test_try_returns_and_catches() -> None:
    assert run_all(catcher(i.mov(0, 1) + i.EXIT)).value == 7 + 30 + 100
    throw = i.alui("add", 1, 5) + i.outside(i.CALL_THROW) + i.EXIT
    assert run_all(catcher(throw)).value == 12 + 30 + 100


def test_throw_through_frames() -> None:
    """Thrown from 20 calls below."""
    down = i.jump_ifi("eq", 2, 20, 3) + i.alui("add", 2, 1) + i.call(-3) + i.EXIT
    down += i.movi(1, 55) + i.outside(i.CALL_THROW) + i.EXIT
    main = i.movi(6, 1) + i.movi(1, 1) + i.movi(2, 0) + i.outside(i.CALL_TRY)
    main += i.alu("add", 0, 6) + i.EXIT
    start = i.movi(2, 0) + i.call(1) + i.EXIT
    assert run_all(i.Image([main, (start, 16), (down, 32)], table=[0, 1]).pack()).value == 56


def test_tries_nest() -> None:
    """Each throw ends the innermost try; rethrown, it reaches the next one."""
    inner = i.movi(1, 3) + i.outside(i.CALL_THROW) + i.EXIT
    middle = i.movi(1, 2) + i.outside(i.CALL_TRY) + i.mov(1, 0) + i.alui("add", 1, 10)
    middle += i.outside(i.CALL_THROW) + i.EXIT
    main = i.movi(1, 1) + i.outside(i.CALL_TRY) + i.mov(6, 0) + i.movi(1, 2)
    main += i.outside(i.CALL_TRY) + i.alu("add", 0, 6) + i.EXIT
    assert run_all(i.Image([main, middle, inner], table=[0, 1, 2]).pack()).value == 13 + 3


def test_uncaught() -> None:
    result = run_all(i.Image([i.movi(1, -3) + i.outside(i.CALL_THROW) + i.EXIT]).pack())
    assert (result.end, result.text) == (THROW, "insn 1: throws -3, which nothing catches")
    # A try that has returned catches nothing.
    leaf = i.movi(0, 0) + i.EXIT
    main = i.movi(1, 1) + i.outside(i.CALL_TRY) + i.movi(1, 9) + i.outside(i.CALL_THROW) + i.EXIT
    assert run_all(i.Image([main, leaf], table=[0, 1]).pack()).end == THROW


def test_tries_fill_the_stack() -> None:
    main = i.movi(1, 1) + i.outside(i.CALL_TRY) + i.EXIT
    assert run_all(i.Image([main, main], table=[0, 1]).pack()).end == STACK


def test_stop_is_not_caught() -> None:
    endless = i.jump(-1) + i.EXIT
    assert run_all(catcher(endless)).end == STOP


def test_fault_is_not_caught() -> None:
    assert run_all(catcher(i.movi(3, 9) + i.call_number(3) + i.EXIT)).end == FUNCTION


def test_abort() -> None:
    result = run_all(i.Image([i.outside(i.CALL_ABORT) + i.EXIT]).pack(), 42)
    assert (result.end, result.text) == (ABORT, "insn 0: aborts with 42")


# -- Outside ---------------------------------------------------------------------------


def test_system_calls() -> None:
    """Six arguments are passed, and only the result comes back."""
    main = i.movi(0, 66) + i.outside(i.SYSCALL + 39) + i.store(10, -8, 0) + i.movi(6, 0)
    main += b"".join(i.alu("or", 6, r) for r in range(1, 6)) + i.alui("lsh", 6, 8)
    main += i.load(0, 10, -8) + i.alu("add", 0, 6) + i.EXIT
    result = run_all(i.Image([(main, 8)]).pack(), 11, 22, 33, 44, 55, result=-14)
    assert result.value == MASK - 13
    assert result.calls == [(i.SYSCALL + 39, (11, 22, 33, 44, 55, 66))]


def test_registers_begin_as_zero() -> None:
    main = b"".join(i.alu("or", 0, r) for r in range(6, 10)) + i.EXIT
    assert run_all(i.Image([main]).pack()).value == 0
    assert run_all(i.Image([i.EXIT]).pack()).value == 0


# -- Fuel -------------------------------------------------------------------------------


ENDLESS = {
    "jump to itself": [i.jump(-1) + i.EXIT],
    "jump far": [i.insn(i.JMP32, imm=-1) + i.EXIT],
    "loop": [i.alui("add", 0, 1) + i.jump_ifi("ne", 1, 5, -2) + i.EXIT],
    "branch never taken at its end": [i.jump_ifi("eq", 1, 5, -1) + i.jump(-2) + i.EXIT],
    "tries": [i.movi(1, 1) + i.outside(i.CALL_TRY) + i.jump(-3) + i.EXIT, i.movi(0, 0) + i.EXIT],
    "throws": [
        i.movi(1, 1) + i.outside(i.CALL_TRY) + i.jump(-3) + i.EXIT,
        i.outside(i.CALL_THROW) + i.EXIT,
    ],
    # No loop: 4^30 calls.
    "calls of calls": [
        *(i.call(4) + i.call(3) + i.call(2) + i.call(1) + i.EXIT for _ in range(30)),
        i.movi(0, 0) + i.EXIT,
    ],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_all_that_does_not_end_is_stopped(name: str) -> None:
    image = i.Image(ENDLESS[name], table=[0, min(1, len(ENDLESS[name]) - 1)]).pack()
    assert run_all(image, polls=3).end == STOP


def test_stopped_in_a_system_call_too() -> None:
    """A loop around system calls spends fuel like any other."""
    assert (
        run_all(i.Image([i.outside(i.SYSCALL + 39) + i.jump(-2) + i.EXIT]).pack(), polls=1).end
        == STOP
    )


def test_stop_names_its_instruction() -> None:
    """The jump that ran out of fuel, or the function's first instruction."""
    loop = [i.movi(3, 1) + i.alui("add", 3, 1) + i.jump(-2) + i.EXIT]
    assert run_all(i.Image(loop).pack(), polls=3).text == "insn 2: stopped"
    large = i.alui("add", 3, 1) * 200 + i.EXIT
    calls = [i.call(2) + i.jump(-2) + i.EXIT, large]
    assert run_all(i.Image(calls).pack(), polls=0).text == "insn 3: stopped"


# -- Checked ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
def test_checked_mode_names_the_first_bad_access(how: str) -> None:
    accesses = {
        "load": i.load(0, 1, 4, 8),
        "store": i.store(1, 4, 2, 8),
        "constant": i.storei(1, 4, 2, 8),
        "atomic": i.atomic(0, 1, 4, 2, 8),
    }
    for code in accesses.values():
        image = i.Image([i.movi(0, 0) + code + i.EXIT], flags=i.CHECKED).pack()
        with Machine(image) as machine:
            end = machine.address + machine.size
            for address in (end - 12, machine.address - 4):
                assert machine.run(address, how=how).end == DONE
            for address in (0, end - 11, machine.address - 5, MASK - 5, end + (1 << 32)):
                result = machine.run(address, how=how)
                want = f"insn 1: accesses {address + 4 & MASK:#x}, outside of the arena"
                assert (result.end, result.text) == (ACCESS, want)
