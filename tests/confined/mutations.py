# SPDX-License-Identifier: GPL-2.0
"""Faults to plant in the code generator, arch/x86/jit_x86.c: what is written, and what instead.

BREAKS: code made with them may leave the arena, or otherwise break the invariant of
verify_insn.h; the verifier has to refuse it.  WRONG: it stays in the arena, and computes
something else, or says another place of an error; finding that is the fuzzer's work.
"""

BREAKS = [
    # Masks
    ("\tmov(g, false, to, machine[reg]);\n\tmask(g, to);", "\tmov(g, false, to, machine[reg]);"),
    ("\t\tg->spoilt |= 1 << reg;\n\t\tmask(g, machine[reg]);", "\t\tg->spoilt |= 1 << reg;"),
    ("\tg->spoilt &= ~(1 << reg);\n", ""),
    ("\tforget_scratch(g);\n\tforget_borrowed(g);\n", "\tforget_scratch(g);\n"),
    ("\tforget_scratch(g);\n\tg->spoilt = 0;", "\tforget_scratch(g);"),
    ("if (g->spoilt & 1 << reg)", "if (g->spoilt)"),
    (
        "\tmov(g, false, to, machine[reg]);\n\tmask(g, to);",
        "\tmask(g, to);\n\tmov(g, false, to, machine[reg]);",
    ),
    ("\tput_scaled(g, to, sum.place, sum.shift);", "\tput_scaled(g, RSP, sum.place, sum.shift);"),
    (
        "\tput_op(g, wide, LEA, to, index, sum.place.base, false);",
        "\tput_op(g, wide, LEA, to, index, sum.place.base | 8, false);",
    ),
    ("{ machine[move->src], NONE, 0 }, 0, move->dst", "{ BASE, NONE, 0 }, 0, move->dst"),
    (
        "\top_reg(g, wide, 0xc1, 0, machine[join->dst]);",
        "\top_reg(g, wide, 0xc1, 1, machine[join->dst]);",
    ),
    (
        "\top_reg(g, wide, 0xc1, 0, machine[join->dst]);",
        "\top_reg(g, wide, 0xc1, 2, machine[join->dst]);",
    ),
    (
        "\top_place(g, wide, op, machine[other], p);",
        "\top_place(g, wide, op ^ 2, machine[other], p);",
    ),
    ("\top_place(g, wide, op, machine[other], p);", "\top_place(g, wide, op, BASE, p);"),
    ("reg);\n\tput32(g, g->mask);\n}", "reg);\n\tput32(g, g->mask << 1 | 1);\n}"),
    ("reg);\n\tput32(g, g->mask);\n}", "reg);\n\tput32(g, ~0U);\n}"),
    ("reg);\n\tput32(g, g->mask);\n}", "reg);\n\tput32(g, g->mask + 1);\n}"),
    (
        "\top_reg(g, false, 0x81, IMM_OF(AND), reg);\n\tput32(g, g->mask);",
        "\top_reg(g, false, 0x81, IMM_OF(OR), reg);\n\tput32(g, g->mask);",
    ),
    ("\tmask(g, to);\n\treturn to;", "\tmask(g, R10);\n\treturn to;"),
    (
        "\top_reg(g, false, 0x81, IMM_OF(AND), reg);\n\tput32(g, g->mask);",
        "\top_reg(g, false, 0x81, IMM_OF(XOR), reg);\n\tput32(g, g->mask);",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "mask_reg(g, reg);\n\treturn (struct place){ BASE, machine[reg], off };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ machine[reg], NONE, off };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ BASE, mask_reg(g, reg), off * 2 };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ BASE, R11, off };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ RUN, NONE, off };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ RSP, NONE, off };",
    ),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ BASE, mask_reg(g, reg), off + 0x9000 };",
    ),
    (
        "return (struct place){ BASE, NONE, g->known[reg] + off };",
        "return (struct place){ BASE, NONE, g->known[reg] + off - 0x20000 };",
    ),
    ("g->known[insn->dst] = insn->imm;", "g->known[insn->dst] = insn->imm << 16;"),
    # What is remembered of them
    (
        "\tforget_scratch(g);\n\tg->spoilt = 0;\n\tg->flags_at = 0;\n"
        "\tfor (i = 0; i < INSN_R10; i++) {\n\t\tg->known[i] = UNKNOWN;\n"
        "\t\tg->bits[i] = 64;\n\t}\n",
        "",
    ),
    (
        "(INSN_JMP | INSN_EXIT))\n\t\treturn function_end(g);\n\tif (op",
        "(INSN_JMP | INSN_EXIT))\n\t\treturn put_return(g);\n\tif (op",
    ),
    ("\t\t\tforget(g);\n\t\t\tlabel(g, state_at", "\t\t\tlabel(g, state_at"),
    ("\tforget(g);\n\tif (insn->code & INSN_X) {", "\tif (insn->code & INSN_X) {"),
    (
        "\tforget_scratch(g);\n\top_place(g, true, 0x81, IMM_OF(SUB), in_run(MACHINE_AT_FUEL));",
        "\top_place(g, true, 0x81, IMM_OF(SUB), in_run(MACHINE_AT_FUEL));",
    ),
    ("marks & MARK_TARGET || is_behind_end(g)", "marks & MARK_TARGET"),
    (
        "\tforget_scratch(g);\n\tforget_borrowed(g);\n\tif (insn->code & INSN_X)",
        "\tforget_borrowed(g);\n\tif (insn->code & INSN_X)",
    ),
    (
        "\tg->masked[0] = NONE;\n\tforget_borrowed(g);\n\tmov(g, true, R10",
        "\tforget_borrowed(g);\n\tmov(g, true, R10",
    ),
    ("\tg->masked[reg - R10] = NONE;\n\treturn reg;", "\treturn reg;"),
    ("\tg->masked[spare - R10] = NONE;\n\treturn spare;", "\treturn spare;"),
    ("\tg->masked[0] = NONE;\n\tg->masked[1] = NONE;", "\tg->masked[0] = NONE;"),
    ("\tg->masked[0] = NONE;\n\tg->masked[1] = NONE;", "\tg->masked[1] = NONE;"),
    ("u8 reg = avoid == R10 ? R11 : R10;", "u8 reg = avoid == R10 ? R10 : R11;"),
    # Atomic operations
    ("\tput32(g, g->mask & ~(width - 1));", "\tput32(g, g->mask);"),
    ("\tput32(g, g->mask & ~(width - 1));", "\tput32(g, ~(width - 1));"),
    ("\tput32(g, g->mask & ~(width - 1));", "\tput32(g, g->mask & ~(width / 2 - 1));"),
    ("return (struct place){ BASE, to, 0 };", "return (struct place){ BASE, to, 1 };"),
    ("return (struct place){ BASE, to, 0 };", "return (struct place){ to, NONE, 0 };"),
    (
        "\tto = scratch(g, NONE);\n",
        "\treturn place(g, reg, off, width);\n\tto = scratch(g, NONE);\n",
    ),
    ("\t\tput(g, 0xf0);", "\t\tput(g, 0xf2);"),
    ("\t\tput(g, 0xf0);", "\t\t;"),
    # Frames
    (
        "\top_reg(g, false, 0x81, IMM_OF(AND), FRAME);\n\tput32(g, g->mask);",
        "\top_reg(g, false, 0x81, IMM_OF(AND), FRAME);\n\tput32(g, g->mask << 1);",
    ),
    ("\top_reg(g, false, 0x81, IMM_OF(AND), FRAME);\n\tput32(g, g->mask);", ""),
    ("\t\tmove_frame(g, ADD);\n\t\tmask_frame(g);", "\t\tmove_frame(g, ADD);"),
    ("\t\tfault_unless(g, JGE);\n\t\tmask_frame(g);", "\t\tfault_unless(g, JGE);"),
    (
        "\top_imm(g, false, op, FRAME, frame_size(g));",
        "\top_imm(g, true, op, FRAME, frame_size(g));",
    ),
    (
        "\top_imm(g, false, op, FRAME, frame_size(g));",
        "\top_imm(g, false, op, FRAME, frame_size(g) + 1);",
    ),
    (
        "\top_imm(g, false, op, FRAME, frame_size(g));",
        "\top_imm(g, false, op, RSP, frame_size(g));",
    ),
    (
        "\top_imm(g, false, op, FRAME, frame_size(g));",
        "\top_imm(g, false, IMM_OF(op) ? 0x31 : op, FRAME, frame_size(g));",
    ),
    (
        "return (struct place){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct place){ FRAME, NONE, (s32)frame_size(g) + off };",
    ),
    (
        "return (struct place){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct place){ BASE, FRAME, (s32)frame_size(g) * 16 + off };",
    ),
    (
        "return (struct place){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct place){ RSP, NONE, (s32)frame_size(g) + off };",
    ),
    # Registers
    ("#define FRAME\tRBP", "#define FRAME\tRBX"),
    ("#define BASE\tR12", "#define BASE\tR13"),
    ("#define RUN\tR9", "#define RUN\tR8"),
    (
        "RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,\n};",
        "RAX, RDI, RSI, RDX, RCX, R9, RBX, R13, R14, R15,\n};",
    ),
    (
        "RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,\n};",
        "RAX, RDI, RSI, RDX, RCX, R8, RBP, R13, R14, R15,\n};",
    ),
    (
        "RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,\n};",
        "RAX, RDI, RSI, RDX, RCX, R8, RBX, R12, R14, R15,\n};",
    ),
    (
        "RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,\n};",
        "RAX, RDI, RSI, RDX, RSP, R8, RBX, R13, R14, R15,\n};",
    ),
    ("u8 rex = 0x40 | wide << 3 | (reg >> 3) << 2 |", "u8 rex = 0x40 | wide << 3 |"),
    ("((index >> 3) & 1) << 1 | base >> 3;", "((index >> 3) & 1) << 1;"),
    ("((index >> 3) & 1) << 1 | base >> 3;", "base >> 3;"),
    ("put(g, 0xc0 | (reg & 7) << 3 | (rm & 7));", "put(g, 0xc0 | (rm & 7) << 3 | (reg & 7));"),
    ("u8 mod = is_s8(p.disp) ? 0x40 : 0x80;", "u8 mod = is_s8(p.disp) ? 0x40 : 0x00;"),
    ("u8 mod = is_s8(p.disp) ? 0x40 : 0x80;", "u8 mod = 0x40;"),
    (
        "put(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
        "put(g, 0x40 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
    ),
    (
        "put(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
        "put(g, (p.base & 7) << 3 | (p.index == NONE ? RSP : p.index & 7));",
    ),
    # The stack
    (
        "\tfor (i = 3; i >= 0; i--)\n\t\tif (saves(g) & 1 << i)\n\t\t\tpop(g, machine[6 + i]);",
        "\t;",
    ),
    (
        "\tfor (i = 3; i >= 0; i--)\n\t\tif (saves(g) & 1 << i)",
        "\tfor (i = 2; i >= 0; i--)\n\t\tif (saves(g) & 1 << i)",
    ),
    (
        "\tfor (i = 0; i < 4; i++)\n\t\tif (saves(g) & 1 << i)",
        "\tfor (i = 1; i < 4; i++)\n\t\tif (saves(g) & 1 << i)",
    ),
    ("\tif (dst != RDX)\n\t\tpush(g, RDX);", "\tpush(g, RDX);"),
    ("\tif (dst != RDX)\n\t\tpop(g, RDX);", ""),
    ("\t\tpush(g, RDX);\n\tput_division", "\t\tpush(g, RSP);\n\tput_division"),
    ("\t\tpop(g, RDX);\n\tif (dst != RAX)", "\t\tpop(g, RBP);\n\tif (dst != RAX)"),
    ("\tif (needs_room(g)) {", "\tif (0) {"),
    ("CMP | 2, RSP, in_run(MACHINE_AT_NATIVE)", "CMP | 2, RAX, in_run(MACHINE_AT_NATIVE)"),
    ("CMP | 2, RSP, in_run(MACHINE_AT_NATIVE)", "CMP | 2, RSP, in_run(MACHINE_AT_USER)"),
    ("\t\tfault_unless(g, JAE);", "\t\tfault_unless(g, JB);"),
    ("\t\tfault_unless(g, JAE);", "\t\t;"),
    ("\tput(g, 0xc3);\n\tput(g, 0xcc);", "\tput(g, 0xc3);"),
    # Fuel
    ("\tput32(g, fuel);\n\tenough", "\tput32(g, -fuel);\n\tenough"),
    ("\tput32(g, fuel);\n\tenough", "\tput32(g, 0);\n\tenough"),
    ("0x81, IMM_OF(SUB), in_run(MACHINE_AT_FUEL)", "0x81, IMM_OF(ADD), in_run(MACHINE_AT_FUEL)"),
    ("0x81, IMM_OF(SUB), in_run(MACHINE_AT_FUEL)", "0x81, IMM_OF(SUB), in_run(MACHINE_AT_STACK)"),
    ("\tenough = hop(g, JNS);", "\tenough = hop(g, 0xeb);"),
    ("\tenough = hop(g, JNS);", "\tenough = hop(g, 0x78);"),
    ("\tcall_stub(g, confined_poll);", "\tcall_stub(g, confined_barrier);"),
    ("\tcharge(g, late ? 0 : fuel);\n", ""),
    ("\tcharge(g, late ? fuel : 0);\n", ""),
    ("\tcharge(g, g->checked->charges[g->checked->image->ninsns + g->func]);\n", ""),
    # Jumps and calls
    ("u32 target = g->pc + 1 + insn_jump_offset(insn);", "u32 target = g->pc + 2;"),
    ("offsets[target] - (g->at + 2);", "offsets[target] - (g->at + 3);"),
    ("put32(g, to - exec_at(g, g->at + 4));", "put32(g, to - exec_at(g, g->at + 5));"),
    ("put32(g, to - exec_at(g, g->at + 4));", "put32(g, to - exec_at(g, g->at));"),
    (
        "u32 distance = to - (jit->exec + fixup->at + 4);",
        "u32 distance = to - (jit->exec + fixup->at);",
    ),
    (
        "memcpy(jit->code + fixup->at, &distance, 4);",
        "memcpy(jit->code + fixup->at, &distance, 3);",
    ),
    ("fixup.index = to - DRAFT_INDEX;", "fixup.index = to - DRAFT_INDEX + 1;"),
    ("g->code[hop - 1] = g->at - hop;", "g->code[hop - 1] = g->at - hop - 1;"),
    (
        "return exec_of(g, g->checked->image->ninsns + func);",
        "return exec_of(g, g->checked->funcs[func].start);",
    ),
    (
        "return leap(g, 0xe8, entry_of(g, image_func_at(",
        "return leap(g, 0xe9, entry_of(g, image_func_at(",
    ),
    (
        "return leap(g, 0xe8, exec_at(g, g->numbers));\n\t}",
        "return leap(g, 0xe8, exec_at(g, g->numbers + 4));\n\t}",
    ),
    ("return leap(g, 0xe8, exec_at(g, g->try));", "return leap(g, 0xe8, exec_at(g, g->try + 1));"),
    (
        "\t\treturn jump(g, entry_of_any(g, g->checked->table[from - first]));",
        "\t\treturn jump(g, entry_of_any(g, g->checked->table[from - first]) + 8);",
    ),
    (
        "\t\treturn jump(g, entry_of_any(g, g->checked->table[from - first]));",
        "\t\treturn (void)(put(g, 0x41), put(g, 0xff), put(g, 0xe2));",
    ),
    # System calls
    ("\tpush(g, R9);\n", ""),
    ("\tpop(g, R9);\n", ""),
    ("\tif (gate.args > 5)\n\t\tpush(g, RAX);\n", ""),
    ("\tif (gate.args > 5)\n\t\tpop(g, RCX);\n", ""),
    ("\tif (g->jit->barrier)\n\t\tcall_stub(g, confined_barrier);\n", ""),
    ("\top_place(g, true, LOAD, R9, in_run(MACHINE_AT_RUN));\n", ""),
    (
        "op_place(g, true, LOAD, R9, in_run(MACHINE_AT_RUN));",
        "op_place(g, true, LOAD, R8, in_run(MACHINE_AT_RUN));",
    ),
    (
        "op_place(g, true, LOAD, R9, in_run(MACHINE_AT_RUN));",
        "op_place(g, true, LOAD, R9, in_run(MACHINE_AT_BASE));",
    ),
    ("\tleap(g, 0xe8, gate.address);", "\tleap(g, 0xe8, gate.address + 16);"),
    ("cleared[] = { RDI, RSI, RDX, RCX, R8 };", "cleared[] = { RDI, RSI, RDX, RCX };"),
    ("cleared[] = { RDI, RSI, RDX, RCX, R8 };", "cleared[] = { RSI, RDX, RCX, R8 };"),
    (
        "\tfor (i = 0; i < sizeof(cleared); i++)\n\t\top_reg",
        "\tfor (i = 0; i < 2; i++)\n\t\top_reg",
    ),
    ("in_run(MACHINE_AT_PC));", "in_run(MACHINE_AT_END));"),
    # The machine
    (
        "\top_place(g, true, ADD | 2, spare, in_run(MACHINE_AT_USER));",
        "\top_place(g, true, ADD | 2, spare, in_run(MACHINE_AT_BASE));",
    ),
    (
        "\top_place(g, true, LOAD, dst, in_run(MACHINE_AT_USER));",
        "\top_place(g, true, LOAD, dst, in_run(MACHINE_AT_HOME));",
    ),
    ("\top_place(g, true, LOAD, dst, in_run(MACHINE_AT_USER));", "\tmov(g, true, dst, BASE);"),
    (
        "\top_place(g, true, SUB | 2, R11, in_run(MACHINE_AT_USER));",
        "\top_place(g, true, SUB | 2, R11, in_run(MACHINE_AT_BASE));",
    ),
    ("\top_place(g, false, 0x8f, 0, in_run(MACHINE_AT_TRY));\n", ""),
    ("saved[] = { RBP, RBX, R13, R14, R15 };", "saved[] = { RBX, RBP, R13, R14, R15 };"),
    (
        "\top_imm(g, true, ADD, RSP, 8 * sizeof(saved));",
        "\top_imm(g, true, ADD, RSP, 8 * sizeof(saved) + 8);",
    ),
    # Divisions
    ("\tby_zero = hop(g, JE);", "\tby_zero = hop(g, JNE);"),
    ("\top_reg(g, wide, TEST, R11, R11);\n", ""),
    (
        "\t\top_reg(g, false, XOR, RDX, RDX);\n\t\top_reg(g, wide, 0xf7, 6, R11);",
        "\t\top_reg(g, wide, 0xf7, 6, R11);",
    ),
    (
        "\t\top_imm(g, wide, CMP, R11, -1);\n\t\tby_minus_1 = hop(g, JE);",
        "\t\top_imm(g, wide, CMP, R11, -2);\n\t\tby_minus_1 = hop(g, JE);",
    ),
    ("\t\tput_op(g, wide, 0x99, 0, 0, 0, false);\n", ""),
    ("\t\tput_op(g, wide, 0x99, 0, 0, 0, false);", "\t\tput_op(g, !wide, 0x99, 0, 0, 0, false);"),
    ("\t\top_reg(g, wide, 0xf7, 6, R11);", "\t\top_reg(g, wide, 0xf7, 7, R11);"),
    ("\t\tmov(g, wide, RDX, RAX);", "\t\top_reg(g, false, XOR, RDX, RDX);"),
    # The entry
    (
        "\top_reg(g, false, XOR, RAX, RAX);\n\tjump(g, entry_of(g, 0));",
        "\tjump(g, entry_of(g, 0));",
    ),
    ("\tjump(g, entry_of(g, 0));", "\tjump(g, entry_of(g, 0) + 8);"),
    ("\tleap(g, 0xe8, (u64)(unsigned long)stub);", "\tleap(g, 0xe9, (u64)(unsigned long)stub);"),
    # What the verifier is told
    ("\tknown.masked |= V_BIT(FRAME);", "\tknown.masked |= V_BIT(FRAME) | V_BIT(R10);"),
    ("\tknown.masked |= V_BIT(FRAME);", "\tknown.masked |= V_BIT(FRAME) | V_BIT(RBX);"),
    ("\tknown.masked |= V_BIT(FRAME);", ""),
    ("\tknown.by8 |= V_BIT(FRAME);", ""),
    ("\tknown.by8 |= V_BIT(FRAME);", "\tknown.by8 |= V_BIT(FRAME) | V_BIT(R11);"),
    (".depth = nr_saved(g),", ".depth = 0,"),
    (".depth = nr_saved(g),", ".depth = nr_saved(g) + 1,"),
    (".room = needs_room(g) ? V_ROOM_CALLS : 0,", ".room = V_ROOM_CALLS,"),
    (
        "\t\t.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t\t.room",
        "\t\t.calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t\t.room",
    ),
    (
        "\t\t.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t};",
        "\t\t.unset = V_SCRATCH,\n\t};",
    ),
    ("ahead[pc] * (V_FUEL_BYTES / 2)", "ahead[pc] * (V_FUEL_BYTES / 2) + 4096"),
    ("ahead[pc] * (V_FUEL_BYTES / 2)", "ahead[pc] * 0"),
    ("\tg->try = g->at;\n\tlabel(", "\tg->try = g->at;\n\tif (0)\n\t\tlabel("),
    (".room = 1, .credit = TRY_CREDIT", ".room = 2, .credit = TRY_CREDIT"),
    ("#define DISPATCH_CREDIT\t(V_BEYOND_CREDIT + 64)", "#define DISPATCH_CREDIT\t12"),
    ("\tleap(g, 0xe9, to);\n\tput(g, 0xcc);", "\tleap(g, 0xe9, to);"),
    ("\t\tif (op == 0xeb)\n\t\t\tput(g, 0xcc);\n", ""),
]

WRONG = [
    ("\tg->known[reg] = UNKNOWN;\n\tg->bits[reg] = 64;", "\tg->known[reg] = UNKNOWN;"),
    ("\t\tg->bits[i] = 64;", "\t\tg->bits[i] = 8;"),
    (
        "move->dst == add->dst ||\n\t    is_live(g, g->pc + 1, 1 << add->dst))",
        "move->dst == add->dst)",
    ),
    ("return n < g->bits[insn->dst] ? n : g->bits[insn->dst];", "return 1;"),
    ("g->known[reg] != UNKNOWN && is_plain(g, g->known[reg] + off)", "reg == 1"),
    ("reg);\n\tput32(g, g->mask);\n}", "reg);\n\tput32(g, g->mask >> 1);\n}"),
    (
        "return (struct place){ BASE, mask_reg(g, reg), off };",
        "return (struct place){ BASE, mask_reg(g, reg), off ^ 8 };",
    ),
    ("\tput32(g, g->mask & ~(width - 1));", "\tput32(g, g->mask & ~63U);"),
    ("g->known[insn->dst] = insn->imm;", "g->known[insn->dst] = insn->imm ^ 16;"),
    ("enum { ADD = 0x01, OR = 0x09,", "enum { ADD = 0x01, OR = 0x21,"),
    (
        "JLE = 0x7e, JG = 0x7f,",
        "JLE = 0x7f, JG = 0x7e,",
    ),
    (
        "u8 ext = op == INSN_LSH ? 4 : op == INSN_RSH ? 5 : 7, src;",
        "u8 ext = op == INSN_LSH ? 4 : op == INSN_RSH ? 7 : 5, src;",
    ),
    ("\t\tmov_imm32(g, to, imm ^ key);", "\t\tmov_imm32(g, to, imm);"),
    ("\tmov(g, wide, R11, mod ? RDX : RAX);", "\tmov(g, wide, R11, mod ? RAX : RDX);"),
    ("\t\top_place(g, wide, 0x0fc1, src, p);", "\t\top_place(g, wide, 0x0fb1, src, p);"),
    ("\t\tput(g, 16);\n", "\t\tput(g, 8);\n"),
    ("\tput_scaled(g, to, sum.place, sum.shift);", "\tput_scaled(g, to, sum.place, !sum.shift);"),
    ("INSN_LSH ? shift->imm : back->imm);", "INSN_LSH ? back->imm : shift->imm);"),
    ("\t\t    (base != reg ||", "\t\t    (0 && base != reg ||"),
    ("\treturn g->jit->live[pc] & set;", "\treturn 0;"),
    ("(op == INSN_JEQ || op == INSN_JNE) && g->flags_at == g->at &&", "g->flags_at &&"),
    ("op == INSN_JSET ? TEST : CMP, src, dst);", "op == INSN_JSET ? CMP : TEST, src, dst);"),
    (
        "\tcase 16:\n\t\treturn op_reg(g, wide, 0x0fbf, dst, src);",
        "\tcase 16:\n\t\treturn op_reg(g, wide, 0x0fb7, dst, src);",
    ),
    ("\t\top_reg(g, wide, 0xf7, 3, dst);\n\t\tbreak;", "\t\tbreak;"),
    ("\tjump_insn(g, jumps[op >> 4], target);", "\tjump_insn(g, jumps[op >> 4] ^ 1, target);"),
]
