# SPDX-License-Identifier: GPL-2.0
"""Disassembles images' machine code: the invariant at the top of validate_image.c holds for it.

It does not know how code is generated, only the registers' roles from machine.h.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.subject import SO, Machine, RefusedError

STUBS = ("poll", "thunk", "throw", "abort", "fault_stack", "fault_function", "fault_access")
STUBS += ("beyond",)
NO_RETURN = STUBS[2:]
# A complete system call by its thunk, with and without a sixth argument.
THUNK = [
    re.compile(pattern)
    for pattern in (
        *("push +r9", "(push +rax)?", "(call barrier)?"),
        *(r"mov +DWORD PTR \[r9\+0x3c\],0x[0-9a-f]+", r"mov +r9,QWORD PTR \[r9\+0x80\]"),
        *("call system_call", "(pop +rcx)?", "pop +r9"),
        *(rf"xor +{r},{r}" for r in ("edi", "esi", "edx", "ecx", "r8d")),
    )
]
RUN_FIELDS = {"fuel": 0, "stack": 8, "native": 16, "user": 24, "try": 40}
PLAIN = {
    *("add", "sub", "or", "and", "xor", "cmp", "test", "mov", "movabs", "movzx", "movsx"),
    *("movsxd", "lea", "imul", "shl", "shr", "sar", "neg", "rol", "bswap", "cdq", "cqo"),
    *("div", "idiv", "push", "pop", "ret", "int3", "endbr64"),
    *("xadd", "xchg", "cmpxchg"),
}
WRITES_NOTHING = {"cmp", "test", "push", "ret", "int3", "endbr64"}
BRANCH = re.compile(r"^(call|jmp|j[a-z]+) +(0x[0-9a-f]+)$")
MEMORY = re.compile(r"\[([^]]+)\]")
PART = re.compile(r"([+-]?)(0x[0-9a-f]+|[a-z0-9]+)(\*1)?")
FAMILY = {
    **{f"r{n}{s}": f"r{n}" for n in range(8, 16) for s in ("", "d", "w", "b")},
    **{p + r: "r" + r for r in ("bp", "sp", "si", "di") for p in ("r", "e", "")},
    **{p + r + "x": f"r{r}x" for r in "abcd" for p in ("r", "e", "")},
    **{r + "l": f"r{r}x" for r in "abcd"},
    **{r + "l": "r" + r for r in ("si", "di", "bp", "sp")},
}


HALVES = {f"r{n}d" for n in range(8, 16)} | {f"e{r}" for r in ("si", "di")}
HALVES |= {f"e{r}x" for r in "abcd"}


@dataclass
class Line:
    address: int
    length: int
    text: str
    lock: bool

    @property
    def name(self) -> str:
        return self.text.split()[0]

    @property
    def operands(self) -> list[str]:
        return [o.strip() for o in self.text.partition(" ")[2].split(",") if o.strip()]


def disassemble(address: int, code: bytes, tmp: Path) -> list[Line]:
    path = tmp / "code"
    path.write_bytes(code)
    dump = subprocess.run(
        [
            *("objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel"),
            *("-w", f"--adjust-vma={address:#x}", path),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = []
    for line in dump.splitlines():
        fields = line.split("\t")
        if len(fields) != 3 or not fields[0].endswith(":"):
            continue
        text = re.sub(r"^rex[.A-Z]* ", "", fields[2].strip())
        lock = text.startswith("lock ")
        size = len(fields[1].split())
        lines.append(Line(int(fields[0][:-1], 16), size, text.removeprefix("lock "), lock))
    return lines


def parts(memory: str) -> tuple[list[str], int]:
    """The registers and the displacement of an operand."""
    registers, disp = [], 0
    for sign, what, _ in PART.findall(memory):
        if what.startswith("0x"):
            value = int(what, 16)
            disp += -value if sign == "-" else value
        else:
            registers.append(what)
    return registers, (disp + (1 << 63)) % (1 << 64) - (1 << 63)


class Reader:
    """Reads the lines once; @masked: an upper bound of each register."""

    def __init__(self, lines: list[Line], size: int, stubs: dict[int, str]) -> None:
        self.lines = lines
        self.size = size
        self.stubs = stubs
        self.at = {line.address for line in lines}
        self.targets = {t for line in lines if (t := self.target(line)) in self.at}
        self.masked: dict[str, int] = {}
        self.frame_masked = True
        self.in_try = False

    def target(self, line: Line) -> int | None:
        branch = BRANCH.match(line.text)
        return int(branch[2], 16) if branch else None

    def read(self) -> None:
        lines = iter(self.lines)
        for line in lines:
            if line.address in self.targets:
                self.masked = {}
            try:
                if line.text == "push   r9":
                    self.thunk(line, lines)
                else:
                    self.line(line)
            except AssertionError as wrong:
                raise AssertionError(f"{line}: {wrong}") from wrong

    def thunk(self, line: Line, lines: Iterator[Line]) -> None:
        """All lines of THUNK, without a jump into them. C clobbers registers."""
        first, sixth = line, False
        for pattern in THUNK:
            text = line.text
            if branch := BRANCH.match(text):
                text = f"{branch[1]} {self.stubs.get(int(branch[2], 16))}"
            optional = pattern.pattern.endswith("?")
            if optional and not pattern.fullmatch(text):
                assert "pop" not in pattern.pattern or not sixth, "a sixth argument stays"
                continue
            assert pattern.fullmatch(text), f"{text} where {pattern.pattern} should be"
            assert line is first or line.address not in self.targets, "led into"
            sixth |= "push" in pattern.pattern and optional
            assert "pop" not in pattern.pattern or not optional or sixth, "none was there"
            if pattern is not THUNK[-1]:
                line = next(lines)
        self.masked = {}

    def line(self, line: Line) -> None:
        if BRANCH.match(line.text):
            return self.branch(line)
        assert line.name in PLAIN, "not to be here"
        assert ":" not in line.text, "by way of a segment"
        memory = MEMORY.search(line.text)
        if memory and line.name != "lea":
            self.memory(line, memory[1])
        assert not line.lock or memory
        for register in self.written(line):
            self.write(line, register)
        return None

    def branch(self, line: Line) -> None:
        target = self.target(line)
        if target in self.stubs:
            assert line.name in ("call", "jmp")
            assert self.stubs[target] in STUBS, "not to be called here"
        else:
            assert target in self.at, "leads into the middle of an instruction"
        if line.name == "call" and self.stubs.get(target) == "poll":
            self.masked.pop("r10", None)
            self.masked.pop("r11", None)
        elif line.name == "call" and self.stubs.get(target) not in NO_RETURN:
            self.masked = {}
        if self.stubs.get(target) not in NO_RETURN and line.name not in ("jge", "jb", "jae"):
            assert self.frame_masked, "frame register is not masked at branch target"

    def memory(self, line: Line, operand: str) -> None:
        registers, disp = parts(operand)
        if registers == ["r9"]:
            assert disp in RUN_FIELDS.values(), "no field of struct run to be used"
            writes = line.operands[0].find("[") >= 0 and line.name not in ("cmp", "push")
            assert not writes or disp in (RUN_FIELDS["fuel"], RUN_FIELDS["try"]), "RUN_FIELDS"
            return
        assert registers[0] == "r12", "not in the arena"
        limit = 1
        if len(registers) == 2:
            index = registers[1]
            if index == "rbp":
                assert self.frame_masked, "frame_masked"
                limit = self.size
            else:
                assert index in self.masked, f"{index} is not masked"
                limit = self.masked[index] + 1
                if line.lock or line.name == "xchg":
                    width = 8 if "QWORD" in line.text else 4
                    assert not self.masked[index] & (width - 1) and disp == 0, "width"
        assert disp >= -0x8000
        assert limit - 1 + disp + 8 <= self.size + 0x9000

    def written(self, line: Line) -> Iterator[str]:
        if line.name in WRITES_NOTHING or not line.operands:
            yield from ("rax", "rdx") if line.name in ("cdq", "cqo") else ()
            return
        if line.name in ("div", "idiv"):
            yield from ("rax", "rdx")
            return
        changed = line.operands[:2] if line.name in ("xadd", "xchg") else line.operands[:1]
        yield from (FAMILY[o] for o in changed if o in FAMILY)

    def write(self, line: Line, register: str) -> None:
        assert register not in ("r9", "r12"), "is not to be changed"
        if register == "rsp":
            assert line.text == "add    rsp,0x28", "moves the stack"
        if register == "rbp":
            self.write_frame(line)
        self.masked.pop(register, None)
        constant = line.operands[-1]
        if line.name == "and" and line.operands[0] in HALVES and constant.startswith("0x"):
            mask = int(constant, 16)
            if mask < self.size and register != "rbp":
                self.masked[register] = mask

    def write_frame(self, line: Line) -> None:
        mask = re.fullmatch(r"and +ebp,(0x[0-9a-f]+)", line.text)
        if mask:
            self.frame_masked = int(mask[1], 16) < self.size
            return
        assert re.fullmatch(r"(add|sub) +ebp,0x[0-9a-f]+", line.text), "writes the frame's place"
        self.frame_masked = False


def read_image(image: bytes, key: int, thunks: int, tmp: Path) -> None:
    with Machine(image, key, thunks) as machine:
        address, code = machine.code()
        names = (*STUBS, "barrier", *7 * ("system_call",))
        stubs = {SO.stub(n): name for n, name in enumerate(names)}
        lines = disassemble(address, code, tmp)
        assert sum(line.length for line in lines) == len(code)
        Reader(lines, machine.size, stubs).read()


# -- Images -----------------------------------------------------------------------------


def any_insn(rng: random.Random, left: int) -> bytes:
    dst, src, off = rng.randrange(10), rng.randrange(11), rng.randrange(-0x8000, 0x8000)
    imm = rng.choice((rng.randrange(-128, 128), rng.getrandbits(32)))
    size = rng.choice((1, 2, 4, 8))
    op = rng.choice([o for o in i.OPS if o != "end"])
    base = rng.randrange(11)
    off = -8 * rng.randrange(1, 9) if base == 10 else off
    jump = rng.randrange(-3, max(1, min(left - 1, 20)))
    atomic = rng.choice((0, 0x40, 0x50, 0xA0, i.FETCH, i.XCHG, i.CMPXCHG))
    return rng.choice(
        (
            lambda: i.alu(op, dst, src, wide=rng.random() < 0.7),
            lambda: i.alui(op, dst, imm % 32 if "sh" in op else imm, wide=rng.random() < 0.7),
            lambda: i.alui("end", dst, rng.choice((16, 32, 64))),
            lambda: i.load(dst, base, off, size, size < 8 and rng.random() < 0.3),
            lambda: i.load(dst, base, off, size),
            lambda: i.store(base, off, src, size),
            lambda: i.storei(base, off, imm, size),
            lambda: i.atomic(atomic, base, off, dst, rng.choice((4, 8))),
            lambda: i.jump_ifi(rng.choice(list(i.JUMPS)), dst, imm, jump),
            lambda: i.jump_if(rng.choice(list(i.JUMPS)), dst, src, jump, False),
            lambda: i.arena(dst, rng.getrandbits(16)),
            lambda: i.imm64(dst, rng.getrandbits(64)),
            lambda: i.call_number(src),
            lambda: i.outside(rng.choice((1, 2, 3, 4, i.SYSCALL + 39, i.SYSCALL + 41))),
            lambda: i.EXIT,
        )
    )()


def any_function(rng: random.Random) -> tuple[bytes, int]:
    code = b""
    length = rng.randrange(1, 60)
    while (n := len(code) // 8) < length:
        code += any_insn(rng, length - n)
    return code + i.EXIT, rng.choice((64, 64, 128, 4096))


def any_image(seed: int) -> bytes:
    """A valid image: invalid ones are generated again."""
    rng = random.Random(seed)
    while True:
        functions = [any_function(rng) for _ in range(rng.randrange(1, 6))]
        image = i.Image(
            functions,
            table=[rng.randrange(len(functions)) for _ in range(rng.randrange(6))],
            flags=rng.choice((0, 0, 0, i.CHECKED)),
            shift=rng.choice((16, 20, 30)),
        ).pack()
        try:
            with Machine(image):
                return image
        except RefusedError as refused:
            if "machine code" in str(refused):  # by the verifier: retrying would never end
                raise


@pytest.mark.parametrize("seed", range(60))
def test_random_images(seed: int, tmp_path: Path) -> None:
    key = 0 if seed % 3 else 0x5BD1E995A7C15F39
    read_image(any_image(seed), key, seed // 3 % 3, tmp_path)


def test_reader_sees(tmp_path: Path) -> None:
    """The reader finds the faults in invented code."""
    good = "41 89 fa 41 81 e2 ff ff 00 00 4b 8b 44 14 08"  # r10 = edi & 0xffff; load
    wrong = {
        "41 89 fa 4b 8b 44 14 08": "is not masked",
        "41 81 e2 ff ff 00 00 41 ff c2": "not to be here",  # inc
        "41 81 e2 ff ff 00 00 49 01 fa 4b 8b 44 14 08": "is not masked",
        "41 81 e2 ff ff 01 00 4b 8b 44 14 08": "is not masked",
        "48 8b 07": "not in the arena",
        "4d 89 cc": "is not to be changed",  # r12
        "4d 89 e1": "is not to be changed",  # r9
        "48 89 fc": "moves the stack",
        "ff e0": "not to be here",  # jmp rax
        "ff d0": "not to be here",
        "eb ff": "leads into the middle",
        "48 89 fd": "writes the frame's place",
        "83 ed 08 41 8b 44 2c 00": "frame_masked",  # the frame moved, and used
        "49 89 41 20": "no field of struct run",
        "49 89 41 18": "RUN_FIELDS",  # user must not be written
        "0f 05": "not to be here",
        "41 81 e2 ff ff 00 00 eb 00 4b 8b 44 14 08": "is not masked",  # a jump leads after it
        "41 81 e2 ff ff 00 00 f0 4b 0f c1 04 14": "width",  # lock, address not rounded down
        "65 48 8b 04 25 00 00 00 00": "segment",  # gs:
        "41 51 4d 8b 89 80 00 00 00": r"where mov \+DWORD",
        "41 51 41 c7 41 3c 01 00 00 00 4d 8b 89 80 00 00 00 e8 00 00 00 00": "call system_call sh",
        "41 51 90": "where mov",
    }
    Reader(disassemble(0x1000, bytes.fromhex(good), tmp_path), 1 << 16, {}).read()
    for code, text in wrong.items():
        lines = disassemble(0x1000, bytes.fromhex(code), tmp_path)
        with pytest.raises(AssertionError, match=text):
            Reader(lines, 1 << 16, {}).read()
            raise ValueError(f"nothing wrong with {lines}")


def test_constants_are_blinded(tmp_path: Path) -> None:
    """Constants wider than 16 bits never appear in the code as in the program."""
    constant, wide = 0x31415926, 0x2718281828459045
    code = i.imm64(1, wide) + i.movi(0, constant) + i.imm64(2, constant)
    code += b"".join(
        i.alui(op, 0, constant) for op in i.OPS if op not in ("neg", "end") and "sh" not in op
    )
    code += i.storei(1, 0, constant) + i.storei(1, 0, constant, 4) + i.arena(3, constant)
    code += b"".join(i.jump_ifi(op, 0, constant, 0) for op in i.JUMPS)
    image = i.Image([code + i.load(0, 3) + i.EXIT], shift=30).pack()
    for key, found in ((0, True), (0x5BD1E995A7C15F39, False)):
        with Machine(image, key) as machine:
            _, machine_code = machine.code()
        for value, size in ((constant, 4), (wide, 8)):
            assert (value.to_bytes(size, "little") in machine_code) == found
