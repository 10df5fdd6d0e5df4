#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Builds the code generator with each fault of a table; the verifier must refuse its code.

Usage: mutants.py [EVERY [ARCHITECTURE]]    only every EVERYth fault of mutations.py, or of
mutations_arm64.py, whose processor is emulated
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined import mutations, mutations_arm64

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine" / "confined"
REST = ["validate_image.c", "fuel.c", "liveness.c", "verify_code.c", "verify_step.c", "machine.c"]
REST += ["interpret.c", "user/memory.c", "../../core/user/arena.c"]


@dataclass
class Architecture:
    name: str
    cc: str
    subject: str
    link: list[str]
    breaks: list[tuple[str, str]]
    wrong: list[tuple[str, str]]
    # The variable that tells subject.py what to test, and its value for a file.
    variable: str
    value: str

    @property
    def jit(self) -> list[str]:
        """The code generator's files, of which those in C are compiled."""
        own = f"arch/{self.name}"
        return ["jit.c", "jit_gen.h", f"{own}/jit_{self.name}.c", f"{own}/emit_{self.name}.h"]

    @property
    def rest(self) -> list[str]:
        own = f"arch/{self.name}"
        return [*REST, f"{own}/verify_{self.name}.c", f"{own}/stubs.S"]


X86 = Architecture(
    *("x86", "gcc", "subject.c", ["-shared"], mutations.BREAKS, mutations.WRONG),
    *("CONFINED_SUBJECT", "{}"),
)
ARM64 = Architecture(
    *("arm64", "aarch64-linux-gnu-gcc", "remote.c", ["-static"]),
    *(mutations_arm64.BREAKS, mutations_arm64.WRONG, "CONFINED_REMOTE", "qemu-aarch64 {}"),
)
KEY = 0x5BD1E995A7C15F39
IMAGES = 25
RUNS = 60


def compile_object(arch: Architecture, source: Path, to: Path, *flags: str) -> Path:
    command = [arch.cc, "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fsigned-char"]
    command += ["-w", "-g0", *flags]
    command += ["-iquote", ROOT / "core"]
    subprocess.run([*command, "-c", "-o", to, source], check=True)
    return to


def compile_rest(arch: Architecture, tmp: Path) -> list[Path]:
    objects = [
        compile_object(arch, ENGINE / name, tmp / (Path(name).stem + ".o"), "-O1")
        for name in arch.rest
    ]
    subject = ROOT / "tests" / "confined" / arch.subject
    return [*objects, compile_object(arch, subject, tmp / "subject.o", "-O1")]


def links_to_sources(tmp: Path) -> Path:
    """A copy of the engine's folder as links, in which sources can be replaced."""
    for path in ENGINE.rglob("*.[chS]"):
        link = tmp / path.relative_to(ROOT)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    for folder in ("core", "include", "kernel", "lib"):
        (tmp / folder).symlink_to(ROOT / folder)
    return tmp / ENGINE.relative_to(ROOT)


def build(arch: Architecture, sources: dict[str, str], rest: list[Path], tmp: Path) -> Path:
    """The subject with @sources in place of the code generator's files."""
    tree, so = tmp / ENGINE.relative_to(ROOT), tmp / "subject.so"
    for name, text in sources.items():
        (tree / name).unlink()
        (tree / name).write_text(text)
    objects = [
        compile_object(arch, tree / name, tmp / f"{Path(name).stem}.o", "-O0")
        for name in arch.jit
        if name.endswith(".c")
    ]
    subprocess.run([arch.cc, *arch.link, "-o", so, *objects, *rest], check=True)
    return so


def all_insns() -> bytes:
    """An image with instructions that random images rarely have."""
    code = b"".join(
        i.arena(1, 0x100) + i.load(2, 1) + i.alu(op, 2, 3, off)
        for op in ("div", "mod")
        for off in (0, 1)
    )
    code += b"".join(i.alu(op, 0, 2, 1) + i.alui(op, 2, 7, 0, False) for op in ("div", "mod"))
    code += b"".join(i.outside(i.SYSCALL + n) for n in range(7))
    code += i.arena(4, 0x8000) + i.load(4, 4, 0x7FF0) + i.store(4, 0x7FF8, 4)
    code += i.load(4, 4, -0x8000) + i.atomic(i.FETCH, 4, 4, 5) + i.atomic(0, 4, 3, 5, 4)
    code += i.mov(3, 10) + i.load(0, 3, 8) + i.jump_ifi("ne", 6, 1, 1) + i.load(7, 3, 16)
    code += i.load(2, 1) + i.jump_ifi("eq", 2, 5, -2) + i.load(2, 1, 8)
    code += i.load(8, 3, 24) + i.movi(9, 0x12345678) + i.load(9, 3, 32) + i.load(5, 4, 1)
    code += i.store(10, -8, 6) + i.load(6, 10, -64) + i.alu("lsh", 4, 5) + i.load(5, 4, 8)
    code += i.mov(5, 2) + i.alui("lsh", 5, 13) + i.alui("rsh", 2, 51) + i.alu("or", 2, 5)
    code += i.mov(5, 4) + i.alui("lsh", 5, 3) + i.alu("add", 5, 3) + i.load(5, 5, 8)
    code += i.load(5, 4, 8) + i.alu("add", 2, 5) + i.movi(5, 0)
    # An address used again after a division, and one that is not read afterwards.
    code += i.load(5, 4, 8) + i.alu("div", 2, 7) + i.load(5, 4, 16) + i.mov(2, 4)
    code += i.load(5, 3, 8) + i.alu("div", 2, 7) + i.load(5, 3, 16) + i.movi(3, 0)
    code += i.load(5, 4, 8) + i.load(5, 8, 8) + i.alu("mod", 2, 7)
    code += i.load(5, 4, 16) + i.load(5, 8, 16) + i.mov(2, 4)
    # Masked addresses, of which one gives way to another value.
    for user in (i.storei(4, 0, 77), i.store(4, 0, 10), i.alu("mod", 2, 7)):
        code += i.mov(4, 2) + i.mov(3, 7) + i.load(5, 4) + i.load(5, 3) + user
        code += i.load(5, 4) + i.load(5, 3)
    code += i.mov(1, 4) + i.load(5, 4, 8) + i.jump_ifi("ne", 5, 3, -3)
    code += i.load(5, 4, 16) + i.load(5, 4, 24) + i.mov(2, 4)
    # Two operations that A64 makes at once, and branches on a register.
    code += i.arena(5, 0x1100) + i.alu("add", 5, 2) + i.load(5, 5, 8)
    code += i.mov(5, 10) + i.alui("add", 5, -24) + i.load(5, 5) + i.alu("add", 0, 5)
    for op, n in (("rsh", 7), ("lsh", 9), ("arsh", 3), ("mul", 11)):
        code += i.mov(5, 3) + i.alui(op, 5, n) + i.alu("add", 0, 5) + i.movi(5, 0)
        code += i.mov(5, 0) + i.alui(op, 5, n) + i.mov(2, 3) + i.alu("xor", 2, 5)
        code += i.alu("add", 0, 2) + i.alu("xor", 0, 5)
    code += i.mov(5, 2) + i.alui("lsh", 5, 13) + i.alui("rsh", 2, 51) + i.alu("or", 2, 5)
    code += i.alu("xor", 2, 0) + i.alu("add", 0, 2) + i.movi(5, 0)
    for op, n in (("or", 0x7F0), ("xor", -16), ("and", -8), ("xor", 1), ("or", -0x7FFFFFFF)):
        code += i.alui(op, 0, n) + i.alui(op, 0, n, wide=False) + i.alu("add", 0, 3)
    for op, n in (("slt", 0), ("sge", 0), ("sgt", -1), ("sle", -1), ("set", 64), ("set", 0x70)):
        code += i.jump_ifi(op, 3, n, 1) + i.alui("add", 0, 3)
        code += i.jump_ifi(op, 0, n, 1, wide=False) + i.alui("add", 0, 5)
    for op in ("eq", "ne"):
        code += i.jump_ifi(op, 3, 0, 1) + i.alui("add", 0, 9)
    return code + i.call_number(1) + i.jump_ifi("ne", 6, 0, -30)


def corpus() -> list[bytes]:
    from confined.random_image import random_image
    from unit.test_confined_code import any_image

    leaf = i.movi(0, 5) + i.jump_ifi("gt", 1, 3, 2) + i.alui("add", 1, 1) + i.jump(-3) + i.EXIT
    plain = i.mov(6, 1) + i.call(1) + i.EXIT
    tries = i.mov(6, 1) + i.outside(2) + i.outside(1) + i.EXIT
    ends = i.mov(6, 1) + i.jump_ifi("ne", 1, 0, 1) + i.jump(1) + i.movi(0, 1) + i.EXIT
    turned = i.jump(2) + i.movi(0, 1) + i.EXIT + i.jump(-3)
    functions = [(all_insns() + i.EXIT, 64), (plain, 0), leaf, (tries, 128), turned, (ends, 64)]
    whole = i.Image(functions, table=(0, 1, 2, 3))
    by_chance = [random_image(seed) for seed in range(IMAGES)]
    return [whole.pack(), *(any_image(seed) for seed in range(IMAGES)), *by_chance]


def refusals(images: list[bytes]) -> str:
    """The verifier's reason for refusing one of the images, or ""."""
    from confined.subject import Machine, RefusedError

    for image in images:
        for key, thunks in ((0, 0), (KEY, 1), (KEY, 2)):
            try:
                with Machine(image, key, thunks):
                    pass
            except RefusedError as refused:
                if "machine code" not in str(refused):
                    raise
                return str(refused)
    return ""


def differs() -> str:
    """The first random image that machine code and interpreter run differently."""
    from confined.random_image import random_image
    from confined.subject import run_all

    for seed in range(RUNS):
        try:
            run_all(random_image(seed), *(random.Random(seed).getrandbits(63) for _ in range(5)))
        except AssertionError:
            return f"runs differ, seed {seed}"
    return ""


def judge(arch: Architecture, images: list[bytes], so: Path) -> str:
    """In a child process: the kind of the fault, and the evidence."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.environ[arch.variable] = arch.value.format(so)
        from confined.subject import RefusedError

        try:
            why = refusals(images)
            text = f"refused: {why}" if why else f"accepted: {differs() or 'runs alike'}"
        except RefusedError as refused:
            text = f"refused: {refused}"
        except BaseException as died:
            text = f"died: {died!r}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"died: {status}"


def images_by_child(arch: Architecture, so: Path) -> list[bytes]:
    """Made with the unmodified library, which must not be loaded in this process."""
    code = "import pickle, sys; from confined.mutants import corpus; "
    code += "sys.stdout.buffer.write(pickle.dumps(corpus()))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), arch.variable: arch.value.format(so)},
    )
    return pickle.loads(result.stdout)


def check(arch: Architecture, every: int) -> int:
    """The number of mutants whose verdict differs from the table."""
    sources = {name: (ENGINE / name).read_text() for name in arch.jit}
    wrong, count = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        tmp = Path(directory)
        rest = compile_rest(arch, tmp)
        links_to_sources(tmp)
        unchanged = build(arch, sources, rest, tmp).rename(tmp / "unchanged.so")
        images = images_by_child(arch, unchanged)
        alike = judge(arch, images, unchanged)
        assert alike == "accepted: runs alike", alike
        for old, new, want in [
            *((*m, "refused") for m in arch.breaks),
            *((*m, "accepted") for m in arch.wrong),
        ][::every]:
            found = [text.count(old) for text in sources.values()]
            assert sum(found) == 1, f"not in the code generator, or twice: {old}"
            mutant = {name: text.replace(old, new) for name, text in sources.items()}
            so = build(arch, mutant, rest, tmp).rename(tmp / f"{count}.so")
            verdict = judge(arch, images, so)
            so.unlink()
            count += 1
            if not verdict.startswith(want):
                wrong += 1
                print(f"--- {old}\n+++ {new}\n{verdict}, want {want}\n", flush=True)
    print(f"{count} faults, {count - wrong} judged as they should be")
    return wrong


if __name__ == "__main__":
    architecture = ARM64 if sys.argv[2:] == ["arm64"] else X86
    sys.exit(check(architecture, int(sys.argv[1]) if len(sys.argv) > 1 else 1) > 0)
