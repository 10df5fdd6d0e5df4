# SPDX-License-Identifier: GPL-2.0
"""With indirect branch tracking (IBT), an indirect jump or call to an instruction other than

endbr64 panics. QEMU does not emulate IBT, so this test inspects the code: every
address in the kernel's LuaJIT that can be branched to indirectly starts with endbr64.
Such addresses are found where they are taken: in data, in LuaJIT's table of bytecode
handlers, and in instructions other than direct jumps and calls.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# Recompiles LuaJIT.
pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
# Machine code calls the functions in this table directly: within +-2 GB.
CALLED_DIRECTLY = "lj_ir_callinfo"
CODE = (".text", ".text.unlikely")

Place = tuple[str, int]  # section, offset

SECTION = re.compile(r"Disassembly of section (\S+):")
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(\S*)\s*(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: (R_X86_64_\w+)\t(\S+?)([+-]0x[0-9a-f]+)?$")
# lea 0x1234(%rip),%rax        # 5678 <name>
OWN_ADDRESS = re.compile(r"\(%rip\).*# ([0-9a-f]+) <")


def tool(*argv: str | Path) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@dataclass
class Object:
    """The branch targets in a relocatable object file."""

    path: Path
    sections: list[str] = field(default_factory=list)
    symbols: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    starts: dict[Place, str] = field(default_factory=dict)
    taken: list[tuple[str, Place]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.read_symbols()
        self.read_code()
        self.read_data()
        self.read_handlers()

    def read_symbols(self) -> None:
        listed = tool("readelf", "-SW", self.path)
        self.sections = re.findall(r"^  \[ *\d+\] (\S*) ", listed, re.MULTILINE)
        for line in tool("readelf", "-sW", self.path).splitlines():
            words = line.split()
            if len(words) == 8 and words[6].isdigit():
                place = self.sections[int(words[6])]
                self.symbols[words[7]] = (place, int(words[1], 16), int(words[2], 0))

    def resolve(self, name: str, addend: int) -> Place | None:
        """The target of a relocation; None if it is outside this object."""
        if name in self.sections:
            return name, addend
        if name not in self.symbols:
            return None
        section, value, _ = self.symbols[name]
        return section, value + addend

    def read_code(self) -> None:
        section, start, takes = "", 0, False
        for line in tool("objdump", "-dr", "--insn-width=16", self.path).splitlines():
            if found := SECTION.match(line):
                section = found[1]
            elif found := INSTRUCTION.match(line):
                start, mnemonic, operands = int(found[1], 16), found[3], found[4]
                self.starts[section, start] = mnemonic
                takes = mnemonic == "lea" or (mnemonic[:1] not in "jc" and "$0x0" in operands)
                own = OWN_ADDRESS.search(operands)
                if own and mnemonic == "lea":
                    self.taken.append((f"{section}+{start:#x}", (section, int(own[1], 16))))
            elif takes and (found := RELOCATION.match(line)):
                self.address(f"{section}+{start:#x}", found)

    def address(self, where: str, found: re.Match[str]) -> None:
        """An instruction that takes a code address, in this object or another."""
        kind, name, addend = found[1], found[2], int(found[3] or "0", 16)
        # Relative to the end of the four bytes, which end the instruction.
        addend += 4 if kind in ("R_X86_64_PC32", "R_X86_64_PLT32") else 0
        place = self.resolve(name, addend)
        if place is None:
            self.taken.append((where, ("outside", 0)))
        elif place[0] in CODE:
            self.taken.append((where, place))

    def read_data(self) -> None:
        section = ""
        table, begin, size = self.symbols[CALLED_DIRECTLY]
        for line in tool("readelf", "-rW", self.path).splitlines():
            if found := re.match(r"Relocation section '\.rela(\S+)'", line):
                section = found[1]
            words = line.split()
            if not section.startswith((".data", ".rodata")) or "R_X86_64_64" not in words:
                continue
            offset, name, addend = int(words[0], 16), words[4], int("".join(words[5:]), 16)
            place = self.resolve(name, addend)
            if section == table and begin <= offset < begin + size:
                continue
            if place is not None and place[0] in CODE:
                self.taken.append((f"{section}+{offset:#x}", place))

    def read_handlers(self) -> None:
        """Bytecode handlers and fast functions: tables of 16-bit offsets."""
        section, value, size = self.symbols["lj_bc_ofs"]
        where, base, _ = self.symbols["lj_vm_asm_begin"]
        lines = tool("readelf", "-x", section, self.path).splitlines()
        rows = [re.match(r"  0x[0-9a-f]+ ((?:[0-9a-f]+ ){1,4})", line) for line in lines]
        content = bytes.fromhex("".join(row[1] for row in rows if row))
        for at in range(value, value + size, 2):
            offset = int.from_bytes(content[at : at + 2], "little")
            self.taken.append((f"lj_bc_ofs+{at - value:#x}", (where, base + offset)))

    def wrong(self) -> Iterator[str]:
        for where, place in self.taken:
            if self.starts.get(place) != "endbr64":
                yield f"{where} -> {place[0]}+{place[1]:#x}: {self.starts.get(place)}"


def own_object() -> Path:
    lines = (ROOT / "engine/luajit/kernel/cflags").read_text().splitlines()
    flags = [line for line in lines if not line.startswith("#")]
    flags.append("-fcf-protection=branch")
    out = BUILD / "luajit" / "branch-targets"
    tool(
        *("make", "-s", "-f", ROOT / "engine/luajit/luajit.mk", "PLACE=kernel", f"OUT={out}"),
        *(f"VENDOR={BUILD / 'vendor'}", f"GEN={BUILD / 'gen'}", f"CFLAGS={' '.join(flags)}"),
    )
    return out / "luajit.o"


def kernel_objects(protection: str) -> list[Path]:
    """Object files for the kernels for which modules are built."""
    flag = f"-fcf-protection={protection}"
    settings = BUILD.glob("kernel-*/luajit-objects/settings")
    paths = [path.with_name("luajit.o") for path in settings if flag in path.read_text()]
    return [path for path in paths if path.exists()]


@pytest.fixture(scope="module")
def tracked() -> list[Object]:
    return [Object(path) for path in [own_object(), *kernel_objects("branch")]]


def test_every_target_has_endbr(tracked: list[Object]) -> None:
    for found in tracked:
        # The test saw what it must judge: handlers, tables of functions, code.
        assert len([where for where, _ in found.taken if where.startswith("lj_bc_ofs")]) > 100
        assert len([where for where, _ in found.taken if where.startswith(".rodata")]) > 200
        assert len([where for where, _ in found.taken if where.startswith(".text")]) > 50
        assert list(found.wrong()) == [], found.path


def test_finds_what_is_missing() -> None:
    """Code built for kernels without IBT has unsuitable targets, which the test finds."""
    untracked = kernel_objects("none")
    if not untracked:
        pytest.skip("no module for a kernel without IBT: run `make KREL=6.1`")
    assert len(list(Object(untracked[0]).wrong())) > 300


@pytest.mark.parametrize("name", ["vm_open", "vm_run"])
def test_entries_of_the_kernel_side(tracked: list[Object], name: str) -> None:
    """stack.S calls it through a pointer, from another object."""
    for found in tracked:
        assert found.starts[found.symbols[name][:2]] == "endbr64", found.path
