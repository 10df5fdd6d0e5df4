# SPDX-License-Identifier: GPL-2.0
"""Faults to plant in the code generator for arm64: see mutations.py."""

BREAKS = [
    # Masks
    (
        "\tand_ones(g, to, regs[reg], arena_shift(g));\n\treturn to;",
        "\tmov(g, false, to, regs[reg]);\n\treturn to;",
    ),
    (
        "\tand_ones(g, to, regs[reg], arena_shift(g));\n\treturn to;",
        "\tand_ones(g, to, regs[reg], arena_shift(g) + 1);\n\treturn to;",
    ),
    (
        "\tand_ones(g, to, regs[reg], arena_shift(g));\n\treturn to;",
        "\tand_ones(g, to ^ 1, regs[reg], arena_shift(g));\n\treturn to;",
    ),
    ("\tg->masked[reg - X16] = NONE;\n\treturn reg;", "\treturn reg;"),
    ("\tg->masked[spare - X16] = NONE;\n\treturn spare;", "\treturn spare;"),
    ("\t\tto = scratch(g, by);\n", "\t\tto = by == X16 ? X17 : X16;\n"),
    ("return (struct place){ mask_reg(g, reg), off };", "return (struct place){ regs[reg], off };"),
    ("return (struct place){ mask_reg(g, reg), off };", "return (struct place){ X17, off };"),
    (
        "return (struct place){ mask_reg(g, reg), off };",
        "return (struct place){ mask_reg(g, reg), off * 2 };",
    ),
    (
        "return (struct place){ XZR, known + off };",
        "return (struct place){ XZR, known + off + 0x20000 };",
    ),
    # Addresses
    (
        "emit32(g, 0x8b204000 | index << 16 | BASE << 5",
        "emit32(g, 0x8b204000 | index << 16 | MACHINE << 5",
    ),
    ("emit32(g, 0x8b204000 | index << 16", "emit32(g, 0x8b20c000 | index << 16"),
    ("emit32(g, 0x8b204000 | index << 16", "emit32(g, 0x8b206000 | index << 16"),
    (
        "return mem_index(g, log, opc, reg, BASE, p.index);",
        "return mem_index(g, log, opc, reg, MACHINE, p.index);",
    ),
    ("0x38204800 | opc << 22", "0x38206800 | opc << 22"),
    ("0x38204800 | opc << 22", "0x38205800 | opc << 22"),
    (
        "add_near(g, true, SPARE, base, high * 0x1000);",
        "add_near(g, true, SPARE, base, high * 0x4000);",
    ),
    (
        "\tmem_imm(g, log, opc, reg, base, disp);\n}",
        "\tmem_imm(g, log, opc, reg, MACHINE, disp);\n}",
    ),
    ("\tu8 base = BASE;\n", "\tu8 base = NATIVE;\n"),
    (
        "load_imm(g, true, src = scratch(g, p.index), insn->imm);",
        "load_imm(g, true, src = SPARE, insn->imm);",
    ),
    # Atomic operations
    ("and_run(g, X16, X16, log, arena_shift(g) - log);", "and_ones(g, X16, X16, arena_shift(g));"),
    ("log, arena_shift(g) - log);", "log, arena_shift(g) - log + 1);"),
    ("op | s << 16 | SPARE << 5 | t", "op | s << 16 | BASE << 5 | t"),
    ("op | s << 16 | SPARE << 5 | t", "(op & ~0x800000) | s << 16 | SPARE << 5 | t"),
    ("\treturn (struct place){ X16, 0 };", "\treturn (struct place){ X16, 4 };"),
    # Functions, and the stack
    ("\tpush(g, LINK);\n}", "}"),
    ("\tpop(g, LINK);\n\temit32(g, RET);\n}\n\n/* -- Jumps", "\temit32(g, RET);\n}\n\n/* -- Jumps"),
    ("\tand_ones(g, FRAME, FRAME, arena_shift(g));\n\temit_place", "\temit_place"),
    ("\t\tplace_frame(g);\n\t}\n\tfor", "\t}\n\tfor"),
    ("\t\tplace_frame(g);\n\t}\n\tpop", "\t}\n\tpop"),
    ("emit_place(g, FRAME_PLACE, FRAME);", "emit_place(g, FRAME_PLACE, X16);"),
    ("emit_place(g, FRAME_PLACE, FRAME);", "emit_place(g, BASE, FRAME);"),
    ("FRAME_PLACE\tX27", "FRAME_PLACE\tX26"),
    ("\tif (needs_room(g)) {", "\tif (0) {"),
    ("\t\tload_machine(g, X16, MACHINE_AT_NATIVE);", "\t\tload_machine(g, X16, MACHINE_AT_STACK);"),
    ("\tcall_stub(g, confined_fault_stack);", "\tcall_stub(g, confined_poll);"),
    ("for (i = 3; i >= 0; i--)", "for (i = 3; i > 0; i--)"),
    ("\tmove_frame(g, -(s32)frame_size(g));", "\tmove_frame(g, -(s32)frame_size(g) + 4);"),
    ("RET = 0xd65f03c0", "RET = 0xd61f03c0"),
    ("0xf81f8c00 | NATIVE", "0xf81f0c00 | NATIVE"),
    (
        "static const u8 saved[] = { LINK, FRAME, X19",
        "static const u8 saved[] = { LINK, X19, FRAME",
    ),
    (
        "\top_imm12(g, true, ADD, NATIVE, NATIVE, 8 * 5);",
        "\top_imm12(g, true, ADD, NATIVE, NATIVE, 8 * 6);",
    ),
    # Fuel
    (
        "op_imm12(g, true, SUBS, FUEL, FUEL, fuel & 0xfff);",
        "op_imm12(g, true, SUBS, FUEL, FUEL, fuel & 7);",
    ),
    (
        "op_imm12(g, true, SUBS, FUEL, FUEL, fuel & 0xfff);",
        "op_imm12(g, true, SUB, FUEL, FUEL, fuel & 0xfff);",
    ),
    ("\tcall_stub(g, confined_poll);", "\tcall_stub(g, confined_thunk);"),
    ("enough = branch_unless(g, PL);", "enough = branch_unless(g, LO);"),
    # Calls
    ("\temit_pc(g);\n\tswitch (what) {", "\tswitch (what) {"),
    ("\tmov_wide(g, false, MOVZ, X16, what, 0);\n", ""),
    ("\tmov(g, true, X16, operand(g, reg, X16));", "\tmov(g, true, SPARE, operand(g, reg, X16));"),
    ("\tcall_stub(g, confined_thunk);\n}", "\tcall_stub(g, confined_barrier);\n}"),
    ("\tcall_stub(g, confined_fault_access);", "\tcall_stub(g, confined_poll);"),
    ("\tif (g->jit->barrier)\n\t\tcall_stub(g, confined_barrier);\n", ""),
    ("\tmem_imm(g, 2, 0, X17, MACHINE, MACHINE_AT_PC);\n", ""),
    ("X17, MACHINE, MACHINE_AT_PC);", "X17, MACHINE, MACHINE_AT_END);"),
    ("\tstore_machine(g, FUEL, MACHINE_AT_FUEL);\n", ""),
    ("\tload_machine(g, FUEL, MACHINE_AT_FUEL);\n", ""),
    ("load_machine(g, X5, MACHINE_AT_RUN);", "load_machine(g, X5, MACHINE_AT_BASE);"),
    ("load_machine(g, X5, MACHINE_AT_RUN);", "load_machine(g, X4, MACHINE_AT_RUN);"),
    ("branch_to(g, BL, thunk.address);", "branch_to(g, BL, thunk.address + 16);"),
    ("\tmov(g, true, regs[0], X0);\n", ""),
    ("\tfor (i = 1; i < 5; i++)\n\t\tmov(g", "\tfor (i = 2; i < 5; i++)\n\t\tmov(g"),
    ("\top3(g, true, ANDS, regs[5], XZR, XZR);", "\tmov(g, true, regs[5], XZR);"),
    # Registers of the kernel
    ("\tload_machine(g, dst, MACHINE_AT_USER);", "\tload_machine(g, dst, MACHINE_AT_BASE);"),
    ("\tload_machine(g, spare, MACHINE_AT_USER);", "\tload_machine(g, spare, MACHINE_AT_STACK);"),
    ("regs[] = { X6, X0", "regs[] = { X5, X0"),
    ("regs[] = { X6, X0, X1", "regs[] = { X6, X0, X18"),
    ("sum->shift << 10 |\n\t\t  base << 5", "sum->shift << 10 |\n\t\t  BASE << 5"),
    # The shared half
    ("\tforget_scratch(g);\n\tjit_emit_charge(g, fuel);", "\tjit_emit_charge(g, fuel);"),
    ("\t\t\tforget(g);\n\t\t\tjit_label(g, state_at", "\t\t\tjit_label(g, state_at"),
    ("\tforget(g);\n\tif (insn->code & INSN_X)\n", "\tif (insn->code & INSN_X)\n"),
    ("marks & MARK_TARGET || is_behind_end(g)", "marks & MARK_TARGET"),
    ("\tjit_emit_link(g);\n", ""),
]

WRONG = [
    ("insn->off ? SDIV : UDIV", "UDIV"),
    ("(wide ? SF : 0) | MSUB | by << 16", "(wide ? SF : 0) | MADD | by << 16"),
    ("[INSN_JGT >> 4] = HI", "[INSN_JGT >> 4] = HS"),
    ("[INSN_JSLT >> 4] = LT", "[INSN_JSLT >> 4] = LO"),
    ("op == INSN_LSH ? LSLV : op == INSN_RSH ? LSRV : ASRV", "op == INSN_LSH ? LSLV : LSRV"),
    ("op == INSN_RSH ? 0x53 : 0x13, dst, left, n", "0x53, dst, left, n"),
    ("op3(g, wide, ops[op >> 4], dst, left, second", "op3(g, wide, ops[op >> 4], dst, dst, second"),
    ("and_run(g, dst, left, low, 32", "and_run(g, dst, left, 0, 32"),
    ("sign ? 2 : 1, regs[insn->dst]", "1, regs[insn->dst]"),
    ("\t\tdisp &= 0xfff;", "\t\tdisp &= 0x7ff;"),
    ("\temit_place(g, FRAME_PLACE, FRAME);\n", ""),
    ("insn->imm < 0 ? ADDS : SUBS", "SUBS"),
    ("fill ? (u16)~piece : piece", "piece"),
    ("(width - n) % width << 10", "n << 10"),
    (
        "return emit_atomic(g, LDADDAL, log, src, XZR);",
        "return emit_atomic(g, LDSETAL, log, src, XZR);",
    ),
    (
        "\t\treturn emit_atomic(g, SWPAL, log, src, src);",
        "\t\treturn emit_atomic(g, SWPAL, log, src, XZR);",
    ),
    ("\t\top3(g, log == 3, ORN, X17, XZR, src);", "\t\top3(g, log == 3, ORR, X17, XZR, src);"),
    (
        "\t\tbitfield(g, false, 0x53, dst, dst, 0, 15);",
        "\t\tbitfield(g, false, 0x53, dst, dst, 0, 14);",
    ),
    ("insn->imm == 32 ? 0x5ac00800 : 0x5ac00400", "0x5ac00400"),
    ("op == INSN_ADD ? insn->imm : -(s64)insn->imm", "insn->imm"),
    (
        "return bitfield(g, wide, 0x13, dst, src, 0, insn->off - 1);",
        "return bitfield(g, wide, 0x53, dst, src, 0, insn->off - 1);",
    ),
    ("right ? other : loaded, right ? loaded : other", "loaded, other"),
]
