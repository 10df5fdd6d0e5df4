#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Builds the verifier without each of its checks in turn: its tests, or the proof, must fail.

Usage: weakened.py PYTHON [EVERY]    PYTHON: an interpreter with the packages of prove.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from multiprocessing.pool import ThreadPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import mutants
from confined.mutants import ENGINE, ROOT

SOURCES = ("verify_code.c", "verify_step.c", "arch/x86/verify_x86.c")
# A condition, and the refusal that follows it.
REFUSES = re.compile(r"\tif \(((?:[^;{}])*?)\)\n\t+return (?:\"|false|want)")
ENTRY = re.compile(r"\t\[(?:TWO \| )?0x[0-9a-f]{2}\] = ([A-Z0-9_ |()x]*[a-f0-9)A-Z])")
STEP, X86, CODE = "verify_step.c", "arch/x86/verify_x86.c", "verify_code.c"
OTHERS = [
    # What one instruction may do
    (STEP, "in->reads & (s->unset | V_SECRET)", "in->reads & s->unset"),
    (STEP, "in->reads & (s->unset | V_SECRET)", "in->reads & V_SECRET"),
    (STEP, "in->writes & V_KEPT & ~frame", "in->writes & V_SECRET & ~frame"),
    (STEP, "<= arena_mask(v)", "<= arena_mask(v) + 1"),
    (STEP, "<= arena_mask(v)", "<= 2 * arena_mask(v)"),
    (STEP, "(s->masked & ~(in->writes | in->leaves)) | in->places", "s->masked"),
    (STEP, "\ts->by4 &= ~in->writes;\n", ""),
    (STEP, "\ts->by8 &= ~in->writes;\n", ""),
    (STEP, "s->unset = (s->unset & ~in->writes) | in->leaves;", "s->unset &= ~in->writes;"),
    (STEP, "(s->unset & ~in->writes) | in->leaves", "in->leaves"),
    (STEP, "(s64)IMAGE_GUARD - 8", "(s64)IMAGE_GUARD - 7"),
    (STEP, "(s64)IMAGE_GUARD - 8", "(s64)IMAGE_GUARD"),
    (STEP, "in->disp < -(s64)IMAGE_GUARD", "in->disp < -(s64)IMAGE_GUARD - 1"),
    (STEP, "arena_mask(v) + 1;\n\telse", "arena_mask(v) + 2;\n\telse"),
    (STEP, "in->align == 8 ? s->by8 : s->by4", "s->by4"),
    (STEP, "in->align == 8 ? s->by8 : s->by4", "s->by8 | s->by4"),
    (STEP, "if (in->imm & 7)", "if (in->imm & 3)"),
    (STEP, "in->imm & 3 ? before->by4 & reg : reg", "reg"),
    (STEP, "in->imm & 7 ? before->by8 & reg : reg", "reg"),
    (STEP, "in->imm & 7 ? before->by8 & reg : reg", "in->imm & 3 ? before->by8 & reg : reg"),
    (STEP, "\t\ts->depth++;\n", ""),
    (STEP, "\t\ts->depth--;\n", ""),
    # How it is decoded
    (X86, "in->align = d->wide ? 8 : 4;", "in->align = 4;"),
    (X86, "return base == R12 && does & AS_LOCK;", "return does & AS_LOCK;"),
    (X86, "return base == R12 && does & AS_MEM;", "return does & AS_MEM;"),
    (X86, "d->reg == 4 && !d->wide", "d->reg == 4"),
    (X86, "d->rm == RBP && !d->wide && (", "d->rm == RBP && ("),
    (X86, "\tif (d->reg == 7)\n\t\tin->writes = 0;", "\tif (d->reg & 1)\n\t\tin->writes = 0;"),
    (X86, "return in->len <= left;", "return true;"),
    (X86, "row->len > left || ", ""),
    (X86, "d->reg |= (d->rex & 4) << 1;", ""),
    (X86, "d->rm = (modrm & 7) | (d->rex & 1) << 3;", "d->rm = modrm & 7;"),
    (X86, "(sib >> 3 & 7) | (d->rex & 2) << 2", "sib >> 3 & 7"),
    (X86, "(sib & 7) | (d->rex & 1) << 3", "sib & 7"),
    (X86, "mod == 0x40 ? (s8)*d->p++ : take32(d)", "mod == 0x40 ? *d->p++ : take32(d)"),
    (X86, "in->index == RSP", "(in->index & 7) == RSP"),
    (X86, "in->disp == MACHINE_AT_USER", "in->disp >= MACHINE_AT_USER"),
    (X86, "in->disp == MACHINE_AT_USER", "in->disp <= MACHINE_AT_USER"),
    (X86, "!d->prefix && d->wide &&\n", "!d->prefix &&\n"),
    (X86, "d->op == 0x31 && d->reg == d->rm", "d->op == 0x31"),
    (X86, "d->op == 0x31 && d->reg == d->rm", "d->reg == d->rm"),
    (X86, "\tif (d->op == (TWO | 0xb1))\n\t\tin->writes |= V_BIT(RAX);\n", ""),
    (X86, "d->prefix == 0xf0 || d->op == 0x87", "d->prefix == 0xf0"),
    (X86, "in->reads |= V_BIT(does >> 28);", ";"),
    (X86, "\t\tin->reads |= V_BIT(base);\n", ""),
    (X86, "[0x8d] = REG_W | ADDRESS", "[0x8d] = REG_W | ADDRESS | AS_REG"),
    (X86, "IMM32 | GROUP(0x01)", "IMM32 | AS_MEM | GROUP(0x01)"),
    (X86, "REG_R | RM_R | AS_REG,\t\t\t\t/* test */", "REG_W | RM_R | AS_REG,"),
    (X86, "sib & 0xc0 && !(does & ADDRESS)", "0"),
    (X86, "\t\tin->reads |= V_BIT(in->index);\n", ""),
    (X86, "REG_R | AS_MEM,\t\t\t\t/* cmp */", "REG_R | AS_MEM | AS_LOCK,"),
    (X86, "IMM8 | GROUP(0xb1)", "IMM8 | GROUP(0xb5)"),  # rcl reads the carry
    (X86, "RM_R | RM_W | AS_REG | GROUP(0x08)", "RM_R | RM_W | AS_REG | GROUP(0xc8)"),
    (X86, "\t\tin->slots = 1;\n", ""),
    (X86, "\t\tin->writes = V_BIT(in->reg);\n\t\treturn !d->wide;", "\t\treturn !d->wide;"),
    (X86, "\t\tin->reads = V_BIT(in->reg);\n", ""),
    (X86, "return !d->rex && (d->op & 0xe) != 0xa;", "return !d->rex;"),
    # Rows
    (X86, "MACHINE_AT_FUEL, IMM4, UNLESS(0x79)", "MACHINE_AT_FUEL, IMM4, UNLESS(0x78)"),
    (X86, "MACHINE_AT_FUEL, IMM4, UNLESS(0x79)", "MACHINE_AT_FUEL, IMM4, UNLESS(ANY)"),
    (X86, "0x69, MACHINE_AT_FUEL,", "0x69, MACHINE_AT_STACK,"),
    (X86, "MACHINE_AT_NATIVE, UNLESS(0x73)", "MACHINE_AT_USER, UNLESS(0x73)"),
    (X86, "#define UNLESS(jcc)\tjcc, 0x0b", "#define UNLESS(jcc)\tjcc, ANY"),
    (X86, "jump[] = { 0xe9, TO4, 0xcc }", "jump[] = { 0xe9, TO4, ANY }"),
    (X86, "leave[] = { 0xc3, 0xcc }", "leave[] = { 0xc3, ANY }"),
    (X86, "leave[] = { 0xc3, 0xcc }", "leave[] = { 0xc3 }"),
    (X86, "div_64[] = { TEST_64, 7, DIV_64, 2", "div_64[] = { TEST_64, 5, DIV_64, 2"),
    (X86, "#define TEST_64\t\t0x4d", "#define TEST_64\t\t0x45"),
    (X86, "#define DIV_64\t\t0x31, 0xd2,", "#define DIV_64\t\t"),
    (X86, "#define CMP_32\t\t0x41, 0x83, 0xfb, 0xff", "#define CMP_32\t\t0x41, 0x83, 0xfb, 0xfe"),
    (X86, "#define CMP_64\t\t0x49, 0x83, 0xfb, 0xff", "#define CMP_64\t\t0x49, 0x83, 0xfb, ANY"),
    (X86, "#define IDIV_64\t\t0x48, 0x99", "#define IDIV_64\t\t0x99"),
    (X86, "#define POP_R9\t\t0x41, 0x59", "#define POP_R9\t\t0x41, 0x58"),
    (X86, "MACHINE_AT_RUN, 0, 0, 0,", "MACHINE_AT_RUN, ANY, 0, 0,"),
    (X86, "0x41, 0xc7, 0x41, MACHINE_AT_PC", "0x41, 0xc7, 0x41, MACHINE_AT_END"),
    (X86, "0x31, 0xd2, 0x31, 0xc9, 0x45, 0x31, 0xc0\n", "0x31, 0xd2, 0x45, 0x31, 0xc0\n"),
    (X86, "#define CLEAR\t\t0x31, 0xff,", "#define CLEAR\t\t"),
    (X86, "0x49, 0x89, 0x61, MACHINE_AT_TRY", "0x49, 0x89, 0x61, MACHINE_AT_HOME"),
    (X86, "0x48, 0x83, 0xc4, 0x28", "0x48, 0x83, 0xc4, 0x30"),
    (X86, "0x48, 0x83, 0xc4, 0x28", "0x48, 0x83, 0xc4, ANY"),
    (X86, "0x55, 0x53, 0x41, 0x55,", "0x53, 0x55, 0x41, 0x55,"),
    (X86, "V_THUNK, 0, IN_C, V_SCRATCH, 2", "V_THUNK, 0, R(RAX), V_SCRATCH, 2"),
    (
        X86,
        "{ ROW(thunk), V_THUNK, 0, IN_C, V_SCRATCH, 1 }",
        "{ ROW(thunk), V_THUNK, 0, IN_C, 0, 1 }",
    ),
    (
        X86,
        "{ ROW(thunk), V_THUNK, 0, IN_C, V_SCRATCH, 1 }",
        "{ ROW(thunk), V_THUNK, 0, IN_C, V_SCRATCH, 2 }",
    ),
    (X86, "R(R10) | R(RDI), 0, 6", "R(R10) | R(RDI), 0, 0"),
    (X86, "kind, reads, V_SCRATCH, V_SCRATCH }", "kind, reads, V_SCRATCH, 0 }"),
    (X86, "CALLS_IF(range, V_UNLESS, R(R10) | R(R11))", "CALLS_IF(range, V_UNLESS, R(R10))"),
    (X86, "V_PLAIN, R(RAX) | R(R11), R(RAX) | R(RDX) }", "V_PLAIN, R(RAX) | R(R11), R(RAX) }"),
    (X86, "V_PLAIN, R(RAX) | R(R11), R(RAX) | R(RDX) }", "V_PLAIN, R(RAX), R(RAX) | R(RDX) }"),
    (X86, "in->to = (s64)i + 4 + s32_at(code + i);", "in->to = (s64)i + 5 + s32_at(code + i);"),
    (X86, "in->to = (s64)i + 1 + (s8)code[i];", "in->to = (s64)i + 1 + code[i];"),
    # Ways
    (CODE, "\tif (want->calls && !s->calls)", "\tif (0)"),
    (CODE, 's->credit < want->credit ? "too little', '0 ? "too little'),
    (CODE, "want->by4 & ~s->by4 || want->by8 & ~s->by8", "want->by4 & ~s->by4"),
    (CODE, "NULL : missing(&c->s, &label->known);\n\tc->s =", "NULL : NULL;\n\tc->s ="),
    (CODE, "\tc->s = label->known;\n", ""),
    (CODE, 'c->dead ? "unreachable code" : NULL', "NULL"),
    (CODE, "return label ? missing(&c->s, &label->known) :", "return label ? NULL :"),
    (CODE, "\treturn missing(&c->s, &returned);", "\treturn &returned ? NULL : NULL;"),
    (CODE, "c->s.unset & (both ? V_REPORTED : V_BIT(V_PC))", "c->s.unset & (both ? V_BIT(11) : 0)"),
    (CODE, "c->s.unset & (both ? V_REPORTED : V_BIT(V_PC))", "c->s.unset & V_BIT(11)"),
    (CODE, "\tif (!s.room || !s.calls)", "\tif (!s.calls)"),
    (CODE, "\tif (!s.room || !s.calls)", "\tif (!s.room)"),
    (CODE, "\ts.depth = 0;\n", ""),
    (CODE, "\ts.room--;\n", ""),
    (CODE, "\twhy = missing(&s, &label->known);\n\tc->s.credit", "\twhy = NULL;\n\tc->s.credit"),
    (CODE, "\tc->s.credit -= label->known.credit;\n", ""),
    (CODE, "if (label->known.calls && c->s.credit > CREDIT_FEW)", "if (0)"),
    (CODE, "\tc->s.masked &= V_BIT(V_FRAME);\n", ""),
    (CODE, "\tc->s.unset |= V_SCRATCH;\n\treturn why;", "\treturn why;"),
    (CODE, "return check_return(c) ?: leads_to_code(c)", "return leads_to_code(c)"),
    (CODE, ": c->v->barrier)", ": false)"),
    (CODE, "!leads_to(c, c->in.barrier, confined_barrier)", "false"),
    (
        CODE,
        'return leads_to(c, c->in.to, confined_fault_stack) ? NULL : "comparison',
        'return 1 ? NULL : "comparison',
    ),
    (CODE, 'return known ? NULL : "comparison', 'return known || 1 ? NULL : "comparison'),
    (CODE, "address && leads_to", "leads_to"),
    (CODE, "c->in.imm <= 0 || ", ""),
    (CODE, " || !leads_to(c, c->in.to, confined_poll)", ""),
    (CODE, "c->s.credit = credit - c->in.len;", "c->s.credit = credit;"),
    (CODE, "\tif (credit > CREDIT_MAX)\n\t\tcredit = CREDIT_MAX;\n", ""),
    (CODE, "c->dead = c->in.kind == V_JUMP || c->in.kind == V_RETURN;", "c->dead = true;"),
    (CODE, "c->dead = c->in.kind == V_JUMP || c->in.kind == V_RETURN;", "c->dead = false;"),
    (CODE, "c->dead = c->in.kind == V_JUMP || ", "c->dead = "),
    (CODE, "c->in.kind == V_JUMP || c->in.kind == V_RETURN", "c->in.kind == V_JUMP"),
    (CODE, '\t\twhy = "control flow runs past the end";', "\t\t;"),
    (CODE, "\tif (!why && c->label < c->v->nlabels)", "\tif (0)"),
    (CODE, "if (!why && has_landing(&c))", "if (0)"),
]


def weakened() -> Iterator[tuple[str, str, str]]:
    """For each change: the file, a description, and the file's new text."""
    for name in SOURCES:
        text = (ENGINE / name).read_text()
        for match in REFUSES.finditer(text):
            new = text[: match.start(1)] + f"0 && ({match[1]})" + text[match.end(1) :]
            yield name, f"without if ({' '.join(match[1].split())})", new
        for match in ENTRY.finditer(text):
            for effect in ("REG_R", "REG_W", "RM_R", "RM_W", "BYTE"):
                words = match[1].split(" | ")
                if effect in words:
                    less = " | ".join([w for w in words if w != effect] or ["0"])
                    new = text[: match.start(1)] + less + text[match.end(1) :]
                    yield name, f"without {effect} in {match[0].strip()}", new
    for name, old, change in OTHERS:
        text = (ENGINE / name).read_text()
        assert old in text, f"not in {name}: {old}"
        yield name, f"{old!r} -> {change!r}", text.replace(old, change, 1)


def tests_see(so: Path) -> bool:
    """Do the tests' lists of refused and accepted code fail, in a child process?"""
    code = "import sys; from unit.test_confined_verify import weaknesses; sys.exit(weaknesses())"
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "CONFINED_SUBJECT": str(so)}
    command = [sys.executable, "-c", code]
    try:
        run = subprocess.run(command, env=env, capture_output=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


def prove(python: str, so: Path, known: Path, *parts: str) -> bool:
    """Does the proof still hold? Unchanged parts need no new proof."""
    prover = ROOT / "tests" / "confined" / "prove.py"
    command = [python, prover, "--known", known, so, *parts]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Bench:
    """Objects of the unchanged sources, and a directory for each change."""

    def __init__(self, python: str, tmp: Path) -> None:
        self.python, self.tmp = python, tmp
        (tmp / "kept").mkdir()
        own = mutants.X86
        names = [*own.rest, *(name for name in own.jit if name.endswith(".c"))]
        self.whole = {n: self.compile(ENGINE / n, tmp / f"{Path(n).stem}.o") for n in names}
        confined = ROOT / "tests" / "confined"
        self.whole["subject.c"] = self.compile(confined / "subject.c", tmp / "subject.o")
        self.native = self.compile(confined / "native.c", tmp / "native.o")
        assert not tests_see(self.link(tmp / "subject.so", self.whole.values())), "fail as it is"
        self.known = tmp / "known"
        self.copy_engine(tmp / "as-it-is")
        whole = self.prover(tmp / "as-it-is", STEP)
        assert prove(python, whole, self.known, "claims", "decoder"), "no proof as it is"

    def copy_engine(self, directory: Path) -> Path:
        """A copy that can be changed, beside the folders that it includes."""
        engine = directory / "engine" / "confined"
        shutil.copytree(ENGINE, engine)
        for folder in ("core", "include"):
            (directory / folder).symlink_to(ROOT / folder)
        return engine

    def compile(self, source: Path, to: Path, *flags: str) -> Path:
        return mutants.compile_object(mutants.X86, source, to, "-O1", *flags)

    def link(self, so: Path, objects: Iterable[Path]) -> Path:
        subprocess.run(["gcc", "-shared", "-o", so, *objects], check=True)
        return so

    def prover(self, directory: Path, name: str) -> Path:
        """prove.c includes the decoder: build it with the changed one."""
        tests = directory / "tests" / "confined"
        tests.mkdir(parents=True)
        for source in ("prove.c", "prove_step.h"):
            shutil.copy(ROOT / "tests" / "confined" / source, tests)
        engine = directory / "engine" / "confined"
        objects = [self.compile(tests / "prove.c", directory / "prove.o"), self.native]
        objects.append(self.compile(engine / "verify_step.c", directory / "step.o"))
        assert (engine / name).exists()
        return self.link(directory / "prove.so", objects)

    def judge(self, change: tuple[int, str, str]) -> str:
        """The tests or proofs that detect the change."""
        number, name, text = change
        directory = self.tmp / str(number)
        engine = self.copy_engine(directory)
        (engine / name).write_text(text)
        objects = dict(self.whole)
        objects[name] = self.compile(engine / name, directory / "changed.o")
        if tests_see(self.link(directory / "subject.so", objects.values())):
            return "tests"
        if name == CODE:
            return "none"
        parts = ("claims", "places" if name == STEP else "decoder")
        holds = prove(self.python, self.prover(directory, name), self.known, *parts)
        return "none" if holds else "proof"


def check(python: str, every: int) -> int:
    seen = {"tests": 0, "proof": 0, "none": 0}
    changes = list(weakened())[::every]
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(python, Path(directory))
        jobs = [(n, name, text) for n, (name, _, text) in enumerate(changes)]
        with ThreadPool(int(os.environ.get("WEAKENED_JOBS", "2"))) as pool:
            for n, by in enumerate(pool.imap(bench.judge, jobs)):
                seen[by] += 1
                if by == "none":
                    print(f"\r{changes[n][0]}: {changes[n][1]}: nobody sees it", flush=True)
                print(f"\r{n + 1} of {len(jobs)}: {seen}", end="", file=sys.stderr, flush=True)
    print(
        f"\n{len(jobs)} weakened: {seen['tests']} seen by the tests, "
        f"{seen['proof']} by the proof, {seen['none']} by none"
    )
    return seen["none"]


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1) > 0)
