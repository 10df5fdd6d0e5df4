# SPDX-License-Identifier: GPL-2.0
"""Between two polls of the clock no image spends more fuel than machine.h says.

The costs of instructions are repeated here, and paths are followed independently of how fuel.c
chose where to charge.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.subject import STOP, Machine

FUEL, STRETCH = 1 << 13, 1 << 12
ACCESS, ATOMIC, JUMP = 8, 32, 2
# Fuel paid but not spent at a poll, plus fuel that may be paid until the next one.
MOST = FUEL + 2 * STRETCH
HOWS = ("interpreted", "machine code")


# -- Images, read again -----------------------------------------------------------------


@dataclass
class Node:
    """An instruction: its cost, and its successors within the function."""

    cost: int
    next: list[int] = field(default_factory=list)
    deep: bool = False


def cost(code: int) -> int:
    group = code & 7
    if group in (i.LDX, i.ST):
        return ACCESS
    if group == i.STX:
        return ATOMIC if code & 0xE0 == i.ATOMIC else ACCESS
    if group in (i.JMP, i.JMP32):
        return ACCESS if code & 0xF0 == 0x80 else JUMP
    return 1


def fields(insn: bytes) -> tuple[int, int, int, int]:
    """Opcode, source, off and imm."""
    off = int.from_bytes(insn[2:4], "little", signed=True)
    return insn[0], insn[1] >> 4, off, int.from_bytes(insn[4:8], "little", signed=True)


def nodes(code: bytes, start: int, calls: dict[int, bool]) -> dict[int, Node]:
    """@calls: by a function's first instruction, whether it calls others."""
    found = {}
    n = len(code) // 8
    at = 0
    while at < n:
        op, src, off, imm = fields(code[8 * at : 8 * at + 8])
        pc, size = start + at, 2 if op == i.LD | i.DW else 1
        node = found[pc] = Node(cost(op), [pc + size])
        if op == i.JMP | 0x90:
            node.next = []
        elif op & 7 in (i.JMP, i.JMP32) and op & 0xF0 == 0x80:
            to_image = src == i.LOCAL and calls[pc + 1 + imm]
            node.deep = bool(op & i.X) or to_image or (src == 0 and imm == i.CALL_TRY)
        elif op & 7 in (i.JMP, i.JMP32):
            target = pc + 1 + (imm if op == i.JMP32 else off)
            node.next = [target] if op & 0xF0 == 0 else [target, pc + 1]
        at += size
    return found


def calls_others(code: bytes) -> bool:
    for at in range(0, len(code), 8):
        op, src, _, imm = fields(code[at : at + 8])
        if op == i.JMP | 0x80 | i.X:
            return True
        if op == i.JMP | 0x80 and (src == i.LOCAL or imm == i.CALL_TRY):
            return True
    return False


def nothing_is_unpaid(found: dict[int, Node], start: int, charges: list[int], first: int) -> None:
    """The least fuel paid but not yet spent is never negative."""
    left = {start: first}
    todo = [start]
    while todo:
        pc = todo.pop()
        node = found[pc]
        after = left[pc] - node.cost + (0 if node.deep else charges[pc])
        assert after >= 0, f"{pc} may not be paid for"
        if node.deep:
            after = charges[pc]
        for to in node.next:
            if after < left.get(to, 1 << 30):
                left[to] = after
                todo.append(to)


def stretches_are_short(found: dict[int, Node], charges: list[int]) -> None:
    """No path longer than STRETCH avoids all charges."""
    length: dict[int, int] = {}

    def longest(pc: int) -> int:
        node = found[pc]
        free = [] if node.deep else [to for to in node.next if found[to].deep or not charges[to]]
        return node.cost + max((length[to] for to in free), default=0)

    def free_next(pc: int) -> Iterator[int]:
        if not found[pc].deep:
            yield from (to for to in found[pc].next if found[to].deep or not charges[to])

    for first in found:
        stack, under_way = [first], set()
        while stack:
            pc = stack[-1]
            under_way.add(pc)
            todo = [to for to in free_next(pc) if to not in length]
            assert not under_way.intersection(todo), f"a loop with {pc} has no charge"
            if todo:
                stack.append(todo[0])
                continue
            length[pc] = longest(pc)
            under_way.discard(stack.pop())
    assert max(length.values()) <= STRETCH


def check(image: i.Image) -> None:
    starts = list(image.starts())
    calls = {start: calls_others(code) for start, _, code in starts}
    ninsns = sum(len(code) // 8 for _, _, code in starts)
    with Machine(image.pack()) as machine:
        charges = machine.charges(ninsns + len(starts))
    assert max(charges) <= STRETCH + STRETCH
    for n, (start, _, code) in enumerate(starts):
        found = nodes(code, start, calls)
        nothing_is_unpaid(found, start, charges, charges[ninsns + n])
        stretches_are_short(found, charges)


def random_function(rng: random.Random, n: int, nfuncs: int, sizes: list[int]) -> bytes:
    """Jumps of any distance, backward and forward."""
    size = rng.choice((20, 300, 1200))
    kinds = rng.choice(("alscmjJbBxtC", "alscmJbx"))
    plan = [rng.choice(kinds) for _ in range(size)] + ["e"]
    width = [2 if kind == "m" else 1 for kind in plan]
    at = [sum(width[:k]) for k in range(len(plan))]
    start = sum(sizes[:n])
    code = b""
    for k, kind in enumerate(plan):
        back = at[rng.randrange(max(0, k - rng.choice((3, 40, 2000))), k + 1)]
        on = at[min(k + rng.choice((1, 5, 900)), len(plan) - 1)]
        to = (back if kind in "bB" else on) - at[k] - 1
        callee = sum(sizes[: rng.randrange(nfuncs)]) if all(sizes) else start
        code += {
            "a": lambda: i.alui("add", 1, 1),
            "l": lambda: i.load(1, 1),
            "s": lambda: i.store(1, 0, 2),
            "c": lambda: i.atomic(0, 1, 0, 2),
            "m": lambda: i.imm64(1, 1 << 40),
            "j": lambda to=to: rng.choice((i.jump(to), i.EXIT, *(i.load(1, 2),) * 20)),
            "J": lambda to=to: i.jump_ifi("eq", 1, 7, to),
            "b": lambda to=to: i.jump_ifi("ne", 1, 7, to),
            "B": lambda to=to: i.jump(to) if rng.random() < 0.3 else i.movi(2, 0),
            "x": lambda: i.outside(i.SYSCALL + 39),
            "t": lambda: i.call_number(1) if rng.random() < 0.1 else i.movi(2, 0),
            "C": lambda c=callee, a=at[k]: i.call(c - start - a - 1),
            "e": lambda: i.EXIT,
        }[kind]()
    return code


def random_image(seed: int) -> i.Image:
    """Built twice: during the first pass the start of each function is unknown."""
    nfuncs = random.Random(seed).randrange(1, 5)
    sizes = [0] * nfuncs
    for _ in range(2):
        functions = [
            random_function(random.Random(f"{seed} {n}"), n, nfuncs, sizes) for n in range(nfuncs)
        ]
        sizes = [len(code) // 8 for code in functions]
    return i.Image(functions)


@pytest.mark.parametrize("seed", range(25))
def test_every_path_is_paid_for(seed: int) -> None:
    check(random_image(seed))


def charges_of(code: bytes) -> list[int]:
    with Machine(i.Image([code]).pack()) as machine:
        return machine.charges(len(code) // 8)


def test_an_iteration_pays_once() -> None:
    """Backward jumps to one instruction pay there: each of them may be passed without jumping."""
    jumps = b"".join(i.jump_ifi("ne", 1, n, -2 - n) for n in range(3))
    code = i.alui("add", 1, 1) + jumps + i.alui("add", 2, 1) + i.EXIT
    assert [n for n, paid in enumerate(charges_of(code)) if paid] == [0]


@pytest.mark.parametrize("after", [0, 200])
def test_a_function_that_begins_with_a_loop(after: int) -> None:
    """Where the loop pays for itself, the code at the function's beginning is paid for as well."""
    loop = b"".join(i.jump_ifi("ne", 1, n, -1 - n) for n in range(3)) + i.movi(6, 0) + i.call(-5)
    check(i.Image([loop + (i.jump(-6) if not after else i.load(1, 1) * after + i.EXIT)]))
    loop = i.movi(6, 0) + b"".join(i.jump_ifi("ne", 1, n, -2 - n) for n in range(3))
    deep = i.load(1, 1) * after + i.call(-after - 5)
    check(i.Image([(loop + deep + i.EXIT, 64)]))


def test_reader_sees() -> None:
    """The test finds missing charges, and charges that are too small."""
    loop = i.load(1, 1) + i.jump_ifi("ne", 1, 7, -2) + i.EXIT
    found = nodes(loop, 0, {0: False})
    charges = [0, 10, 0]
    nothing_is_unpaid(found, 0, charges, 12)
    stretches_are_short(found, charges)
    with pytest.raises(AssertionError, match="may not be paid"):
        nothing_is_unpaid(found, 0, [0, 9, 0], 12)
    with pytest.raises(AssertionError, match="may not be paid"):
        nothing_is_unpaid(found, 0, charges, 7)
    with pytest.raises(AssertionError, match="has no charge"):
        stretches_are_short(found, [0, 0, 0])
    with pytest.raises(AssertionError):
        stretches_are_short(nodes(i.load(1, 1) * 600 + i.EXIT, 0, {0: False}), [0] * 601)


# -- Runs -------------------------------------------------------------------------------


def loop(body: bytes, times: int) -> bytes:
    size = len(body) // 8
    code = i.movi(9, times) + body + i.alui("sub", 9, 1)
    return code + i.jump_ifi("ne", 9, 0, -size - 2) + i.EXIT


@pytest.mark.parametrize("how", HOWS)
def test_accesses_pay_for_cache_misses(how: str) -> None:
    """Chasing pointers polls the clock every 1,024 accesses, additions far less often."""
    n = 50_000
    looks = {}
    for name, insn in (("chase", i.load(1, 1)), ("add", i.alui("add", 1, 1))):
        with Machine(i.Image([loop(insn, n)]).pack()) as machine:
            looks[name] = machine.looks(how=how)
    assert looks["chase"] >= n * ACCESS // FUEL
    assert looks["add"] <= looks["chase"] // 2
    assert looks["add"] >= n // FUEL


@pytest.mark.parametrize("how", HOWS)
def test_long_code_looks_at_the_clock(how: str) -> None:
    """Fuel is charged even without backward jumps."""
    n = 100_000
    with Machine(i.Image([i.load(1, 1) * n + i.EXIT]).pack()) as machine:
        assert machine.looks(how=how) >= n * ACCESS // MOST


def test_returns_look_at_the_clock() -> None:
    """Instructions after a call are charged when it returns, not when it is made."""
    deep, rest = 2000, 400
    code = i.jump_ifi("eq", 1, 0, 8 + rest) + i.alui("sub", 1, 1) + i.call(-3)
    code += i.load(2, 2) * rest + i.arena(2, 0) + i.load(3, 2, 0x100) + i.alui("add", 3, 1)
    code += i.store(2, 0x100, 3) + i.EXIT
    # The innermost call sets the flag.
    code += i.arena(2, 0) + i.storei(2, 0x180, 1) + i.EXIT
    with Machine(i.Image([code], native=64 << 10).pack()) as machine:
        machine.watch(0x180)
        result = machine.run(deep, polls=0)
        assert (result.end, machine.read(0x180)[0]) == (STOP, 1)
        assert machine.read(0x100)[0] <= MOST // (rest * ACCESS)


def test_a_big_switch_pays_for_what_it_does() -> None:
    """An iteration pays for one case of a switch, not for all."""
    cases, turns = 64, 1000
    body = i.load(2, 3) * 4
    code, size = b"", cases * 6
    for k in range(cases):
        back = -(6 * k + 6 + 2)
        code += i.jump_ifi("ne", 1, k, 5) + body + i.jump(back)
    head = i.movi(9, turns) + i.alui("sub", 9, 1) + i.jump_ifi("eq", 9, 0, size)
    image = i.Image([head + code + i.EXIT]).pack()
    with Machine(image) as machine:
        most = turns * (cases * JUMP + 4 * ACCESS + 8)
        assert machine.looks(0) <= most // FUEL + 1


@pytest.mark.parametrize("body", ["load", "add", "atomic", "call"])
def test_a_flag_ends_a_run_soon(body: str) -> None:
    """After the store that sets the flag, at most MOST is spent."""
    code = {
        "load": i.load(1, 2, 0x200),
        "add": i.alui("add", 1, 1),
        "atomic": i.atomic(0, 2, 0x200, 1),
        "call": i.call(7),
    }[body]
    # Iterations are counted at 0x100; the 5,000th sets the flag, and the next one still counts.
    main = i.arena(2, 0) + i.movi(6, 0) + i.alui("add", 6, 1) + i.store(2, 0x100, 6)
    main += i.jump_ifi("ne", 6, 5000, 1) + i.storei(2, 0x180, 1) + code + i.jump(-6) + i.EXIT
    leaf = i.load(1, 2, 0x200) * 10 + i.EXIT
    offset = len(main) // 8
    if body == "call":
        at = main.index(code) // 8
        main = main.replace(code, i.call(offset - at - 1))
    with Machine(i.Image([main, leaf]).pack()) as machine:
        machine.watch(0x180)
        result = machine.run(polls=0)
        assert result.end == STOP
        turns = machine.read(0x100)[0]
    spent = {"load": ACCESS, "add": 1, "atomic": ATOMIC, "call": 11 * ACCESS + JUMP}[body]
    turn = spent + 1 + ACCESS + 2 * JUMP
    assert 5000 <= turns <= 5000 + MOST // turn
