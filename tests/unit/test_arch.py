# SPDX-License-Identifier: GPL-2.0
"""Architecture-specific code is in folders of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# All that is installed, except LuaJIT's module and the safety kit, which are for x86 alone.
FOLDERS = (
    *("core", "kernel", "engine/confined", "include", "lib"),
    *("cli", "consolidate", "cosy"),
)
# Each architecture has these headers, with the same interface; system call numbers come from one of
# them.
ANYWHERE = {"asm/unistd.h", "asm/word-at-a-time.h"}
# Folders of an architecture, and an architecture's public header; code for the image's registers.
OWN = re.compile(r"/arch/|_x86\.h$|^/cosy/runtime/")

ASM_INCLUDE = re.compile(r"#\s*include\s+<(asm/[\w/.-]+)>")
# asm with a template: an empty one only constrains the compiler.
ASM = re.compile(r"\b(?:__asm__|asm|asm_inline)\s*(?:volatile\s*)?\(\s*(\"(?:[^\"\\]|\\.)+\"|\w)")
REGISTER = re.compile(
    r"(?:->|\.)(?:orig_ax|[abcd]x|[sd]i|[sb]p|ip|r1[0-5]|r[89])\b|%%?[re][abcd]x\b|"
    r"\bX86_\w+|\b_?SYSCALL_WORK_\w+|\b__x64_sys_\w+\"|\brdtsc\w*\(|"
    # The code generator's registers, by number.
    r"\bR(?:[ABCD]X|[SD]I|[SB]P|1[0-5]|[89])\b"
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def sources() -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.[chS]"))
        if not OWN.search(f"/{path.relative_to(ROOT)}")
    ]


def code(text: str) -> str:
    return COMMENT.sub("", text)


def faults(text: str) -> list[str]:
    text = code(text)
    found = [name for name in ASM_INCLUDE.findall(text) if name not in ANYWHERE]
    return found + ASM.findall(text) + REGISTER.findall(text)


def test_architecture_is_in_its_folders() -> None:
    assert len(sources()) > 200
    found = {str(path.relative_to(ROOT)): faults(path.read_text()) for path in sources()}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "text",
    [
        "#include <asm/msr.h>\n",
        'asm volatile("nop");',
        '__asm__("mov %%fs:0, %0" : "=r"(self));',
        "ret = regs->orig_ax;",
        "regs.di = 1;",
        "if (boot_cpu_has(X86_FEATURE_IBT))",
        "u64 now = rdtsc();",
        "if (work & SYSCALL_WORK_SECCOMP)",
        'symbols_find("__x64_sys_getppid")',
        "mov(g, true, RDI, RSI);",
        "g->masked[reg - R10] = NONE;",
    ],
)
def test_is_seen(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    ["/* regs->di */", "// rdtsc()", 'asm("" : "+r"(x));', "a.r7 = 0;", "if (reg == INSN_R10)"],
)
def test_is_none(text: str) -> None:
    assert not faults(text)
