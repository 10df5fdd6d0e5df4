# SPDX-License-Identifier: GPL-2.0
"""Images that extend others: the same program as one image, and as two."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confined import insn as i
from confined.random_image import step
from confined.subject import STOP, WAYS, Machine, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = 0x5BD1E995A7C15F39
FRAME = 64
# Where arenas of compared programs are mapped: results may depend on addresses.
PLACE = 0x200000000000
# Runs stop after this many polls of the clock.
POLLS = 20
STATE = 0x4000


@dataclass
class Call:
    """A call of a function by its number."""

    function: int


Function = Sequence[bytes | Call]


def laid_out(functions: Sequence[Function], first: int) -> list[tuple[bytes, int]]:
    """Functions from @first on as one image; earlier ones belong to its base."""
    starts, at = [], 0
    for function in functions:
        starts.append(at)
        at += sum(1 if isinstance(part, Call) else len(part) // 8 for part in function)
    out = []
    for start, function in zip(starts, functions, strict=True):
        code, at = b"", start
        for part in function:
            if not isinstance(part, Call):
                code += part
            elif part.function < first:
                code += i.call_base(part.function)
            else:
                code += i.call(starts[part.function - first] - start - len(code) // 8 - 1)
        out.append((code, FRAME))
    return out


def random_function(rng: random.Random, callees: int, entries: int) -> Function:
    """Only forward jumps, which may lead to a call of one of the first @callees."""
    n = rng.randrange(3, 40)
    parts: list[bytes | Call] = [step(rng, 0) for _ in range(2)]
    for _ in range(n):
        kind = rng.random()
        if kind < 0.1:
            parts.append(Call(rng.randrange(callees)))
        elif kind < 0.2:
            # Mostly a valid entry.
            parts += [i.alui("mod", 2, entries + 1), i.call_number(2)]
        elif kind < 0.25:
            parts += [i.alui("mod", 1, entries + 1), i.outside(i.CALL_TRY)]
        elif kind < 0.27:
            parts.append(i.outside(i.CALL_THROW))
        elif kind < 0.29:
            parts.append(i.outside(i.SYSCALL + 39))
        else:
            parts.append(step(rng, 0))
    # The depth decreases, whatever the functions call.
    once = i.arena(9, STATE) + i.load(9, 9) + i.alui("add", 9, 1)
    once += i.jump_ifi("lt", 9, 60, 2) + i.movi(0, 1) + i.EXIT
    once += i.arena(0, STATE) + i.store(0, 0, 9)
    return [once, *parts, i.EXIT]


@dataclass
class Program:
    """The first @split of @functions are the base's, as are @table_split entries of the table."""

    functions: list[Function]
    split: int
    table: list[int]
    table_split: int
    flags: int = 0

    def whole(self) -> bytes:
        return i.Image(
            laid_out(self.functions, 0), table=self.table, flags=self.flags, native=0x4000
        ).pack()

    def base(self) -> bytes:
        return i.Image(
            laid_out(self.functions[: self.split], 0),
            table=self.table[: self.table_split],
            flags=self.flags,
        ).pack()

    def extension(self) -> bytes:
        return i.Image(
            laid_out(self.functions[self.split :], self.split),
            table=self.table[self.table_split :],
            flags=self.flags | i.EXTENDS,
            native=0x4000,
        ).pack()


def random_program(seed: int) -> Program:
    rng = random.Random(seed)
    n = rng.randrange(2, 9)
    split = rng.randrange(1, n)
    entries = rng.randrange(1, 12)
    table_split = rng.randrange(entries + 1)
    # A table's first entry is not a function, wherever the table lies.
    table = [rng.randrange(split if at < table_split else n) for at in range(entries)]
    functions = [random_function(rng, split if f < split else n, entries) for f in range(n)]
    return Program(functions, split, table, table_split, rng.choice((0, 0, i.CHECKED)))


@contextmanager
def extended(
    base: bytes, extension: bytes, key: int = 0, thunks: int = 0, place: int = 0
) -> Iterator[Machine]:
    with (
        Machine(base, key, thunks) as below,
        Machine(extension, key ^ 0xFF if key else 0, thunks, below, place) as machine,
    ):
        yield machine


def run_extended(base: bytes, extension: bytes, *args: int, polls: int = POLLS) -> Result:
    """Runs on each engine, and blinded; all results must agree."""
    results: list[Result] = []
    for key in (0, KEY):
        with extended(base, extension, key, place=PLACE) as machine:
            for how in WAYS:
                machine.arena[:] = bytes(machine.size)
                result = machine.run(*args, how=how, polls=polls)
                results.append(result)
    ends = {r.end for r in results}
    assert len(ends) == 1, results
    assert ends == {STOP} or all(result == results[0] for result in results), results
    return results[0]


def compare(program: Program, *args: int) -> bool:
    """As one image and as two; False if a run takes too long to compare."""
    with Machine(program.whole(), place=PLACE) as machine:
        want = machine.run(*args, polls=POLLS)
    result = run_extended(program.base(), program.extension(), *args)
    if STOP in (want.end, result.end):
        return False
    assert result == want
    return True
