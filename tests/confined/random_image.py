# SPDX-License-Identifier: GPL-2.0
"""Random programs: their results do not matter, but must be deterministic."""

from __future__ import annotations

import random

from confined import insn as i

WIDTHS = (1, 2, 4, 8)
ALU = [op for op in i.OPS if op not in ("neg", "end")]


def arithmetic(rng: random.Random) -> bytes:
    op, wide, dst = rng.choice(ALU), rng.random() < 0.6, rng.randrange(9)
    off = rng.choice((0, 1)) if op in ("div", "mod") else 0
    if rng.random() < 0.5:
        return i.alu(op, dst, rng.randrange(11), off, wide)
    imm = rng.choice((0, 1, -1, 7, 0x7FFFFFFF, -0x80000000, rng.getrandbits(16)))
    if op in ("lsh", "rsh", "arsh"):
        imm %= 64 if wide else 32
    return i.alui(op, dst, imm, off, wide)


def memory(rng: random.Random) -> bytes:
    """Wild addresses, and addresses of the arena and the frame except near the frame's end."""
    size, off = rng.choice(WIDTHS), rng.randrange(-0x8000, 0x7FF8)
    if rng.random() < 0.3:
        size, off, base = 8, rng.randrange(-8, 0) * 8, 10
    else:
        base = rng.randrange(9)
    kind = rng.randrange(4)
    if kind == 0:
        return i.load(rng.randrange(9), base, off, size, size < 8 and rng.random() < 0.5)
    if kind == 1:
        return i.store(base, off, rng.randrange(11), size)
    if kind == 2:
        return i.storei(base, off, rng.getrandbits(31), size)
    op = rng.choice((0, 0x40, 0x50, 0xA0, i.FETCH, i.XCHG, i.CMPXCHG))
    return i.atomic(op, base, off // 8 * 8, rng.randrange(9), rng.choice((4, 8)))


def address(rng: random.Random) -> bytes:
    return i.arena(rng.randrange(9), rng.randrange(1 << 16))


def row(rng: random.Random) -> bytes:
    """Sequences that the code generator fuses, or nearly; with values read later, or not."""
    a, b, c = (rng.randrange(9) for _ in range(3))
    wide, n = rng.random() < 0.5, rng.randrange(1, 32)
    rest = (64 if wide else 32) - n
    left, right = rng.choice((("lsh", "rsh"), ("rsh", "lsh")))
    code = rng.choice(
        (
            i.alu("mov", a, b, wide=wide)
            + i.alui(left, a, n, wide=wide)
            + i.alui(right, b, rest, wide=wide)
            + i.alu("or", *rng.choice(((a, b), (b, a))), wide=wide),
            i.mov(a, b) + i.alui("lsh", a, rng.randrange(5)) + i.alu("add", a, c),
            i.mov(a, b) + i.alui("lsh", a, 3) + i.mov(b, c) + i.alu("add", b, a),
            i.alu("mov", a, b, wide=wide) + i.alu("add", a, c, wide=wide),
            i.alu("mov", a, b, wide=wide) + i.alui("add", a, rng.randrange(-99, 99), wide=wide),
            i.load(a, b, 8, 8 if wide else 4) + i.alu(rng.choice(ALU[:6]), c, a, wide=wide),
            i.alu("and", a, b, wide=wide) + i.jump_ifi("ne", a, 0, 1, wide) + i.movi(c, n),
        )
    )
    if rng.random() < 0.6:
        code += i.load(c, a, 16, rng.choice(WIDTHS))
    return code + (i.movi(a, n) if rng.random() < 0.7 else i.movi(b, n))


def step(rng: random.Random, left: int) -> bytes:
    """Jumps go forward, to one of the next @left steps."""
    kind = rng.random()
    if kind < 0.45:
        return arithmetic(rng)
    if kind < 0.8:
        return memory(rng)
    if kind < 0.87 or not left:
        return i.alui("end", rng.randrange(9), rng.choice((16, 32, 64)))
    op, off = rng.choice(list(i.JUMPS)), rng.randrange(left)
    return i.jump_if(op, rng.randrange(11), rng.randrange(11), off, rng.random() < 0.5)


def random_image(seed: int) -> bytes:
    rng = random.Random(seed)
    n = rng.randrange(5, 120)
    code = b"".join(address(rng) + arithmetic(rng) for _ in range(3))
    code += b"".join(step(rng, n - 1 - at) for at in range(n))
    code += b"".join(row(rng) for _ in range(rng.randrange(20)))
    # r9 counts some turns.
    loop = i.movi(9, rng.randrange(1, 20)) + code + i.alui("sub", 9, 1)
    loop += i.jump_ifi("ne", 9, 0, -(len(code) // 8 + 2)) + i.EXIT
    flags = i.CHECKED if rng.random() < 0.1 else 0
    return i.Image([(loop, 64)], flags=flags).pack()


def operation(rng: random.Random) -> bytes:
    """On r0 to r5, of the kinds that the code generator makes together, even at a distance."""
    dst, src, wide = rng.randrange(6), rng.randrange(6), rng.random() < 0.6
    kind = rng.random()
    if kind < 0.2:
        return i.alu("mov", dst, src, wide=wide)
    if kind < 0.53:
        n = rng.randrange(64 if wide else 32)
        shift = i.alui(rng.choice(("lsh", "rsh", "arsh")), dst, n, wide=wide)
        return rng.choice((b"", i.alu("mov", dst, src, wide=wide))) + shift
    if kind < 0.55:
        masked = i.alui("and", src, 0x7F0) + i.mov(dst, src) + i.alui("add", src, 1)
        return masked + i.alui("and", dst, 0xFF)
    if kind < 0.65:
        imm = rng.randrange(-9, 99)
        return rng.choice((i.alui("mul", dst, imm, wide=wide), i.alu("mul", dst, src, wide=wide)))
    if kind < 0.9:
        return i.alu(rng.choice(("add", "sub", "or", "and", "xor")), dst, src, wide=wide)
    if kind < 0.93:
        at = i.arena(dst, 0x1008) + i.alu("add", dst, src)
        return at + i.load(rng.choice((dst, src)), dst, rng.choice((-8, 0, 8)))
    if kind < 0.96:
        at = i.mov(dst, 10) + i.alui("add", dst, -16) + i.alu("add", dst, src)
        return at + rng.choice((i.load(dst, dst), i.store(dst, 8, src)))
    imm = rng.choice((0xFF, 0xFF00, 0x7F0, -16, 0x7FFFFFFF, -0x80000000))
    return i.alui(rng.choice(("and", "or", "xor")), dst, imm, wide=wide)


def straight_line(seed: int) -> bytes:
    rng = random.Random(seed)
    code = i.movi(0, 1) + b"".join(operation(rng) for _ in range(60))
    code += b"".join(i.alui("mul", 0, 31) + i.alu("add", 0, reg) for reg in range(1, 6))
    return i.Image([(code + i.EXIT, 64)]).pack()
