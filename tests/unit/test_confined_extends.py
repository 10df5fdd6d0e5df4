# SPDX-License-Identifier: GPL-2.0
"""Images that extend others: which are accepted, and that they run like a single image."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.extension import KEY, compare, extended, random_program, run_extended
from confined.kernel import libc
from confined.subject import (
    ABORT,
    DONE,
    FUNCTION,
    REMOTE,
    SO,
    STACK,
    STOP,
    THROW,
    Machine,
    RefusedError,
)
from library import Library
from unit.test_confined_code import STUBS
from unit.test_confined_verify import filled, label_of

# A base image. Its functions: call the function whose number is the argument; add one to the
# argument; throw the argument; call the function with that number by a try.
ENTRY = i.mov(6, 1) + i.mov(1, 2) + i.call_number(6) + i.alui("add", 0, 1000) + i.EXIT
ADD = i.mov(0, 1) + i.alui("add", 0, 1) + i.EXIT
THROWS = i.outside(i.CALL_THROW) + i.EXIT
TRIES = i.outside(i.CALL_TRY) + i.EXIT
BASE = i.Image([(ENTRY, 16), ADD, THROWS, TRIES], table=[0, 1, 2, 3]).pack()
FIRST = 4  # the extension's first function, and entry of the table, as in BASE
INSNS = sum(len(f) // 8 for f in (ENTRY, ADD, THROWS, TRIES))


def extension(*functions: bytes, table: tuple[int, ...] = (FIRST,), **header: int) -> bytes:
    return i.Image([(f, 32) for f in functions], table=table, flags=i.EXTENDS, **header).pack()


def refusal(image: bytes, base: bytes = BASE) -> str:
    with Machine(base) as below, pytest.raises(RefusedError) as refused:
        Machine(image, base=below)
    return str(refused.value)


def test_calls_both_ways() -> None:
    calls_base = i.alui("mul", 1, 10) + i.call_base(1) + i.EXIT
    result = run_extended(BASE, extension(calls_base), FIRST, 7)
    assert (result.end, result.value) == (DONE, 1071)


def test_a_base_alone() -> None:
    with Machine(BASE) as machine:
        assert machine.run(1, 7).value == 1008
        for number in (0, FIRST, FIRST + 1, 1 << 31, 1 << 32 | 1, -1):
            result = machine.run(number, 7)
            assert (result.end, result.text) == (
                FUNCTION,
                "insn 2: calls a function that does not exist",
            )


@pytest.mark.parametrize("number", [0, FIRST + 2, 1 << 16, 1 << 31, 1 << 32 | 1, -1])
def test_numbers_that_are_none(number: int) -> None:
    """Invalid numbers, from the base's code and from the extension's, in either order."""
    own = i.movi(6, number) + i.call_number(6) + i.EXIT
    image = extension(own, ADD, table=(FIRST, FIRST + 1))
    from_base = run_extended(BASE, image, number, 0)
    assert (from_base.end, from_base.text) == (
        FUNCTION,
        "insn 2: calls a function that does not exist",
    )
    wide = 2 if not -(1 << 31) <= number < 1 << 31 else 1
    from_own = run_extended(BASE, image, FIRST, 0)
    assert from_own.end == FUNCTION
    assert from_own.text == f"insn {INSNS + wide}: calls a function that does not exist"


def test_all_numbers() -> None:
    """All entries of the joined table, from both images: the base's, then the extension's."""
    functions = [i.movi(0, 100 + n) + i.EXIT for n in range(9)]
    asks = i.mov(6, 1) + i.call_number(6) + i.EXIT
    table = tuple(FIRST + 1 + n for n in range(9))
    image = extension(asks, *functions, table=(FIRST, *table, 1))
    for n in range(9):
        assert run_extended(BASE, image, FIRST + 1 + n).value == 1100 + n
        assert run_extended(BASE, image, FIRST, FIRST + 1 + n).value == 1100 + n
    # An entry of the extension's table that names a function of the base.
    assert run_extended(BASE, image, FIRST + 10, 5).value == 1006
    assert run_extended(BASE, image, FIRST, FIRST + 10).value == 1000 + FIRST + 11
    assert run_extended(BASE, image, FIRST, 1).value == 1002


def test_a_base_without_a_table() -> None:
    base = i.Image([i.mov(6, 1) + i.call_number(6) + i.EXIT]).pack()
    image = extension(i.movi(0, 5) + i.EXIT, i.movi(0, 6) + i.EXIT, table=(1, 2))
    assert run_extended(base, image, 1).value == 6
    assert run_extended(base, image, 0).end == FUNCTION
    assert run_extended(base, image, 2).end == FUNCTION
    nothing = extension(i.EXIT, table=())
    assert run_extended(base, nothing, 1).end == FUNCTION


def test_throws_go_through_both() -> None:
    """A try in the extension catches what the base throws, and vice versa."""
    throws = i.movi(6, 1) + i.alui("add", 1, 1) + i.call_base(2) + i.EXIT
    catches = i.movi(6, 77) + i.mov(2, 1) + i.movi(1, FIRST) + i.outside(i.CALL_TRY)
    catches += i.alu("add", 0, 6) + i.EXIT
    image = extension(throws, catches, table=(FIRST, FIRST + 1))
    assert run_extended(BASE, image, FIRST + 1, 5).value == 1000 + 6 + 77
    by_base = i.mov(2, 1) + i.movi(1, FIRST) + i.call_base(3) + i.EXIT
    image = extension(throws, by_base, table=(FIRST, FIRST + 1))
    assert run_extended(BASE, image, FIRST + 1, 5).value == 1000 + 6
    uncaught = run_extended(BASE, image, FIRST, 5)
    assert (uncaught.end, uncaught.text) == (
        THROW,
        f"insn {len(ENTRY + ADD) // 8}: throws 6, which nothing catches",
    )


def test_instructions_have_one_numbering() -> None:
    aborts = i.movi(1, 3) + i.outside(i.CALL_ABORT) + i.EXIT
    result = run_extended(BASE, extension(aborts), FIRST)
    assert (result.end, result.text) == (ABORT, f"insn {INSNS + 1}: aborts with 3")


def depth(**header: int) -> int:
    """How deep functions of the base and of the extension call each other."""
    count = i.arena(4, 0x100) + i.load(5, 4) + i.alui("add", 5, 1) + i.store(4, 0, 5)
    over = i.mov(2, 1) + i.movi(1, FIRST) + i.call_base(0) + i.EXIT
    image = extension(count + over, **header)
    assert run_extended(BASE, image, FIRST, polls=1000).end == STACK
    with extended(BASE, image) as machine:
        machine.run(FIRST, polls=1000)
        return machine.read(0x100)[0]


def test_recursion_over_the_border_ends() -> None:
    """It ends at the depth that the extension's header sets.

    A round takes frames of 16 and 32 bytes; on the machine's stack two return addresses and r6.
    """
    assert depth(stack_size=0x400, native=0x40000) == 0x400 // 48
    assert depth(stack_size=0x4000, native=0x40000) == 0x4000 // 48
    assert depth(stack_size=0x4000, native=0x1000) == 0x1000 // 24


def test_what_waits_for_the_base_pays_again() -> None:
    """Code after a call of the base is charged when the call has returned."""
    tail = i.mov(0, 0) * 3000
    with (
        Machine(BASE) as below,
        Machine(extension(i.call_base(1) + tail + i.EXIT), base=below) as m,
    ):
        charges = m.charges(3002)
    assert charges[0] >= 3000


def test_long_waits_look_at_the_clock() -> None:
    """Functions that call each other across the images hold no prepaid fuel."""
    n = 60
    over = i.alui("sub", 2, 1) + i.jump_ifi("eq", 2, 0, 2) + i.movi(1, FIRST) + i.call_base(0)
    image = extension(over + i.mov(0, 0) * 3900 + i.EXIT, native=0x8000)
    # r2 is the base's r1 only if the base passes it on: see ENTRY.
    base = i.Image(
        [i.call_number(1) + i.EXIT, ADD, THROWS, TRIES], table=[0, 1, 2, 3], native=0x8000
    ).pack()
    with extended(base, image) as machine:
        for how in ("interpreted", "machine code"):
            assert machine.looks(FIRST, n, how=how) >= n * 3900 // 8192 - 2


@pytest.mark.parametrize("seed", range(150))
def test_in_one_piece_as_in_two(seed: int) -> None:
    compare(random_program(seed), seed, 3)


def test_most_programs_by_chance_come_to_an_end() -> None:
    ended = [compare(random_program(seed), seed, 3) for seed in range(1000, 1040)]
    assert sum(ended) > 25


# -- What the checker refuses -----------------------------------------------------------


def test_bases() -> None:
    plain = i.Image([i.EXIT]).pack()
    assert refusal(plain) == "the image extends no other, but a base was passed"
    with pytest.raises(RefusedError, match="extends another: pass its base"):
        Machine(extension(i.EXIT))
    with (
        Machine(BASE) as below,
        Machine(extension(i.EXIT), base=below) as between,
        pytest.raises(RefusedError, match="the base is an extension itself"),
    ):
        Machine(extension(i.EXIT), base=between)


def test_the_arena_is_that_of_the_base() -> None:
    text = "an arena of 2^17 bytes, flags 0x2: the base has 2^16 and 0x2"
    assert refusal(extension(i.EXIT, shift=17)) == text
    checked = i.Image([i.EXIT], flags=i.EXTENDS | i.CHECKED).pack()
    assert refusal(checked) == "an arena of 2^16 bytes, flags 0x3: the base has 2^16 and 0x2"


@pytest.mark.parametrize("function", [FIRST, FIRST + 1, 1 << 16, 0x7FFFFFFF, -1])
def test_calls_past_the_last_function(function: int) -> None:
    text = refusal(extension(i.movi(0, 0) + i.call_base(function) + i.EXIT))
    assert text == f"insn {INSNS + 1}: calls function {function} of the base, which has {FIRST}"


def test_a_call_of_the_base_holds_nothing_more() -> None:
    for wrong in (i.insn(i.JMP | 0x80, 1, 2), i.insn(i.JMP | 0x80, 0, 2, 1)):
        assert "must be 0" in refusal(extension(wrong + i.EXIT))


@pytest.mark.parametrize("entry", [FIRST + 1, 1 << 16, 0xFFFFFFFF])
def test_entries_of_no_function(entry: int) -> None:
    text = refusal(extension(i.EXIT, table=(FIRST, entry)))
    assert text == f"table[{FIRST + 1}] is {entry}: not a function"


def test_a_table_that_only_names_the_base() -> None:
    assert run_extended(BASE, extension(i.EXIT, table=(1,)), FIRST, 5).value == 1006


# -- What the verifier refuses ----------------------------------------------------------

ROOM = 150
MOVE = "48 89 ff"


@contextmanager
def planting(leaf: bool = False) -> Iterator[Callable[[str], str]]:
    """Like planting() of test_confined_verify.py, in an extension."""
    body = i.mov(6, 6) + i.mov(1, 1) * 150 + (b"" if leaf else i.call_base(1))
    image = extension(body + i.EXIT, i.mov(0, 0) * 20 + i.EXIT)
    if leaf:
        image = i.Image([body + i.EXIT, i.EXIT], table=(FIRST,), flags=i.EXTENDS).pack()
    with Machine(BASE, KEY, 2) as below, Machine(image, KEY, 2, below) as machine:
        address, code = machine.code()
        start, base = below.code()
        at = code.index(bytes.fromhex(MOVE) * 100)
        dispatch = address + code.index(bytes.fromhex("4d 8d 52"))
        targets = {name: SO.stub(n) for n, name in enumerate(STUBS)} | {
            "numbers": address,
            "dispatch": dispatch,
            "base": start,
            "base_dispatch": start + base.index(bytes.fromhex("4d 8d 52")),
            "base_function": start + base.index(bytes.fromhex("49 81 69 00")),
            "base_middle": start + base.index(bytes.fromhex("49 81 69 00")) + 8,
        }

        def plant(text: str) -> str:
            planted, labels = b"", []
            for word in text.split():
                if word == ":":
                    labels.append(label_of("", at + len(planted)))
                elif word.startswith("@"):
                    to = targets[word[1:]] - (address + at + len(planted) + 4)
                    planted += struct.pack("<i", to)
                else:
                    planted += bytes.fromhex(word)
            return machine.verify(code[:at] + filled(planted, ROOM) + code[at + ROOM :], labels)

        yield plant


NUMBERS = "41 ba 01 00 00 00 41 bb 01 00 00 00 "  # r10 = 1; r11 = 1
POPPED = "5b 81 c5 20 00 00 00 81 e5 ff ff 00 00 "  # restores rbx; no frame
# After its callees return, a function has no prepaid fuel left.
PAYS = " 49 81 69 00 10 00 00 00 79 0b 41 bb 01 00 00 00 e8 @poll"
ACCEPTED = [
    "e8 @base_function" + PAYS,
    NUMBERS + "e8 @numbers" + PAYS,
    NUMBERS + "e8 @base_dispatch" + PAYS,
    POPPED + "e9 @base_function cc :",
    POPPED + NUMBERS + "e9 @beyond cc :",
]
REFUSED = {
    "e8 @base_function": "more code than fuel paid for",
    "e8 @base_middle" + PAYS: "call target is not allowed",
    "e8 @base" + PAYS: "call target is not allowed",
    "e8 @base_dispatch" + PAYS: "register may hold a kernel value at branch target",
    NUMBERS + "e8 @beyond" + PAYS: "call target is not allowed",
    "e9 @base_function cc :": "stack depth differs at branch target",
    NUMBERS + "e9 @beyond cc :": "stack depth differs at branch target",
    POPPED + "e9 @beyond cc :": "register may hold a kernel value at branch target",
    POPPED + "e9 @base_middle cc :": "call target is not allowed",
    "0f 84 @base_function": "stack depth differs at branch target",
    "e8 @numbers" + PAYS: "register may hold a kernel value at branch target",
    "83 c5 08 e8 @base_function" + PAYS: "frame register is not masked at branch target",
    "89 fd e8 @base_function" + PAYS: "writes a reserved",
}


@pytest.mark.skipif(bool(REMOTE), reason="reads code for x86-64")
def test_planted() -> None:
    with planting() as plant:
        assert [plant(text) for text in ACCEPTED] == [""] * len(ACCEPTED)
        wrong = {text: said for text, want in REFUSED.items() if want not in (said := plant(text))}
        assert not wrong


@pytest.mark.skipif(bool(REMOTE), reason="reads code for x86-64")
def test_a_call_of_the_base_wants_room() -> None:
    with planting(leaf=True) as plant:
        assert "call without a stack check" in plant("e8 @base_function" + PAYS)


def test_no_landing_at_the_beginning() -> None:
    with Machine(BASE) as below, Machine(extension(i.EXIT), base=below) as machine:
        code = machine.code()[1]
        assert machine.verify(code) == ""
        assert machine.verify(bytes.fromhex("f3 0f 1e fa 90 90 90") + code[7:])


@pytest.mark.skipif(bool(REMOTE), reason="reads code for x86-64")
def test_dispatchers_lead_around_nowhere() -> None:
    """Code that looks up numbers pays nothing, so it must contain no cycle."""
    with Machine(BASE) as below, Machine(extension(i.EXIT), base=below) as machine:
        address, code = machine.code()
        start, base = below.code()
        fault = SO.stub(STUBS.index("fault_function"))
        at = next(
            n
            for n in range(len(code) - 5)
            if code[n] == 0xE9
            and address + n + 5 + struct.unpack_from("<i", code, n + 1)[0] == fault
        )
        to_base = start + base.index(bytes.fromhex("4d 8d 52"))
        for target in (to_base, SO.stub(STUBS.index("beyond")), address):
            changed = bytearray(code)
            struct.pack_into("<i", changed, at + 1, target - address - at - 5)
            assert machine.verify(bytes(changed)), hex(target)


def test_a_loop_is_stopped() -> None:
    result = run_extended(BASE, extension(i.jump(-1) + i.EXIT), FIRST)
    assert result.end == STOP


def calls(nr: int, *args: int) -> bytes:
    return b"".join(i.movi(n + 1, arg) for n, arg in enumerate(args)) + i.outside(i.SYSCALL + nr)


# Far from the kernel's choices for mmap().
PLACES = iter(range(1 << 40, 1 << 41, 1 << 24))
MAP_FIXED_NOREPLACE = 0x100000


def arena(size: int = 0x10000) -> dict[str, int]:
    """Arenas without neighbours, even after the library has mapped its own."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
    address = next(PLACES)
    assert libc.mmap(address, size, 3, flags, -1, 0) == address
    return {"shared": address, "shared_len": size}


@pytest.mark.skipif(bool(REMOTE), reason="the library of this process")
def test_a_base_stays_for_a_run_that_goes_on_after_fork() -> None:
    """In a process: a signal handler forks while an extension runs, which then calls its base."""
    child = os.fork()
    if not child:
        os._exit(fork_in_a_run())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fork_in_a_run() -> int:
    """The run's results in both processes; 0 if correct."""
    library, user, me = Library(), 2, os.getpid()
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGUSR1, ctypes.cast(libc.fork, ctypes.c_void_p))
    kill = calls(62, me, signal.SIGUSR1) + i.movi(1, 41) + i.call_base(1) + i.EXIT
    own = i.Image([(kill, 0)], table=[FIRST], flags=i.EXTENDS).pack()
    base, text = library.register(BASE, engine=1, flags=1 << 4, backend=user)
    assert base >= 0, text
    fd, text = library.register(own, engine=1, flags=1 << 5, base=base, backend=user, **arena())
    assert fd >= 0, text
    result = library.call(fd, FIRST)
    if os.getpid() != me:
        os._exit(result != (1, 1042))
    return result != (1, 1042) or os.waitstatus_to_exitcode(os.wait()[1])
