# SPDX-License-Identifier: GPL-2.0
"""What the verifier of A64 refuses. Its processor is emulated: confined/remote.py."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confined import insn as i
from confined.random_image import random_image
from confined.subject import REMOTE, SO, Machine, run_all, with_facts
from conftest import ROOT, TESTS
from unit.test_confined_code import STUBS, any_image

assert REMOTE, "to be run by make test-arm64"
TOOLS = "aarch64-linux-gnu-"
SHIFT = 16
ROOM = 160  # instructions to plant in
MOVE = bytes.fromhex("e00300aa")  # mov x0, x0
FRAME, SCRATCH = 1 << 23, 1 << 9 | 3 << 16


class Label(ctypes.Structure):
    """struct verify_label of engine/confined/verify_code.h, on arm64."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("at", "credit", "masked", "by4", "by8", "unset")),
        *((name, ctypes.c_uint8) for name in ("depth", "room")),
        ("calls", ctypes.c_bool),
    ]


def label_of(text: str, at: int) -> Label:
    """The generator's facts in a function that saves r6, changed by @text."""
    label = Label(at, 20000, FRAME, FRAME, FRAME, SCRATCH, depth=2, room=2, calls=True)
    return with_facts(label, text)


def assemble(text: str, address: int, targets: dict[str, int], tmp: Path) -> bytes:
    source, objects, program, binary = (tmp / f"a.{end}" for end in ("s", "o", "elf", "bin"))
    source.write_text(text)
    symbols = [f"--defsym={name}={at:#x}" for name, at in targets.items()]
    for command in (
        [f"{TOOLS}as", "-march=armv8.5-a+memtag", "-o", objects, source],
        [f"{TOOLS}ld", f"-Ttext={address:#x}", "--entry=0", *symbols, "-o", program, objects],
        [f"{TOOLS}objcopy", "-O", "binary", "-j", ".text", program, binary],
    ):
        subprocess.run(command, check=True)
    return binary.read_bytes()


@contextmanager
def planting(tmp: Path, thunks: int) -> Iterator[Callable[[str], str]]:
    """A function that plants instructions, and returns why the verifier refuses them.

    @thunks: 1 if thunks are called without barriers, 2 with them.

    The code is in a function with a frame, which saves r6; two more functions follow.
    Instructions are separated by ";". ":" is a label, ":m16,d3" one where x16 is masked and three
    words are pushed: see label_of().
    """
    body = i.mov(6, 6) + i.mov(1, 1) * (ROOM + 40) + i.call(2) + i.call_number(1)
    leaf = i.mov(0, 0) * 20 + i.EXIT
    image = i.Image([(body + i.EXIT, 64), leaf, leaf], table=(0, 1), shift=SHIFT).pack()
    push = bytes.fromhex("9e8f1ff8")
    with Machine(image, thunks=thunks) as machine:
        address, code = machine.code()
        at = code.index(MOVE * ROOM)
        starts = [m.start() for m in re.finditer(re.escape(push), code) if not m.start() % 4]
        targets = {name: SO.stub(n) for n, name in enumerate(STUBS)} | {
            "barrier": SO.stub(8),
            "thunk_3": SO.stub(9 + 3),
            "thunk_6": SO.stub(9 + 6),
            "leaf": address + starts[-1],
            "self": address + starts[1],
            "middle": address + at + 4,
            "start": address,
            "dispatch": address + 16,
        }

        def plant(text: str) -> str:
            lines, labels = [], []
            for part in (part.strip() for part in text.split(";")):
                if part.startswith(":"):
                    labels.append(label_of(part, at + 4 * len(lines)))
                elif part:
                    lines.append(part)
            planted = assemble("\n".join(lines) + "\n", address + at, targets, tmp)
            assert len(planted) == 4 * len(lines), "not one instruction for each part"
            rest = MOVE * (ROOM - len(lines))
            return machine.verify(code[:at] + planted + rest + code[at + 4 * ROOM :], labels)

        yield plant


MASKED = "and w16, w0, #0xffff; "
PLACE = "add x9, x24, w23, uxtw; "
SUM = MASKED + "add x10, x24, w16, uxtw; "
PC = "mov w17, #1; movk w17, #0, lsl #16; "
FUEL = "subs x26, x26, #{}; b.pl .+16; " + PC + "bl {}; "
ROOM_CHECK = "ldr x16, [x25, #16]; cmp x28, x16; b.hs .+16; " + PC + "bl {}; "
FRAME_CHECK = "ldr x16, [x25, #8]; cmp w23, w16; b.ge .+16; " + PC + "bl {}; "
RANGE = "mov x16, x0; mov x17, x0; mov x9, #1; cmp x17, x9; b.ls .+16; " + PC + "bl {}; "
RETURN = "ldr x19, [x28], #8; ldr x30, [x28], #8; "
TRY = (
    "str x30, [x28, #-8]!; str x23, [x28, #-8]!; str x19, [x28, #-8]!; str x20, [x28, #-8]!; "
    "str x21, [x28, #-8]!; str x22, [x28, #-8]!; ldr x16, [x25, #40]; str x16, [x28, #-8]!; "
    "str x28, [x25, #40]; mov x16, x0; mov x0, x1; bl dispatch; ldr x16, [x28], #8; "
    "str x16, [x25, #40]; add x28, x28, #40; ldr x30, [x28], #8; "
)
CALL_THUNK = (
    PC + "str w17, [x25, #60]; str x26, [x25]; ldr x5, [x25, #128]; bl thunk_3; mov x6, x0; "
    "ldr x26, [x25]; mov x0, xzr; mov x1, xzr; mov x2, xzr; mov x3, xzr; ands x4, xzr, xzr; "
)
THUNK = CALL_THUNK.replace("str x26", "bl barrier; str x26")

STOP = "dsb nsh; isb; "

GOOD = [
    MASKED + "ldr x1, [x24, w16, uxtw]",
    "and w17, w0, #0x7fff; str w1, [x24, w17, uxtw]; ldrsb x2, [x24, w17, uxtw]",
    "and w0, w0, #0xffff; ldrb w1, [x24, w0, uxtw]",
    "ldr x1, [x24, w23, uxtw]",
    "mov x9, x0; str x9, [x24, w23, uxtw]",
    PLACE + "ldur x1, [x9, #-8]; " + PLACE + "strh wzr, [x9, #4094]",
    PLACE + "sub x9, x9, #8, lsl #12; add x9, x9, #0x7f8; ldrsh x1, [x9, #2]",
    "ldr x1, [x24, #8]; stur x1, [x24, #-8]",
    "add x9, x24, #15, lsl #12; ldr x1, [x9, #8]",
    "ldr x1, [x27, #8]; stur wzr, [x27, #-8]; ldrsb x2, [x27]",
    "sub x9, x27, #8, lsl #12; add x9, x9, #8; ldr x1, [x9]",
    "add x27, x24, w23, uxtw; ldr x1, [x27, #16]",
    "sub w23, w23, #8; and w23, w23, #0xffff; add x27, x24, w23, uxtw",
    "sub x9, x24, #8, lsl #12; ldr x1, [x9]",
    SUM + "ldr x1, [x10, #8]; str x1, [x10]; ldursb x2, [x10, #-1]",
    SUM + "mov x16, x0; mov x0, x1; ldr x1, [x10, #4088]",
    SUM + "sub x9, x10, #8, lsl #12; add x9, x9, #8; ldr x1, [x9]",
    SUM + "b .+4; :m10; ldr x1, [x10]",
    "add x13, x24, w23, uxtw; ldr x1, [x13, #16]",
    "and w16, w0, #0xfff8; add x9, x24, w16, uxtw; ldaddal x1, x2, [x9]",
    "and w16, w0, #0xfff8; and w16, w16, #0xffff; add x9, x24, w16, uxtw; swpal x1, x2, [x9]",
    "and w16, w0, #0xfffc; add x9, x24, w16, uxtw; casal w6, w2, [x9]",
    PLACE + "add x9, x9, #8; ldclral x1, xzr, [x9]",
    PLACE + "ldeoral w1, wzr, [x9]; " + PLACE + "ldsetal w1, w2, [x9]",
    "str x19, [x28, #-8]!; str x0, [x28, #-8]!; ldr x0, [x28], #8; ldr x19, [x28], #8",
    FUEL.format(1, "poll"),
    "subs x26, x26, #1, lsl #12; " + FUEL.format(0, "poll"),
    "bl leaf",
    "bl self; " + FUEL.format(200, "poll"),
    "mov w16, #1; " + PC + "bl thunk",
    THUNK + "cmp x6, x0; b.eq .+4; :",
    THUNK.replace("thunk_3", "thunk_6") + THUNK,
    PC + "bl throw",
    PC + "bl fault_function",
    FRAME_CHECK.format("fault_stack"),
    RANGE.format("fault_access"),
    "ldr x3, [x25, #24]; add x3, x3, x23; add x3, x3, #64",
    "sub w23, w23, #1, lsl #12; sub w23, w23, #8; and w23, w23, #0xffff",
    MASKED + "b .+4; :m16; ldr x1, [x24, w16, uxtw]",
    MASKED + "cmp x0, x1; b.eq .+8; mov x0, x0; :m16; ldr x1, [x24, w16, uxtw]",
    ":; " + FUEL.format(1, "poll") + "cmp w0, #1, lsl #12; b.lo .-24",
    RETURN + ":d0; str x30, [x28, #-8]!; str x19, [x28, #-8]!",
    RETURN + ":d0,r1; ret; " + STOP + ":",
    RETURN + "ret; :d0; str x30, [x28, #-8]!; str x19, [x28, #-8]!; b .+12; " + STOP + ":c10000",
    RETURN + "ret; " + STOP + ":",
    RETURN + PC + ":d0,r1,s17; " + TRY + "ret; " + STOP + ":c10000",
    # What a processor may execute after a jump
    "b .+4; :",
    MASKED + "b .+8; :m16; ldr x1, [x24, w16, uxtw]; :c10000",
    "b .+20; " + STOP + ":m10,s17; ldr x1, [x10]; str x17, [x10]; :c10000",
    RETURN + ":d0,r1; str x30, [x28, #-8]!; " + ROOM_CHECK.format("fault_stack") + ":d1,c19000; "
    "str x19, [x28, #-8]!; :c10000",
    "cbz x0, .+8; mov x0, x0; :",
    "cbnz w1, .+12; tbz x19, #63, .+8; tbnz w2, #5, .+4; :",
    # What the generator writes for each operation on registers
    "orr x0, x1, #1; eor w0, w1, #0xff00; and x0, x1, #0xffffffff00000000; and w0, w1, #-8",
    "tst x0, #0x7f0; tst w1, #1; eor x0, x1, #0x8000000000000001",
    "eor x0, x1, x2, ror #51; orr w0, w1, w2, lsl #31; and x0, x1, x2, asr #63; bic x0, x0, x1",
    "add x0, x1, x2, lsl #3; sub w3, w4, w6; subs xzr, x0, #4; ands xzr, x0, x1; cmp w0, w1",
    "orr w0, wzr, w1; orn x17, xzr, x2; eor x0, x1, x2; and x0, x1, x2",
    "movz x0, #1, lsl #48; movk x0, #2, lsl #16; movn w1, #3, lsl #16",
    "ubfm x0, x1, #3, #63; sbfm w0, w1, #4, #31; sbfm x0, x1, #0, #31; lsl x0, x0, #63",
    "ror x0, x1, #63; ror w0, w1, #31; extr x0, x1, x2, #5",
    "udiv x0, x1, x2; sdiv w0, w1, w2; lsl x0, x1, x2; lsr w0, w1, w2; asr x0, x1, x2",
    "madd x0, x1, x2, xzr; msub w0, w1, w2, w3; rev16 w0, w0; rev w0, w1; rev x0, x1",
]

NONE = "instruction is not allowed"
READS = "reads a register that may hold a kernel value"
WRITES = "writes a reserved register"
UNMASKED = "address is not masked"
GUARD = "offset exceeds the guard area"
LINE = "atomic operation may cross a cache line"
DEPTH = "stack depth differs at branch target"
LINK = "call before the return address is saved"
REPORT = "stub would report a kernel value"
FAULT = "comparison without its fault call"
CALLED = "call target is not allowed"

WRONG = {
    # Addresses
    "ldr x1, [x24, w16, uxtw]": UNMASKED,
    "ldr x1, [x24, w0, uxtw]": UNMASKED,
    "and w16, w0, #0x1ffff; ldr x1, [x24, w16, uxtw]": UNMASKED,
    "and w16, w0, #0xfffffffe; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "ldr x1, [x24, w17, uxtw]": UNMASKED,
    MASKED + "mov x16, x0; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "movk w16, #1, lsl #16; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "ldr x16, [x24, w16, uxtw]; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "mov w16, #1; " + PC + "bl thunk; ldr x1, [x24, w16, uxtw]": UNMASKED,
    "and w0, w0, #0xffff; mov w16, #1; " + PC + "bl thunk; ldr x1, [x24, w0, uxtw]": UNMASKED,
    MASKED + FUEL.format(1, "poll") + "ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "bl leaf; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + ":; ldr x1, [x24, w16, uxtw]": UNMASKED,
    "b .+4; :m16; ldr x1, [x24, w16, uxtw]": "register is not masked at branch target",
    "add x9, x24, w0, uxtw; ldr x1, [x9]": UNMASKED,
    "ldr x1, [x24, wzr, uxtw]": NONE,
    "add x9, x24, wzr, uxtw; ldr x1, [x9]": NONE,
    "and x16, x0, #0xffff; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "orr w16, w16, #0x10000; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "eor w16, w16, #0xffff; ldr x1, [x24, w16, uxtw]": UNMASKED,
    MASKED + "ldr x1, [x24, w16, sxtw]": NONE,
    MASKED + "ldr x1, [x24, x16]": NONE,
    MASKED + "ldr x1, [x24, w16, uxtw #3]": NONE,
    MASKED + "ldr x1, [x25, w16, uxtw]": NONE,
    MASKED + "ldr x1, [x16]": NONE,
    MASKED + "ldr q1, [x24, w16, uxtw]": NONE,
    MASKED + "prfm pldl1keep, [x24, w16, uxtw]": NONE,
    MASKED + "add x9, x24, w16, sxtw; ldr x1, [x9]": NONE,
    MASKED + "add x9, x24, w16, uxtw #1; ldr x1, [x9]": NONE,
    MASKED + "add x9, x25, w16, uxtw; ldr x1, [x9]": NONE,
    MASKED + "add w9, w24, w16, uxtw; ldr x1, [x9]": NONE,
    MASKED + "add x0, x24, w16, uxtw; ldr x1, [x0]": NONE,
    # Distances
    PLACE + "add x9, x9, #9, lsl #12; ldr x1, [x9]": GUARD,
    PLACE + "add x9, x9, #8, lsl #12; ldr x1, [x9, #4096]": GUARD,
    PLACE + "sub x9, x9, #9, lsl #12; ldur x1, [x9, #-1]": GUARD,
    PLACE + "sub x9, x9, #10, lsl #12; ldr x1, [x9]": GUARD,
    PLACE + "add x9, x9, #0xfff, lsl #12; add x9, x9, #0xfff; ldr x1, [x9]": GUARD,
    "add x9, x24, #25, lsl #12; ldr x1, [x9]": GUARD,
    "sub x9, x24, #10, lsl #12; ldr x1, [x9]": GUARD,
    PLACE + "add x9, x9, #8; add x9, x9, #8; add x9, x9, #8; ldr x1, [x9]": NONE,
    PLACE + "add x9, x9, x0; ldr x1, [x9]": NONE,
    PLACE + "mov x0, x0; ldr x1, [x9]": NONE,
    PLACE + "ldr x1, [x9, #8]!": NONE,
    PLACE + "ldr x1, [x9], #8": NONE,
    PLACE + "ldp x0, x1, [x9]": NONE,
    PLACE + "ldtr x0, [x9]": NONE,
    PLACE + "ldxr x0, [x9]": NONE,
    PLACE + "ldr q0, [x9]": NONE,
    PLACE + "prfm pldl1keep, [x9]": NONE,
    # The frame's address in x27
    "sub w23, w23, #8; add x27, x24, w23, uxtw": UNMASKED,
    "sub w23, w23, #8; ldr x1, [x27]": UNMASKED,
    MASKED + "add x27, x24, w16, uxtw": NONE,
    "add x27, x24, x23": READS,
    "add x27, x24, w23, sxtw": NONE,
    "add x27, x24, w23, uxtw #3": NONE,
    "add x27, x25, w23, uxtw": NONE,
    "add w27, w24, w23, uxtw": NONE,
    "add x27, x27, #8": READS,
    "add x27, x24, #8": READS,
    "mov x27, xzr": WRITES,
    "ldr x27, [x27]": WRITES,
    "str x27, [x27]": READS,
    "mov x0, x27; ldr x1, [x27]": READS,
    MASKED + "ldr x1, [x27, w16, uxtw]": NONE,
    "ldr x1, [x27, #8]!": NONE,
    "ldr x1, [x27], #8": NONE,
    "ldp x0, x1, [x27]": NONE,
    "ldr q0, [x27]": NONE,
    "prfm pldl1keep, [x27]": NONE,
    "ldaddal x1, x2, [x27]": NONE,
    "sub x9, x27, #9, lsl #12; ldur x1, [x9, #-1]": GUARD,
    "add x9, x27, #8, lsl #12; ldr x1, [x9, #4096]": GUARD,
    "add x9, x27, #4; ldaddal x1, x2, [x9]": LINE,
    PLACE + ":; ldr x1, [x9]": "label is not at an instruction boundary",
    "ldr x1, [x9]": NONE,
    # Sums in x10 to x13
    "ldr x1, [x10, #8]": UNMASKED,
    SUM + "ldr x1, [x11]": UNMASKED,
    SUM + "ldr x1, [x14]": NONE,
    "add x10, x24, w0, uxtw; ldr x1, [x10]": UNMASKED,
    "add x10, x24, wzr, uxtw": NONE,
    MASKED + "add x14, x24, w16, uxtw": NONE,
    MASKED + "add x10, x25, w16, uxtw": NONE,
    MASKED + "add w10, w24, w16, uxtw": NONE,
    MASKED + "add x10, x24, w16, sxtw": NONE,
    MASKED + "add x10, x24, w16, uxtw #1": NONE,
    **{
        SUM + text: NONE
        for text in (
            *("ldr x1, [x24, w10, uxtw]", "add x11, x24, w10, uxtw", "add x27, x24, w10, uxtw"),
            *("add x9, x24, w10, uxtw; ldr x1, [x9]", "ldr x1, [x10, w16, uxtw]"),
            *("ldr x1, [x10, #8]!", "ldr x1, [x10], #8", "ldp x0, x1, [x10]", "ldr q0, [x10]"),
            *("prfm pldl1keep, [x10]", "ldaddal x1, x2, [x10]", "ldxr x0, [x10]"),
        )
    },
    **{
        SUM + text: READS
        for text in (
            *("mov x0, x10", "add x10, x10, #8", "and w10, w10, #0xffff", "str x10, [x10]"),
            *("cbz x10, .+4; :", "tbz w10, #3, .+4; :", "cmp x10, x0"),
        )
    },
    SUM + "ldr x10, [x10]": WRITES,
    "and w10, w0, #0xffff; ldr x1, [x24, w10, uxtw]": WRITES,
    "add x10, x24, #8": READS,
    **{
        SUM + text + "ldr x1, [x10]": UNMASKED
        for text in (
            "mov w16, #1; " + PC + "bl thunk; ",
            FUEL.format(1, "poll"),
            FRAME_CHECK.format("fault_stack"),
            RANGE.format("fault_access"),
            THUNK,
            "bl leaf; ",
            ":; ",
            "add x10, x24, w23, uxtw; " + FUEL.format(1, "poll"),
        )
    },
    SUM + "add x10, x24, w17, uxtw": UNMASKED,
    "b .+4; :m10; ldr x1, [x10]": "register is not masked at branch target",
    SUM + "sub x9, x10, #9, lsl #12; ldur x1, [x9, #-1]": GUARD,
    SUM + "add x9, x10, #8, lsl #12; ldr x1, [x9, #4096]": GUARD,
    SUM + "add x9, x10, #4; ldaddal x1, x2, [x9]": LINE,
    "add x9, x10, #8; ldr x1, [x9]": UNMASKED,
    # After a jump
    "b .+8; :m10; ldr x1, [x10]; :": "register is not masked at branch target",
    "b .+8; :m16; ldr x1, [x24, w16, uxtw]; :": "register is not masked at branch target",
    MASKED + "b .+8; :m16,e16; mov x0, x0; :": "register is not aligned at branch target",
    "b .+8; :s17; mov x0, x17; :": "register may hold a kernel value at branch target",
    "b .+8; :d3; mov x0, x0; :": DEPTH,
    RETURN + "ret; :": DEPTH,
    RETURN + "ret; :d0,m16": "register is not masked at branch target",
    "b .+12; dsb nsh; mov x0, x0; :": "unreachable code",
    "b .+12; isb; dsb nsh; :": "unreachable code",
    "b .+12; dsb ishst; isb; :": "unreachable code",
    "b .+8; " + STOP + ":": "branch target has no label",
    STOP + "mov x0, x0": NONE,
    # Branches on registers, and logical constants
    **{f"{text}, .+4; :": READS for text in ("cbz x9", "cbnz w16", "tbz x24, #3", "tbnz w17, #0")},
    "cbz x0, .+8": "branch target has no label",
    "tbz x0, #1, .-8": "branch target has no label",
    "sub w23, w23, #8; cbz x0, .+4; :": "frame register is not masked at branch target",
    "eor x24, x0, #1": WRITES,
    "orr x0, x24, #1": READS,
    "eor w23, w23, #8": WRITES,
    "ands w23, w23, #8": WRITES,
    **{
        text: NONE
        for text in (
            *("orr sp, x0, #1", "eor wsp, w0, #1", "and sp, x0, #0xff00000000"),
            *("orr x0, x1, #0x5555555555555555", "orr w0, w1, #0x00ff00ff"),
            *("and x0, x1, #0x0000ffff0000ffff", "mov x0, #0xff00ff00ff00ff"),
            # All ones, and a shift of 32 bits by 32: reserved
            *(".inst 0x32007c20", ".inst 0xb240fc20", ".inst 0x9240fc20"),
            *(".inst 0x2a028020", ".inst 0x32400020", ".inst 0x32200020"),
        )
    },
    # The address in x9
    PLACE + "str x9, [x9]": NONE,
    PLACE + "strb w9, [x9, #1]": NONE,
    PLACE + "ldaddal x9, x1, [x9]": NONE,
    PLACE + "swpal x9, x1, [x9]": NONE,
    PLACE + "casal x9, x1, [x9]": NONE,
    PLACE + "casal x6, x9, [x9]": NONE,
    PLACE + "ldr x1, [x9]; mov x1, x9": READS,
    PLACE + "ldr x9, [x9]; mov x1, x9": READS,
    PLACE + "ldr x1, [x9]; str x9, [x24, w23, uxtw]": READS,
    PLACE + "ldr x1, [x9]; str x9, [x28, #-8]!": READS,
    PLACE + "ldr x1, [x9]; movk w9, #1": READS,
    PLACE + "ldr x1, [x9]; cmp x9, x0": READS,
    # Atomic operations
    "and w16, w0, #0xffff; add x9, x24, w16, uxtw; ldaddal x1, x2, [x9]": LINE,
    "and w16, w0, #0xfffc; add x9, x24, w16, uxtw; ldaddal x1, x2, [x9]": LINE,
    "and w16, w0, #0xfff8; and w16, w1, #0xffff; add x9, x24, w16, uxtw; casal x6, x2, [x9]": LINE,
    "and w16, w0, #0xfff8; add x9, x24, w16, uxtw; add x9, x9, #4; casal x6, x2, [x9]": LINE,
    PLACE + "add x9, x9, #4; ldaddal x1, x2, [x9]": LINE,
    PLACE + "add x9, x9, #2; ldaddal w1, w2, [x9]": LINE,
    PLACE + "ldaddalb w1, w2, [x9]": NONE,
    PLACE + "ldadd x1, x2, [x9]": NONE,
    PLACE + "ldsmaxal x1, x2, [x9]": NONE,
    PLACE + "caspal x0, x1, x2, x3, [x9]": NONE,
    MASKED + "ldaddal x1, x2, [x24]": NONE,
    # Registers
    **{f"mov x{n}, x0": WRITES for n in (5, 7, 8, 10, 15, 18, 23, 24, 25, 26, 27, 28, 29, 30)},
    **{f"mov x0, x{n}": READS for n in (5, 7, 8, 10, 15, 18, 24, 25, 26, 27, 28, 29, 30)},
    **{f"mov x0, x{n}": READS for n in (9, 16, 17)},
    "mov w24, w0": WRITES,
    "ldr x24, [x24, w23, uxtw]": WRITES,
    PLACE + "ldr x30, [x9]": WRITES,
    PLACE + "swpal x0, x25, [x9]": WRITES,
    PLACE + "casal x26, x0, [x9]": READS,
    "ldr x28, [x25, #24]": WRITES,
    "str x25, [x24, w23, uxtw]": READS,
    "str x24, [x28, #-8]!": READS,
    "sub x26, x26, #1": READS,
    "add x28, x28, #8": READS,
    "mov sp, x0": NONE,
    "mov x0, sp": NONE,
    "and sp, x0, #0xffff": NONE,
    "sub sp, sp, #16": NONE,
    "sub w0, wsp, #16": NONE,
    "cmp sp, #1": NONE,
    "add x0, x0, w1, uxtw": NONE,
    "mov w23, w0": WRITES,
    "add x23, x23, #8": WRITES,
    "adds w23, w23, #8": WRITES,
    "add w23, w0, #8": WRITES,
    "and w23, w0, #0xffff": WRITES,
    "add w23, w23, #4; and w23, w23, #0xffff": "frame offset is not a multiple of 8",
    "add w23, w23, #8; ldr x1, [x24, w23, uxtw]": UNMASKED,
    "add w23, w23, #8; and w23, w23, #0x1ffff; ldr x1, [x24, w23, uxtw]": UNMASKED,
    "add w23, w23, #8; bl leaf": "frame register is not masked at branch target",
    "add w23, w23, #8; b .+4; :": "frame register is not masked at branch target",
    # struct machine, and the stack
    **{f"ldr x1, [x25, #{at}]": NONE for at in (0, 8, 16, 32, 40, 48, 128)},
    "ldr w1, [x25, #24]": NONE,
    "str x1, [x25, #24]": NONE,
    "str x1, [x25, #0]": NONE,
    "ldr x1, [x28]": NONE,
    "str x1, [x28, #-16]!": NONE,
    "str w1, [x28, #-8]!": NONE,
    "ldr x1, [x28], #16": NONE,
    "ldr x19, [x28], #8; ldr x0, [x28], #8": "pops the return address",
    "ldr x30, [x28], #8": "pops no return address",
    RETURN + "ldr x30, [x28], #8": "pops no return address",
    RETURN + "ldr x0, [x28], #8": "pops the return address",
    RETURN + "str x0, [x28, #-8]!": "pushes before the return address",
    "str x30, [x28, #-8]!": "return address is not in its register",
    "str x0, [x28, #-8]!; " * 11: "stack push exceeds the limit",
    "str x0, [x28, #-8]!; b .+4; :": DEPTH,
    "ret": DEPTH,
    "ldr x19, [x28], #8; ret": DEPTH,
    RETURN + "b .+4; :d1": DEPTH,
    RETURN + "bl leaf": LINK,
    RETURN + PC + "bl throw": LINK,
    RETURN + "mov w16, #1; " + PC + "bl thunk": LINK,
    RETURN + FUEL.format(1, "poll"): LINK,
    RETURN + ROOM_CHECK.format("fault_stack"): LINK,
    RETURN + FRAME_CHECK.format("fault_stack"): LINK,
    RETURN + RANGE.format("fault_access"): LINK,
    ROOM_CHECK.format("fault_stack"): "stack check after a push",
    TRY + "ret": DEPTH,
    RETURN + PC + ":d0,r1,s17; " + TRY.replace("#40; ldr x30", "#48; ldr x30"): NONE,
    RETURN + PC + ":d0,r1,s17; " + TRY.replace("ldr x16, [x28]", "ldr x0, [x28]"): NONE,
    RETURN + ":d0,r1; " + TRY + "ret; ": "register may hold a kernel value at branch target",
    RETURN + PC + ":d0,r0,s17; " + TRY + "ret; :": "call without a stack check",
    # Calls
    "bl middle": "call target is not a routine",
    "b middle": "branch target has no label",
    "b .+8; mov x0, x0; :": "unreachable code",
    "bl start": "call target is not a routine",
    "bl dispatch": "register may hold a kernel value at branch target",
    "bl poll": CALLED,
    "bl barrier": CALLED,
    "b poll": CALLED,
    "b thunk": "jump target is outside the code",
    "bl .+0x100000": CALLED,
    "bl thunk": REPORT,
    PC + "bl thunk": REPORT,
    "mov w16, #1; bl thunk": REPORT,
    "bl throw": REPORT,
    "mov x16, x0; bl fault_access": REPORT,
    ":r0; bl leaf": "call without a stack check",
    ":k0; bl leaf": "call without a stack check",
    # System calls
    CALL_THUNK: "system call without a speculation barrier",
    THUNK.replace("bl barrier", "bl leaf"): "system call without a speculation barrier",
    THUNK.replace("thunk_3", "leaf"): CALLED,
    THUNK.replace("thunk_3", "barrier"): CALLED,
    THUNK.replace("thunk_3", "thunk_6+4"): CALLED,
    "bl thunk_3": CALLED,
    "b thunk_3": CALLED,
    RETURN + THUNK: LINK,
    THUNK.replace("mov x6", ":; mov x6"): "label is not at an instruction boundary",
    MASKED + THUNK + "ldr x1, [x24, w16, uxtw]": UNMASKED,
    "and w0, w0, #0xffff; " + THUNK + "ldr x1, [x24, w0, uxtw]": UNMASKED,
    **{THUNK + f"mov x0, x{n}": READS for n in (5, 7, 9, 16, 17, 18, 30)},
    # Sequences
    FUEL.format(0, "poll"): "invalid fuel charge",
    FUEL.format(1, "thunk"): "invalid fuel charge",
    FUEL.format(1, "poll").replace("b.pl", "b.mi"): READS,
    FUEL.format(1, "poll").replace(".+16", ".+12"): READS,
    FUEL.format(1, "poll").replace("x26, x26", "x26, x0"): WRITES,
    FUEL.format(1, "poll").replace("subs", "adds"): READS,
    RETURN + ":d0,r1; str x30, [x28, #-8]!; " + ROOM_CHECK.format("thunk"): FAULT,
    FRAME_CHECK.format("thunk"): FAULT,
    FRAME_CHECK.format("poll"): FAULT,
    RANGE.format("thunk"): FAULT,
    RANGE.format("poll"): FAULT,
    FRAME_CHECK.format("fault_stack") + "mov x0, x16": READS,
    RANGE.format("fault_access") + "mov x0, x16": READS,
    FUEL.format(1, "poll") + "mov x0, x17": READS,
    ":c40; " + "mov x0, x0; " * 11: "more code than fuel paid for",
    "b .+4; :c1000000": "too little fuel paid at branch target",
    # Other instructions
    **{
        text: NONE
        for text in (
            *("br x0", "blr x0", "ret x0", "svc #0", "hvc #0", "smc #0", "brk #0", "hlt #0"),
            *("udf #0", "eret", "nop", "hint #20", "isb", "dsb sy", "dmb ish", "sb"),
            *("mrs x0, cntvct_el0", "msr nzcv, x0", "mrs x0, tpidr_el0", "dc zva, x0"),
            *("ic ivau, x0", "b.vs .+8", "b.vc .+8"),
            *("b.mi .+8", "b.pl .+8", "b.al .+8", "b.nv .+8", "adr x0, .", "adrp x0, ."),
            *("ldr x0, .", "ldrsw x0, .", "cset w0, eq", "csel x0, x1, x2, eq", "adc x0, x1, x2"),
            *("ccmp x0, x1, #0, eq", "bfm x0, x1, #0, #3", "clz x0, x1", "rbit x0, x1"),
            *("umulh x0, x1, x2", "smaddl x0, w1, w2, x3", "crc32b w0, w1, w2", "fmov d0, x0"),
            *("add v0.2d, v1.2d, v2.2d", "stp x0, x1, [x28, #-16]!", "ldar x0, [x24]"),
            *("add x0, x1, x2, lsr #1", "rev32 x0, x1"),
            *("pacia x0, x1", "autiasp", "xpaci x0"),
            *("retaa", "ldraa x0, [x24]", "irg x0, x1", "stg x0, [x24]", "wfi", "yield"),
        )
    },
    "bti c": "code contains bti c",
}


def name_of(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text)[:60]


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    with planting(tmp_path_factory.mktemp("planted"), 2) as plant:
        yield plant


@pytest.mark.parametrize("text", GOOD, ids=name_of)
def test_accepts(plant: Callable[[str], str], text: str) -> None:
    assert plant(text) == ""


@pytest.mark.parametrize("text", WRONG, ids=name_of)
def test_refuses(plant: Callable[[str], str], text: str) -> None:
    assert plant(text).partition(": ")[2] == WRONG[text]


# A function whose last instruction is a jump.
TURNED = i.jump(2) + i.movi(0, 1) + i.EXIT + i.jump(-3)


@pytest.mark.parametrize("body", [i.EXIT, TURNED], ids=["return", "jump"])
def test_code_ends_with_a_barrier(body: bytes) -> None:
    """What follows code in memory is not known, and a processor may run on there."""
    with Machine(i.Image([body]).pack()) as machine:
        code = machine.code()[1]
        assert machine.verify(code) == ""
        last = int.from_bytes(code[-12:-8], "little")
        if body == TURNED:
            last -= 2  # words that it is moved by
        moved = code[:-12] + 2 * MOVE + last.to_bytes(4, "little")
        assert "control flow runs past the end" in machine.verify(moved)


# What never continues with what follows it in memory.
JUMPS = re.compile(r"(?:ret|br|b)\b(?!\.)")


def test_stubs_do_not_run_on() -> None:
    """Each jump and return of stubs.S, whatever it is assembled for, stands before a barrier."""
    source = (ROOT / "engine/confined/arch/arm64/stubs.S").read_text().splitlines()
    words = [line.partition(":\t")[2] or line.strip() for line in source]
    assert words.count("STOP") > 2
    for word, after in zip(words, words[1:], strict=False):
        assert not JUMPS.match(word) or after == "STOP", word
    command = [f"{TOOLS}objdump", "-d", "--no-show-raw-insn", str(REMOTE).split()[-1]]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    stubs = dump[dump.index("<confined_enter>:") :].partition("<confined_thunk>:")
    lines = stubs[0] + stubs[2].partition("\n\n")[0]
    insns = re.findall(r"^ *[0-9a-f]+:\t(\S+)", lines, re.MULTILINE)
    jumps = [n for n, name in enumerate(insns) if JUMPS.fullmatch(name)]
    assert len(jumps) > 15
    for n in jumps:
        assert insns[n + 1 : n + 3] == ["dsb", "isb"], n


def test_accepts_calls_without_barriers(tmp_path: Path) -> None:
    with planting(tmp_path, 1) as plant:
        assert plant(CALL_THUNK) == ""
        assert plant(THUNK) == ""
        assert CALLED in plant(CALL_THUNK.replace("thunk_3", "leaf"))


def test_calls_are_whole(plant: Callable[[str], str]) -> None:
    """Without any of its instructions, or with another register, a call is refused."""
    parts = [part.strip() for part in THUNK.split(";")[:-1]]
    assert len(parts) == 14
    for n, part in enumerate(parts):
        assert plant("; ".join(parts[:n] + parts[n + 1 :])) != "", part
        for register in {m[0] for m in REGISTER.finditer(part)} - {"xzr"}:
            other = re.sub(rf"\b{register}\b", f"{register[0]}2", part, count=1)
            if other != part:
                assert plant("; ".join([*parts[:n], other, *parts[n + 1 :]])) != "", other


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_accepts_what_is_generated(seed: int) -> None:
    for image in (any_image(seed), random_image(seed)):
        for thunks in (0, 1, 2):
            with Machine(image, thunks=thunks):
                pass


# Mnemonics that write their first operand and read the others; that read all.
WRITE_FIRST = {
    *("add", "adds", "sub", "subs", "and", "ands", "orr", "orn", "eor", "eon", "bic", "bics"),
    *("mov", "mvn", "neg", "negs", "movk", "sbfiz", "sbfx", "ubfiz", "ubfx", "sxtb", "sxth"),
    *("sxtw", "uxtb", "uxth", "lsl", "lsr", "asr", "ror", "extr", "udiv", "sdiv"),
    *("mul", "mneg", "madd", "msub", "rev", "rev16"),
}
READ_ALL = {"cmp", "cmn", "tst"}
CONDITIONS = ("eq", "ne", "cs", "cc", "hi", "ls", "ge", "lt", "gt", "le")
BRANCHES = {"b", "bl", *(f"b.{c}" for c in CONDITIONS)}
BRANCHES_ON = {"cbz", "cbnz", "tbz", "tbnz"}
REGISTER = re.compile(r"\b[wx](\d+)\b|\b(?:wzr|xzr|sp|wsp)\b")
MEMORY = re.compile(r"\[x(?:(?P<sum>27|1[0-3])(?=, #|\])|24)(?:, (?:#(-?\d+)|w(\d+), uxtw))?\]")
SUMS = re.compile(r"x(27|1[0-3]), x24, w(\d+), uxtw")


class Insn(ctypes.Structure):
    """struct verify_insn of engine/confined/verify_insn.h, on arm64, after its word."""

    _fields_ = [
        ("word", ctypes.c_uint64),
        *((name, ctypes.c_uint8) for name in ("len", "kind", "reg", "slots")),
        *((name, ctypes.c_uint32) for name in ("reads", "writes", "leaves", "places")),
        ("arena", ctypes.c_bool),
        ("runs_on", ctypes.c_bool),
        ("index", ctypes.c_uint8),
        ("align", ctypes.c_uint8),
        ("disp", ctypes.c_int32),
        ("imm", ctypes.c_int32),
        ("to", ctypes.c_int64),
        ("barrier", ctypes.c_int64),
    ]


def registers(text: str) -> int:
    return sum({1 << int(m[1]) for m in REGISTER.finditer(text) if m[1]})


def check_access(insn: Insn, operands: str) -> None:
    memory = MEMORY.search(operands)
    assert memory and insn.arena and not insn.align, "another address"
    index = int(memory["sum"] or memory[3] or 0xFF)
    index = 23 if index == 27 else index
    assert (insn.disp, insn.index) == (int(memory[2] or 0), index)


def check_words(insn: Insn, name: str, operands: str) -> None:
    """Is @insn what the disassembler read?"""
    first, _, rest = operands.partition(",")
    reads, writes, places = registers(rest), registers(first), 0
    if name in BRANCHES:
        assert insn.to == int(operands.split()[0], 16) or insn.to < 0
        reads = writes = 0
    elif name in BRANCHES_ON:
        assert insn.to == int(rest.rpartition(" ")[2], 16) or insn.to < 0
        reads, writes = writes, 0
    elif name.startswith(("ldr", "ldur")):
        check_access(insn, operands)
        reads = 0
    elif name.startswith(("str", "stur")):
        check_access(insn, operands)
        reads, writes = registers(first), 0
    elif name in READ_ALL:
        reads, writes = registers(operands), 0
    elif (place := SUMS.fullmatch(operands)) and name == "add":
        assert (insn.arena, insn.disp, insn.index) == (True, 0, int(place[2]))
        reads = writes = 0
        places = 0 if place[1] == "27" else 1 << int(place[1])
        assert places or insn.index == 23
    else:
        assert name in WRITE_FIRST, "not to be accepted"
        assert "sp" not in operands
    if name == "movk":
        reads = writes
    assert (insn.reads, insn.writes, insn.leaves, insn.places) == (reads, writes, 0, places)


def test_decodes_as_another_disassembler(tmp_path: Path) -> None:
    data = SO.ask("sample", 0, 60000, 1 << 23)[1]
    insns = (Insn * (len(data) // ctypes.sizeof(Insn))).from_buffer_copy(data)
    assert len(insns) == 60000
    binary = tmp_path / "words"
    binary.write_bytes(b"".join(insn.word.to_bytes(4, "little") for insn in insns))
    command = [f"{TOOLS}objdump", "-D", "-b", "binary", "-m", "aarch64", "-z", binary]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split("\t") for line in dump.splitlines() if line.count("\t") >= 2]
    assert len(lines) == len(insns)
    kinds = set()
    for at, (insn, (_, _, name, *operands)) in enumerate(zip(insns, lines, strict=True)):
        text = operands[0].partition("//")[0].strip() if operands else ""
        insn.to += 4 * at
        try:
            check_words(insn, name.strip(), text)
        except AssertionError as wrong:
            raise AssertionError(f"{insn.word:#x} {name} {text}: {wrong}") from wrong
        kinds.add(name.strip())
    assert len(kinds) > 50, kinds


@pytest.mark.parametrize("n", [10, 2500, 16000])
def test_branches_reach_far(n: int) -> None:
    """Conditional branches reach 1 MiB, others 128."""
    some = i.alu("mod", 3, 4) + i.alu("xor", 3, 2)
    code = i.movi(0, 1) + i.jump_if("gt", 1, 2, 2 * n) + some * n + i.alui("add", 0, 2)
    code += i.jump_ifi("eq", 1, 77, -3 - 2 * n) + i.EXIT
    image = i.Image([code]).pack()
    assert run_all(image, 5, 4).value == 3
    assert run_all(image, 4, 5).value == 3


def test_faults_are_refused() -> None:
    """A sample of the faults of mutations_arm64.py."""
    command = [sys.executable, TESTS / "confined" / "mutants.py", "5", "arm64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
