# SPDX-License-Identifier: GPL-2.0
"""vm/profile: the plugin's counts for a bare program with a known number of instructions, and their
evaluation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "vm" / "profile"
sys.path.insert(0, str(PROFILE))

import icount  # noqa: E402

LOOPS = 1000
PROGRAM = f"""
#include "mark.h"
#define MARK(n)     .byte MARK_OPCODE; .long n
#define LOOP(name)  mov ${LOOPS}, %ecx; name: nop; dec %ecx; jnz name
    .long 0x1badb002, 0, -0x1badb002
    .globl _start
_start:
    LOOP(before)
    MARK(MARK_BEGIN)
    LOOP(first)
    MARK(MARK_END)
    LOOP(between)
    MARK(MARK_BEGIN)
    LOOP(second)
    LOOP(third)
    MARK(MARK_END)
    LOOP(after)
    MARK(MARK_BEGIN)        /* without an end */
    LOOP(last)
    out %al, $0xf4
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> tuple[dict[int, int], dict[str, int], str]:
    """Counts by address, addresses by symbol, and the counts of each pair of marks by mode."""
    path = tmp_path_factory.mktemp("profile")
    (path / "program.S").write_text(PROGRAM)
    plugin, program, out = path / "counter.so", path / "program", path / "counts"
    for command in (
        f"gcc -std=gnu11 -O2 -shared -fPIC -o {plugin} {PROFILE / 'counter.c'}",
        f"gcc -m32 -nostdlib -static -no-pie -Wl,-Ttext=0x100000,--build-id=none -I{PROFILE} "
        f"-o {program} {path / 'program.S'}",
    ):
        subprocess.run(command.split(), check=True, timeout=60)
    qemu = "qemu-system-x86_64 -M q35 -accel tcg -display none -nodefaults"
    qemu += f" -device isa-debug-exit,iobase=0xf4 -kernel {program} -plugin {plugin},out={out}"
    status = subprocess.run(qemu.split(), check=False, timeout=60).returncode
    assert status & 1, "the program came to its end"
    lines = [line.split() for line in out.read_text().splitlines()]
    nm = subprocess.run(["nm", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    symbols = [line.split() for line in nm.splitlines()]
    return (
        {int(address, 16): int(count) for address, count in lines},
        {name: int(address, 16) for address, _, name in symbols},
        Path(f"{out}.modes").read_text(),
    )


def test_what_is_between_marks_counts(counted) -> None:
    counts, symbols, _ = counted
    for name in ("first", "second", "third"):
        # nop, dec, jnz: one, one and two bytes.
        assert [counts[symbols[name] + at] for at in (0, 1, 2)] == [LOOPS] * 3


def test_nothing_else_does(counted) -> None:
    counts, symbols, _ = counted
    assert not {symbols[name] for name in ("before", "between", "after", "last")} & counts.keys()
    # Three loops, and a mov before each of them.
    assert sum(counts.values()) == 3 * (3 * LOOPS + 1)


def test_each_pair_of_marks_is_counted_by_mode(counted) -> None:
    # The program runs in the lower half of addresses.
    loop = 3 * LOOPS + 1
    assert counted[2] == f"{loop} 0\n{2 * loop} 0\n"


KALLSYMS = """\
ffffffff81000000 t alias
ffffffff81000000 T first
ffffffff81000008 t $x.1
ffffffff81000010 d data
ffffffff81000020 t second
ffffffffc0000000 t syscript_mcode\t[syscript]
ffffffffc0001000 t third\t[syscript]
"""
COUNTS = """\
1000 1
ffffffff80ffffff 2
ffffffff81000000 4
ffffffff8100001f 8
ffffffff81000020 16
ffffffffc0000fff 32
ffffffffc0001000 64
"""


def test_functions(tmp_path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    (tmp_path / "counts").write_text(COUNTS)
    symbols = icount.Symbols.read(tmp_path / "kallsyms")
    assert icount.functions(tmp_path / "counts", symbols) == {
        "[user space]": 1,
        "[no symbol]": 2,
        "first": 12,
        "second": 16,
        "[trace]": 32,
        "third [syscript]": 64,
    }


def test_calls(tmp_path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    (tmp_path / "counts").write_text(COUNTS)
    symbols = icount.Symbols.read(tmp_path / "kallsyms")
    found = icount.calls(tmp_path / "counts", symbols)
    assert found == {"first": 4, "second": 16, "third [syscript]": 64}


def test_hidden_addresses_are_an_error(tmp_path) -> None:
    (tmp_path / "kallsyms").write_text("0000000000000000 T first\n")
    with pytest.raises(icount.ProfileError):
        icount.Symbols.read(tmp_path / "kallsyms")
