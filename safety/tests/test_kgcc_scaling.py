# SPDX-License-Identifier: GPL-2.0
"""KGCC's checks on several CPUs do not slow each other down (modules/scaling).

`make bench-safety-scaling` measures times; this test counts lookups, and reads in the machine
code that the fast path of a check takes no lock and writes no shared memory.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from kit import KIT
from modules_in_guest import path_of

sys.path.insert(0, str(KIT / "bench"))

import scaling

# Instructions that the fast path of a check may execute.
POINTERS = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r12", "r13", "r14", "r15")
FAST = [f"kgcc_{name}_{pointer}" for name in ("field", "range", "length") for pointer in POINTERS]
# Writes to memory other than the task's stack.
WRITES = re.compile(r"^(?:add|sub|and|or|xor|inc|dec|mov|set|xchg|cmpxchg|xadd)\S*\s.*\)$")
LOCKS = re.compile(r"^(?:lock|xchg|cmpxchg|call)")


@pytest.fixture(scope="module", autouse=True)
def modules(load_module) -> None:
    load_module("kgcc")
    load_module("scaling+kgcc")


def fast_path(function: str) -> list[str]:
    """Its instructions up to the return, which is a jump where returns are thunks."""
    command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", path_of("kgcc")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s+[0-9a-f]+:\s+(.*?)\s*(?:#.*)?$", text, re.MULTILINE)
    end = next(i for i, line in enumerate(found) if re.match(r"ret|jmp", line))
    return found[:end]


@pytest.mark.parametrize("function", FAST)
def test_fast_path_writes_nothing_shared(function: str) -> None:
    path = fast_path(function)
    assert sum(line.startswith("cmp") for line in path) >= 3, path
    assert not [line for line in path if LOCKS.match(line) or WRITES.match(line)]


def lookups_of(cpus: int, way: scaling.Way) -> int:
    before = scaling.lookups()
    scaling.run(cpus, way)
    return scaling.lookups() - before


@pytest.mark.parametrize("name", ["kept", "shared"])
def test_two_cpus_keep_their_lookups(name: str) -> None:
    """Each CPU looks up each object at most once in thousands of checks."""
    way = scaling.WAYS[name]
    alone, both = (lookups_of(cpus, way) for cpus in (1, scaling.CPUS))
    # Some objects share a slot, and interrupts make checks of their own.
    assert alone < 20 * way.objects
    assert both < scaling.CPUS * 20 * way.objects


def test_too_many_objects_to_keep() -> None:
    """Counts lookups that miss, which proves that the test above can fail."""
    way = scaling.WAYS["looked_up"]
    assert lookups_of(scaling.CPUS, way) > 0.9 * scaling.CPUS * way.objects
