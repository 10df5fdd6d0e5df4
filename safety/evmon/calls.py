# SPDX-License-Identifier: GPL-2.0
"""Calls of functions that were not built with events: evmon watch --function."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import btf

CALLS = Path("/sys/kernel/debug/evmon/calls")
CPUS = Path("/proc/cpuinfo")
SYMBOLS = Path("/proc/kallsyms")

# Functions that take and release each kind of lock, and when; those of all kernels.
LOCKS = {
    "lock": [
        *(("SPIN_ACQUIRE", f"_raw_spin_lock{kind}", "return") for kind in ("", "_bh")),
        *(("SPIN_ACQUIRE", f"_raw_spin_lock{kind}", "return") for kind in ("_irq", "_irqsave")),
        *(("SPIN_ACQUIRE", f"_raw_spin_trylock{kind}", "true") for kind in ("", "_bh")),
        *(("SPIN_RELEASE", f"_raw_spin_unlock{kind}", "entry") for kind in ("", "_bh")),
        *(("SPIN_RELEASE", f"_raw_spin_unlock{kind}", "entry") for kind in ("_irq", "_irqrestore")),
    ],
    "mutex": [
        ("MUTEX_ACQUIRE", "mutex_lock", "return"),
        ("MUTEX_ACQUIRE", "mutex_lock_interruptible", "zero"),
        ("MUTEX_ACQUIRE", "mutex_lock_killable", "zero"),
        ("MUTEX_ACQUIRE", "mutex_trylock", "true"),
        ("MUTEX_RELEASE", "mutex_unlock", "entry"),
    ],
}
# No lock, or variable that holds one, is larger.
LARGEST = 4096

CALL = re.compile(
    r"(?P<function>[\w.]+)\("
    r"((?P<number>[1-6])(\+(?P<offset>\w+))?|(?P<name>\w+)(->(?P<path>[\w.]+))?)\)"
)


class CallError(Exception):
    """The call cannot be watched; the text says why."""


@dataclass(frozen=True)
class Call:
    """A line to write to the kernel; see kprobe_events.h."""

    type: str
    function: str
    when: str
    argument: int
    offset: int
    size: int
    name: str
    start: int = 0
    length: int = 0

    def __str__(self) -> str:
        numbers = f"{self.argument} {self.offset} {self.size} {self.start:x} {self.length:x}"
        return f"{self.type} {self.function} {self.when} {numbers} {self.name}"


def call(kind: str, text: str) -> Call:
    """Parse "iput(inode->i_count)", "igrab(return)" or "thing_put(1+8)"."""
    match = CALL.fullmatch(text.replace(" ", ""))
    if not match:
        raise CallError(f"{text}: expected FUNCTION(ARGUMENT), FUNCTION(ARGUMENT->MEMBER) ...")
    function = match["function"]
    if match["number"]:
        argument, name = int(match["number"]), f"{function}:{match['number']}"
        offset, size = int(match["offset"] or "0", 0), 4 if match["offset"] else 0
    else:
        path = match["path"].split(".") if match["path"] else []
        argument, offset, size = btf.argument(function, match["name"], path)
        name = match["name"] + (f"->{match['path']}" if path else "")
        if 0 < size < 4:
            raise CallError(f"{text}: a counter of {size} bytes")
    when = "entry" if argument else "return"
    return Call(kind, function, when, argument, offset, 4 if size else 0, name[:47])


def range_of(symbol: str) -> tuple[int, int]:
    """A variable's address and its greatest possible length."""
    if symbol.startswith("0x"):
        return int(symbol, 16), 1
    addresses, found = [], None
    with SYMBOLS.open() as lines:
        for line in lines:
            address, _, name = line.split()[:3]
            addresses.append(int(address, 16))
            if name == symbol:
                found = addresses[-1]
    if found is None:
        raise CallError(f"{symbol}: no variable of this kernel, nor of a module")
    after = min((a for a in addresses if a > found), default=found + LARGEST)
    return found, min(after - found, LARGEST)


def lock_calls(kind: str, symbol: str) -> list[Call]:
    start, length = range_of(symbol)
    return [
        Call(type_, function, when, 1, 0, 0, symbol[:47], start, length)
        for type_, function, when in LOCKS[kind]
    ]


def write(file: int, line: Call) -> None:
    try:
        os.write(file, str(line).encode())
    except OSError as error:
        why = {
            errno.ENOENT: "this kernel has no such function, or inlines it",
            errno.EINVAL: "this function is not to be probed",
            errno.EPERM: "events use it themselves: name one lock, by --lock",
        }
        raise CallError(
            f"{line.function}: {why.get(error.errno, os.strerror(error.errno))}"
        ) from None


def write_locks(file: int, lines: list[Call]) -> None:
    """Write the lines of functions that exist; each lock needs one that releases it."""
    done = set()
    for line in lines:
        with contextlib.suppress(CallError):
            write(file, line)
            done.add(line.type)
    if len(done) < 2:
        raise CallError(f"{lines[0].name}: this kernel takes and releases locks in line only")


def check_cpus(despite: bool) -> None:
    """Probes patch code with a breakpoint; an emulated CPU may hit it after its removal.

    The kernel then dies of an "Unrecoverable kprobe" or of an unknown int3.
    """
    if despite or os.sysconf("SC_NPROCESSORS_ONLN") == 1 or "QEMU TCG" not in CPUS.read_text():
        return
    raise CallError(
        "emulated CPUs may kill the kernel where code is patched that others run: "
        "take all but one offline, or say --despite-emulation"
    )


def add_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "functions of the kernel, and of modules that were not built with evmon"
    )
    for option, text in {
        "function": "an event of each call, with an argument as its object",
        "take": "a reference is taken there: 'ihold(inode->i_count)'",
        "drop": "a reference is dropped there",
    }.items():
        group.add_argument(
            f"--{option}", action="append", default=[], metavar="FUNCTION(ARGUMENT)", help=text
        )
    for kind in LOCKS:
        group.add_argument(
            f"--{kind}", action="append", default=[], metavar="SYMBOL", help=f"this {kind}"
        )
    group.add_argument(
        "--despite-emulation",
        action="store_true",
        help="also on several emulated CPUs, which may kill the kernel",
    )


@contextlib.contextmanager
def watched(args: argparse.Namespace) -> Iterator[None]:
    """The calls are watched until the context or the process ends."""
    kinds = {"function": "USER", "take": "REF_INC", "drop": "REF_DEC"}
    try:
        calls = [call(kind, text) for name, kind in kinds.items() for text in getattr(args, name)]
        locks = [lock_calls(kind, symbol) for kind in LOCKS for symbol in getattr(args, kind)]
    except btf.BtfError as error:
        raise CallError(str(error)) from None
    if not calls and not locks:
        yield
        return
    check_cpus(args.despite_emulation)
    file = os.open(CALLS, os.O_RDWR)
    try:
        for line in calls:
            write(file, line)
        for lines in locks:
            write_locks(file, lines)
        yield
        show(os.pread(file, 1 << 20, 0).decode())
    finally:
        os.close(file)


def show(text: str) -> None:
    """How often each function was called, and how many events were missed: totals first."""
    rows = [line.split("\t")[1:] for line in text.splitlines()]
    counts = [sum(int(row[column]) for row in rows) for column in (3, 4)]
    print("evmon: {} events, {} calls missed".format(*counts), file=sys.stderr)
    for function, _, name, events, missed in rows:
        if int(events) or int(missed):
            lost = f", {missed} missed" if int(missed) else ""
            print(f"{function}: {events} events of {name}{lost}", file=sys.stderr)
