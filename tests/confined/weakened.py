#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Builds the verifier without each of its checks: its tests, or the proof, have to see it.

Usage: weakened.py PYTHON    PYTHON: one that has what prove.py needs
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.mutants import ENGINE, REST, ROOT, compile_object

SOURCES = ("verify.c", "verify_step.c", "verify_x86.c")
# A condition, and what comes of it.
REFUSES = re.compile(r"\tif \(((?:[^;{}])*?)\)\n\t+return (?:refuse|\"|false)")
ENTRY = re.compile(r"\t\[(?:TWO \| )?0x[0-9a-f]{2}\] = ([A-Z0-9_ |()x]*[a-f0-9)A-Z])")
OTHERS = [
    # Kinds of instructions, sets of registers
    ("verify_step.c", "s->unset |", "0 &"),
    ("verify_step.c", "(s->unset | V_SECRET)", "(s->unset)"),
    ("verify_step.c", "in->writes & V_KEPT & ~frame", "in->writes & V_SECRET & ~frame"),
    ("verify_step.c", "\tif (in->kind != V_MASK)\n\t\tforget(s, in->writes);", "\t;"),
    ("verify_step.c", "<= arena_mask(v)", "<= arena_mask(v) + 1"),
    ("verify_step.c", "<= arena_mask(v)", "<= 2 * arena_mask(v)"),
    ("verify_step.c", "\ts->masked &= ~regs;", "\t;"),
    ("verify_step.c", "\ts->by4 &= ~regs;", "\t;"),
    ("verify_step.c", "\ts->by8 &= ~regs;", "\t;"),
    ("verify_step.c", "(s64)IMAGE_GUARD - 8", "(s64)IMAGE_GUARD - 7"),
    ("verify_step.c", "(s64)IMAGE_GUARD - 8", "(s64)IMAGE_GUARD"),
    ("verify_step.c", "in->disp < -(s64)IMAGE_GUARD", "in->disp < -(s64)IMAGE_GUARD - 1"),
    ("verify_step.c", "arena_mask(v) + 1;\n\telse", "arena_mask(v) + 2;\n\telse"),
    ("verify_step.c", "in->align == 8 ? s->by8 : s->by4", "s->by4"),
    ("verify_step.c", "\t\ts->masked &= ~V_BIT(V_FRAME);\n", ""),
    ("verify_step.c", 'in->imm & 7 ? "moves', 'in->imm & 3 ? "moves'),
    ("verify_step.c", "\t\ts->machine = HAS_RUN;\n", ""),
    ("verify_step.c", "held != (reg == V_MACHINE)", "0"),
    (
        "verify_step.c",
        "\tforget(s, V_BIT(reg));\n\ts->unset &= ~V_BIT(reg);",
        "\ts->unset &= ~V_BIT(reg);",
    ),
    ("verify_step.c", "divide == V_DIVIDED ?", "divide ?"),
    ("verify_x86.c", "0x81, MACHINE_AT_FUEL, 5,", "0x81, MACHINE_AT_FUEL, ANY,"),
    ("verify_x86.c", "0x03, MACHINE_AT_USER,", "0x03, MACHINE_AT_BASE,"),
    ("verify_x86.c", "0x8b, MACHINE_AT_USER,", "0x8b, MACHINE_AT_HOME,"),
    ("verify_x86.c", "0xc7, MACHINE_AT_PC,", "0xc7, MACHINE_AT_END,"),
    ("verify_x86.c", "fields[i].wide != d->wide", "0"),
    ("verify_x86.c", "in->align = d->wide ? 8 : 4;", "in->align = 4;"),
    ("verify_x86.c", "return base == R12 && does & AS_LOCK;", "return does & AS_LOCK;"),
    ("verify_x86.c", "return base == R12 && does & AS_MEM;", "return does & AS_MEM;"),
    ("verify_x86.c", "d->reg == 4 && !d->wide", "d->reg == 4"),
    ("verify_x86.c", "d->rm == RBP && !d->wide && (", "d->rm == RBP && ("),
    ("verify_x86.c", "*d->p++ == 0xcc", "*d->p++ < 0xff"),
    ("verify_x86.c", "return in->len <= left;", "return true;"),
    ("verify_x86.c", "d->reg |= (d->rex & 4) << 1;", ""),
    ("verify_x86.c", "d->rm = (modrm & 7) | (d->rex & 1) << 3;", "d->rm = modrm & 7;"),
    ("verify_x86.c", "in->reads |= V_BIT(RAX) | V_BIT(RDX);", ""),
    ("verify.c", "known &= word;", ""),
    ("verify.c", "*word &= known | ~FACTS;", ""),
    ("verify.c", "known &= DEPTH | MASKED_FRAME;", ""),
    ("verify.c", "want & ~known & FACTS", "0"),
    ("verify.c", "steps(c->s.credit) < c->credit[to])", "0)"),
    ("verify.c", "\t\tc->s.credit -= c->in.len;\n", ""),
    ("verify.c", "\tunset(&c->s, V_SCRATCH);\n\tc->s.fenced = false;", "\tc->s.fenced = false;"),
    ("verify.c", "\tunset(&c->s, V_ARGS | V_SCRATCH | V_BIT(V_MACHINE));\n", ""),
    ("verify.c", "\tc->s.machine = HAS_NOTHING;\n", ""),
    ("verify.c", "\tc->s = state_of(MASKED_FRAME | c->s.depth, c->s.credit);\n", ""),
    ("verify.c", "c->s.unset |= start ? 0 : V_BIT(V_RAX);", ""),
    ("verify.c", "\tc->s.fenced = false;\n\tif (to <= c->pos)", "\tif (to <= c->pos)"),
    ("verify.c", "\tc->s.divide = 0;\n\tif (to", "\tif (to"),
]


def weakened() -> Iterator[tuple[str, str, str]]:
    """A file, what is said of the change, and the file's text with it."""
    for name in SOURCES:
        text = (ENGINE / name).read_text()
        for match in REFUSES.finditer(text):
            new = text[: match.start(1)] + f"0 && ({match[1]})" + text[match.end(1) :]
            yield name, f"without if ({' '.join(match[1].split())})", new
        for match in ENTRY.finditer(text):
            for effect in ("REG_R", "REG_W", "RM_R", "RM_W", "BYTE", "WIDE"):
                words = match[1].split(" | ")
                if effect in words:
                    less = " | ".join([w for w in words if w != effect] or ["0"])
                    new = text[: match.start(1)] + less + text[match.end(1) :]
                    yield name, f"without {effect} in {match[0].strip()}", new
    for name, old, change in OTHERS:
        text = (ENGINE / name).read_text()
        if old in text:
            yield name, f"{old!r} -> {change!r}", text.replace(old, change, 1)


def tests_see(so: Path) -> bool:
    """Do the tests' lists of what is refused and accepted fail, in a process of their own?"""
    code = "import re, sys; from unit.test_confined_verify import *\n"
    code += "with planting() as plant:\n"
    code += " bad = [c for c, why in WRONG.items() if not re.search(why, plant(c))]\n"
    code += " bad += [c for c in GOOD if plant(c)]\n"
    code += "bad += accepted_tries()\n"
    code += "bad += 'without room' not in call_without_room() and [1] or []\n"
    code += "sys.exit(bool(bad) or not length_without_fuel())"
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "CONFINED_SUBJECT": str(so)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    return run.returncode != 0


def proof_sees(python: str, so: Path, part: str) -> bool:
    prover = ROOT / "tests" / "confined" / "prove.py"
    run = subprocess.run([python, prover, so, part], capture_output=True, check=False)
    return run.returncode != 0


def check(python: str) -> int:
    unseen = seen = by_proof = 0
    with tempfile.TemporaryDirectory() as directory:
        tmp = Path(directory)
        (tmp / "kept").mkdir()
        names = [*REST, "jit_x86.c"]
        objects = {n: compile_object(ENGINE / n, tmp / f"{Path(n).stem}.o", "-O1") for n in names}
        confined = ROOT / "tests" / "confined"
        for name in ("subject.c", "prove.c"):
            objects[name] = compile_object(confined / name, tmp / f"{name}.o", "-O1")

        def link(so: str, parts: list[str], changed: dict[str, Path]) -> Path:
            files = [changed.get(n, objects[n]) for n in parts]
            subprocess.run(["gcc", "-shared", "-o", tmp / so, *files], check=True)
            return tmp / so

        whole, proof = [*names, "subject.c"], ["prove.c", "verify_step.c", "verify_x86.c"]
        assert not tests_see(link("subject.so", whole, {})), "the tests fail as it is"
        for name, what, text in weakened():
            (tmp / "changed.c").write_text(text)
            new = compile_object(tmp / "changed.c", tmp / "changed.o", "-O1", f"-I{ENGINE}")
            if tests_see(link("subject.so", whole, {name: new})):
                seen += 1
                continue
            so = link("prove.so", proof, {name: new}) if name in proof else None
            if so and any(proof_sees(python, so, part) for part in ("claims", "decoder")):
                by_proof += 1
                continue
            unseen += 1
            print(f"{name}: {what}: nobody sees it", flush=True)
    total = seen + by_proof + unseen
    print(f"{total} weakened: {seen} seen by the tests, {by_proof} by the proof, {unseen} by none")
    return unseen


if __name__ == "__main__":
    sys.exit(check(sys.argv[1]) > 0)
