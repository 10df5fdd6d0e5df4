# SPDX-License-Identifier: GPL-2.0
"""Faults to plant in the code generator, jit.c and arch/x86/: original text and replacement.

BREAKS: the code may leave the arena or otherwise break the invariant of verify_insn.h; the verifier
must refuse it. WRONG: the code stays in the arena but computes another result, or reports an error
elsewhere; the fuzzer must find it.
"""

BREAKS = [
    # Masks
    ("\tmov(g, false, to, regs[reg]);\n\tmask(g, to);", "\tmov(g, false, to, regs[reg]);"),
    ("\t\tg->in_place |= 1 << reg;\n\t\tmask(g, regs[reg]);", "\t\tg->in_place |= 1 << reg;"),
    ("\tg->in_place &= ~(1 << reg);\n", ""),
    ("\tforget_scratch(g);\n\tforget_borrowed(g);\n", "\tforget_scratch(g);\n"),
    ("\tforget_scratch(g);\n\tg->in_place = 0;", "\tforget_scratch(g);"),
    ("if (g->in_place & 1 << reg)", "if (g->in_place)"),
    (
        "\tmov(g, false, to, regs[reg]);\n\tmask(g, to);",
        "\tmask(g, to);\n\tmov(g, false, to, regs[reg]);",
    ),
    ("\temit_scaled(g, to, p, sum->shift);", "\temit_scaled(g, RSP, p, sum->shift);"),
    (
        "\temit_op(g, wide, LEA, to, p.index == NONE ? 0 : p.index, p.base, false);",
        "\temit_op(g, wide, LEA, to, p.index == NONE ? 0 : p.index, p.base | 8, false);",
    ),
    (
        "struct amode p = { regs[sum->base], NONE, sum->disp };",
        "struct amode p = { BASE, NONE, sum->disp };",
    ),
    (
        "\top_reg(g, wide, GROUP2_IMM8, ROL, regs[to]);",
        "\top_reg(g, wide, GROUP2_IMM8, 1, regs[to]);",
    ),
    (
        "\top_reg(g, wide, GROUP2_IMM8, ROL, regs[to]);",
        "\top_reg(g, wide, GROUP2_IMM8, 2, regs[to]);",
    ),
    (
        "op_mem(g, wide, FROM(ops[op >> 4]), other, p);",
        "op_mem(g, wide, ops[op >> 4], other, p);",
    ),
    (
        "op_mem(g, wide, FROM(ops[op >> 4]), other, p);",
        "op_mem(g, wide, FROM(ops[op >> 4]), BASE, p);",
    ),
    ("AND, reg, g->mask);\n}", "AND, reg, g->mask << 1 | 1);\n}"),
    ("AND, reg, g->mask);\n}", "AND, reg, ~0U);\n}"),
    ("AND, reg, g->mask);\n}", "AND, reg, g->mask + 1);\n}"),
    (
        "\top_imm32(g, false, AND, reg, g->mask);",
        "\top_imm32(g, false, OR, reg, g->mask);",
    ),
    ("\tmask(g, to);\n\treturn to;", "\tmask(g, R10);\n\treturn to;"),
    (
        "\top_imm32(g, false, AND, reg, g->mask);",
        "\top_imm32(g, false, XOR, reg, g->mask);",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "mask_reg(g, reg);\n\treturn (struct amode){ BASE, regs[reg], off };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ regs[reg], NONE, off };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ BASE, mask_reg(g, reg), off * 2 };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ BASE, R11, off };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ MACHINE, NONE, off };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ RSP, NONE, off };",
    ),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ BASE, mask_reg(g, reg), off + 0x9000 };",
    ),
    (
        "return (struct amode){ BASE, NONE, g->known[reg] + off };",
        "return (struct amode){ BASE, NONE, g->known[reg] + off - 0x20000 };",
    ),
    ("g->known[insn->dst] = insn->imm;", "g->known[insn->dst] = insn->imm << 16;"),
    # What is recorded about registers
    (
        "\tforget_scratch(g);\n\tg->in_place = 0;\n\tg->flags_at = 0;\n"
        "\tfor (i = 0; i < INSN_R10; i++) {\n\t\tg->known[i] = UNKNOWN;\n"
        "\t\tg->bits[i] = 64;\n\t}\n",
        "",
    ),
    (
        "(INSN_JMP | INSN_EXIT))\n\t\treturn jit_emit_epilogue(g);\n\tjit_emit_jump",
        "(INSN_JMP | INSN_EXIT))\n\t\treturn (void)(emit8(g, 0xc3), emit8(g, 0xcc));\n"
        "\tjit_emit_jump",
    ),
    ("\t\t\tforget(g);\n\t\t\tjit_label(g, state_at", "\t\t\tjit_label(g, state_at"),
    ("\tforget(g);\n\tif (insn->code & INSN_X)\n", "\tif (insn->code & INSN_X)\n"),
    (
        "\tforget_scratch(g);\n\tjit_emit_charge(g, fuel);",
        "\tjit_emit_charge(g, fuel);",
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
    ("AND, to, g->mask & ~(width - 1));", "AND, to, g->mask);"),
    ("AND, to, g->mask & ~(width - 1));", "AND, to, ~(width - 1));"),
    ("AND, to, g->mask & ~(width - 1));", "AND, to, g->mask & ~(width / 2 - 1));"),
    ("return (struct amode){ BASE, to, 0 };", "return (struct amode){ BASE, to, 1 };"),
    ("return (struct amode){ BASE, to, 0 };", "return (struct amode){ to, NONE, 0 };"),
    (
        "\tto = scratch(g, NONE);\n",
        "\treturn amode(g, reg, off, width);\n\tto = scratch(g, NONE);\n",
    ),
    ("\t\temit8(g, LOCK);", "\t\temit8(g, 0xf2);"),
    ("\t\temit8(g, LOCK);", "\t\t;"),
    # Frames
    (
        "\top_imm32(g, false, AND, FRAME, g->mask);",
        "\top_imm32(g, false, AND, FRAME, g->mask << 1);",
    ),
    ("\top_imm32(g, false, AND, FRAME, g->mask);", ""),
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
        "return (struct amode){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct amode){ FRAME, NONE, (s32)frame_size(g) + off };",
    ),
    (
        "return (struct amode){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct amode){ BASE, FRAME, (s32)frame_size(g) * 16 + off };",
    ),
    (
        "return (struct amode){ BASE, FRAME, (s32)frame_size(g) + off };",
        "return (struct amode){ RSP, NONE, (s32)frame_size(g) + off };",
    ),
    # Registers
    ("#define FRAME\tRBP", "#define FRAME\tRBX"),
    ("#define BASE\tR12", "#define BASE\tR13"),
    ("#define MACHINE\tR9", "#define MACHINE\tR8"),
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
    ("emit8(g, 0xc0 | (reg & 7) << 3 | (rm & 7));", "emit8(g, 0xc0 | (rm & 7) << 3 | (reg & 7));"),
    ("u8 mod = is_s8(p.disp) ? 0x40 : 0x80;", "u8 mod = is_s8(p.disp) ? 0x40 : 0x00;"),
    ("u8 mod = is_s8(p.disp) ? 0x40 : 0x80;", "u8 mod = 0x40;"),
    (
        "emit8(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
        "emit8(g, 0x40 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
    ),
    (
        "emit8(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));",
        "emit8(g, (p.base & 7) << 3 | (p.index == NONE ? RSP : p.index & 7));",
    ),
    # The stack
    (
        "\tfor (i = 3; i >= 0; i--)\n\t\tif (saves(g) & 1 << i)\n\t\t\tpop(g, regs[6 + i]);",
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
    ("\t\tpush(g, RDX);\n\temit_division", "\t\tpush(g, RSP);\n\temit_division"),
    ("\t\tpop(g, RDX);\n\tif (dst != RAX)", "\t\tpop(g, RBP);\n\tif (dst != RAX)"),
    ("\tif (needs_room(g)) {", "\tif (0) {"),
    (
        "FROM(CMP), RSP, in_machine(MACHINE_AT_NATIVE)",
        "FROM(CMP), RAX, in_machine(MACHINE_AT_NATIVE)",
    ),
    (
        "FROM(CMP), RSP, in_machine(MACHINE_AT_NATIVE)",
        "FROM(CMP), RSP, in_machine(MACHINE_AT_USER)",
    ),
    ("\t\tfault_unless(g, JAE);", "\t\tfault_unless(g, JB);"),
    ("\t\tfault_unless(g, JAE);", "\t\t;"),
    ("\temit8(g, RET);\n\temit8(g, INT3);", "\temit8(g, RET);"),
    # Fuel
    ("\temit32(g, fuel);\n\tenough", "\temit32(g, -fuel);\n\tenough"),
    ("\temit32(g, fuel);\n\tenough", "\temit32(g, 0);\n\tenough"),
    (
        "GROUP1_IMM32, IMM_OF(SUB), in_machine(MACHINE_AT_FUEL)",
        "GROUP1_IMM32, IMM_OF(ADD), in_machine(MACHINE_AT_FUEL)",
    ),
    (
        "GROUP1_IMM32, IMM_OF(SUB), in_machine(MACHINE_AT_FUEL)",
        "GROUP1_IMM32, IMM_OF(SUB), in_machine(MACHINE_AT_STACK)",
    ),
    ("\tenough = jump_short(g, JNS);", "\tenough = jump_short(g, JMP_SHORT);"),
    ("\tenough = jump_short(g, JNS);", "\tenough = jump_short(g, 0x78);"),
    ("\tcall_stub(g, confined_poll);", "\tcall_stub(g, confined_barrier);"),
    ("\tcharge(g, late ? 0 : fuel);\n", ""),
    ("\tcharge(g, late ? fuel : 0);\n", ""),
    ("\tcharge(g, checked->charges[checked->image->ninsns + g->func]);\n", ""),
    # Jumps and calls
    ("u32 target = g->pc + 1 + insn_jump_offset(insn);", "u32 target = g->pc + 2;"),
    ("offsets[target] - (g->at + 2);", "offsets[target] - (g->at + 3);"),
    ("emit32(g, to - exec_at(g, g->at + 4));", "emit32(g, to - exec_at(g, g->at + 5));"),
    ("emit32(g, to - exec_at(g, g->at + 4));", "emit32(g, to - exec_at(g, g->at));"),
    (
        "u32 distance = to - (exec + 4);",
        "u32 distance = to - exec;",
    ),
    (
        "memcpy(code, &distance, 4);",
        "memcpy(code, &distance, 3);",
    ),
    ("fixup.index = to - DRAFT_INDEX;", "fixup.index = to - DRAFT_INDEX + 1;"),
    ("g->code[jump - 1] = g->at - jump;", "g->code[jump - 1] = g->at - jump - 1;"),
    (
        "return exec_of(g, g->checked->image->ninsns + func);",
        "return exec_of(g, g->checked->funcs[func].start);",
    ),
    (
        "return jit_emit_call(g, entry_of(g, image_func_at(",
        "return jit_emit_goto(g, entry_of(g, image_func_at(",
    ),
    (
        "\temit_pc(g);\n\temit_rel32(g, CALL, exec_at(g, g->numbers));",
        "\temit_pc(g);\n\temit_rel32(g, CALL, exec_at(g, g->numbers + 4));",
    ),
    (
        "return emit_rel32(g, CALL, exec_at(g, g->try));",
        "return emit_rel32(g, CALL, exec_at(g, g->try + 1));",
    ),
    (
        "\t\treturn jit_emit_goto(g, entry_of_any(g, g->checked->table[from - first]));",
        "\t\treturn jit_emit_goto(g, entry_of_any(g, g->checked->table[from - first]) + 8);",
    ),
    (
        "\t\treturn jit_emit_goto(g, entry_of_any(g, g->checked->table[from - first]));",
        "\t\treturn (void)(emit8(g, 0x41), emit8(g, 0xff), emit8(g, 0xe2));",
    ),
    # System calls
    ("\tpush(g, R9);\n", ""),
    ("\tpop(g, R9);\n", ""),
    ("\tif (thunk.args > 5)\n\t\tpush(g, RAX);\n", ""),
    ("\tif (thunk.args > 5)\n\t\tpop(g, RCX);\n", ""),
    ("\tif (g->jit->barrier)\n\t\tcall_stub(g, confined_barrier);\n", ""),
    ("\top_mem(g, true, LOAD, R9, in_machine(MACHINE_AT_RUN));\n", ""),
    (
        "op_mem(g, true, LOAD, R9, in_machine(MACHINE_AT_RUN));",
        "op_mem(g, true, LOAD, R8, in_machine(MACHINE_AT_RUN));",
    ),
    (
        "op_mem(g, true, LOAD, R9, in_machine(MACHINE_AT_RUN));",
        "op_mem(g, true, LOAD, R9, in_machine(MACHINE_AT_BASE));",
    ),
    ("\temit_rel32(g, CALL, thunk.address);", "\temit_rel32(g, CALL, thunk.address + 16);"),
    ("cleared[] = { RDI, RSI, RDX, RCX, R8 };", "cleared[] = { RDI, RSI, RDX, RCX };"),
    ("cleared[] = { RDI, RSI, RDX, RCX, R8 };", "cleared[] = { RSI, RDX, RCX, R8 };"),
    (
        "\tfor (i = 0; i < sizeof(cleared); i++)\n\t\top_reg",
        "\tfor (i = 0; i < 2; i++)\n\t\top_reg",
    ),
    ("in_machine(MACHINE_AT_PC));", "in_machine(MACHINE_AT_END));"),
    # The machine
    (
        "\top_mem(g, true, FROM(ADD), spare, in_machine(MACHINE_AT_USER));",
        "\top_mem(g, true, FROM(ADD), spare, in_machine(MACHINE_AT_BASE));",
    ),
    (
        "\top_mem(g, true, LOAD, dst, in_machine(MACHINE_AT_USER));",
        "\top_mem(g, true, LOAD, dst, in_machine(MACHINE_AT_HOME));",
    ),
    ("\top_mem(g, true, LOAD, dst, in_machine(MACHINE_AT_USER));", "\tmov(g, true, dst, BASE);"),
    (
        "\top_mem(g, true, FROM(SUB), R11, in_machine(MACHINE_AT_USER));",
        "\top_mem(g, true, FROM(SUB), R11, in_machine(MACHINE_AT_BASE));",
    ),
    ("\top_mem(g, false, POP_MEM, POP_MEM_REG, in_machine(MACHINE_AT_TRY));\n", ""),
    ("saved[] = { RBP, RBX, R13, R14, R15 };", "saved[] = { RBX, RBP, R13, R14, R15 };"),
    (
        "\top_imm(g, true, ADD, RSP, 8 * sizeof(saved));",
        "\top_imm(g, true, ADD, RSP, 8 * sizeof(saved) + 8);",
    ),
    # Divisions
    ("\tby_zero = jump_short(g, JE);", "\tby_zero = jump_short(g, JNE);"),
    ("\top_reg(g, wide, TEST, R11, R11);\n", ""),
    (
        "\t\top_reg(g, false, XOR, RDX, RDX);\n\t\top_reg(g, wide, GROUP3, DIV, R11);",
        "\t\top_reg(g, wide, GROUP3, DIV, R11);",
    ),
    (
        "\t\top_imm(g, wide, CMP, R11, -1);\n\t\tby_minus_1 = jump_short(g, JE);",
        "\t\top_imm(g, wide, CMP, R11, -2);\n\t\tby_minus_1 = jump_short(g, JE);",
    ),
    ("\t\temit_op(g, wide, CDQ, 0, 0, 0, false);\n", ""),
    ("\t\temit_op(g, wide, CDQ, 0, 0, 0, false);", "\t\temit_op(g, !wide, CDQ, 0, 0, 0, false);"),
    ("\t\top_reg(g, wide, GROUP3, DIV, R11);", "\t\top_reg(g, wide, GROUP3, IDIV, R11);"),
    ("\t\tmov(g, wide, RDX, RAX);", "\t\top_reg(g, false, XOR, RDX, RDX);"),
    # The entry
    (
        "\top_reg(g, false, XOR, RAX, RAX);\n\tjump(g, entry_of(g, 0));",
        "\tjump(g, entry_of(g, 0));",
    ),
    ("\tjump(g, entry_of(g, 0));", "\tjump(g, entry_of(g, 0) + 8);"),
    (
        "\temit_rel32(g, CALL, (u64)(unsigned long)stub);",
        "\temit_rel32(g, JMP, (u64)(unsigned long)stub);",
    ),
    # What the verifier is told
    ("\tknown.masked |= V_BIT(V_FRAME);", "\tknown.masked |= V_BIT(V_FRAME) | V_BIT(R10);"),
    ("\tknown.masked |= V_BIT(V_FRAME);", "\tknown.masked |= V_BIT(V_FRAME) | V_BIT(RBX);"),
    ("\tknown.masked |= V_BIT(V_FRAME);", ""),
    ("\tknown.by8 |= V_BIT(V_FRAME);", ""),
    ("\tknown.by8 |= V_BIT(V_FRAME);", "\tknown.by8 |= V_BIT(V_FRAME) | V_BIT(R11);"),
    (".depth = V_LINKED + nr_saved(g),", ".depth = 0,"),
    (".depth = V_LINKED + nr_saved(g),", ".depth = nr_saved(g) + 1,"),
    (".room = needs_room(g) ? V_ROOM_CALLS : 0,", ".room = V_ROOM_CALLS,"),
    (
        "\t\t.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t\t.room",
        "\t\t.calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t\t.room",
    ),
    (
        "\t\t.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,\n\t\t.credit",
        "\t\t.unset = V_SCRATCH,\n\t\t.credit",
    ),
    ("ahead[pc] * (V_FUEL_BYTES / 2)", "ahead[pc] * (V_FUEL_BYTES / 2) + 4096"),
    ("ahead[pc] * (V_FUEL_BYTES / 2)", "ahead[pc] * 0"),
    ("\tg->try = g->at;\n\tjit_label(", "\tg->try = g->at;\n\tif (0)\n\t\tjit_label("),
    (".room = 1, .credit = TRY_CREDIT", ".room = 2, .credit = TRY_CREDIT"),
    ("#define DISPATCH_CREDIT\t(V_BEYOND_CREDIT + JIT_ROUTINE)", "#define DISPATCH_CREDIT\t12"),
    ("\temit_rel32(g, JMP, to);\n\temit8(g, INT3);", "\temit_rel32(g, JMP, to);"),
    ("\t\tif (op == JMP_SHORT)\n\t\t\temit8(g, INT3);\n", ""),
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
    ("AND, reg, g->mask);\n}", "AND, reg, g->mask >> 1);\n}"),
    (
        "return (struct amode){ BASE, mask_reg(g, reg), off };",
        "return (struct amode){ BASE, mask_reg(g, reg), off ^ 8 };",
    ),
    ("AND, to, g->mask & ~(width - 1));", "AND, to, g->mask & ~63U);"),
    ("g->known[insn->dst] = insn->imm;", "g->known[insn->dst] = insn->imm ^ 16;"),
    ("enum { ADD = 0x01, OR = 0x09,", "enum { ADD = 0x01, OR = 0x21,"),
    (
        "JLE = 0x7e, JG = 0x7f,",
        "JLE = 0x7f, JG = 0x7e,",
    ),
    (
        "u8 ext = op == INSN_LSH ? SHL : op == INSN_RSH ? SHR : SAR, src;",
        "u8 ext = op == INSN_LSH ? 4 : op == INSN_RSH ? 7 : 5, src;",
    ),
    ("\t\tmov_imm32(g, to, imm ^ key);", "\t\tmov_imm32(g, to, imm);"),
    ("\tmov(g, wide, R11, mod ? RDX : RAX);", "\tmov(g, wide, R11, mod ? RAX : RDX);"),
    ("\t\treturn op_mem(g, wide, XADD, src, p);", "\t\treturn op_mem(g, wide, CMPXCHG, src, p);"),
    ("\t\temit8(g, 16);\n", "\t\temit8(g, 8);\n"),
    ("\temit_scaled(g, to, p, sum->shift);", "\temit_scaled(g, to, p, !sum->shift);"),
    ("INSN_LSH ? shift->imm : back->imm;", "INSN_LSH ? back->imm : shift->imm;"),
    ("\t\t    (base != reg ||", "\t\t    (0 && base != reg ||"),
    ("\treturn g->jit->live[pc] & set;", "\treturn 0;"),
    ("(op == INSN_JEQ || op == INSN_JNE) && g->flags_at == g->at &&", "g->flags_at &&"),
    ("op == INSN_JSET ? TEST : CMP, src, dst);", "op == INSN_JSET ? CMP : TEST, src, dst);"),
    (
        "\tcase 16:\n\t\treturn op_reg(g, wide, MOVSX16, dst, src);",
        "\tcase 16:\n\t\treturn op_reg(g, wide, 0x0fb7, dst, src);",
    ),
    ("\t\top_reg(g, wide, GROUP3, NEG, dst);\n\t\tbreak;", "\t\tbreak;"),
    ("\tjump_insn(g, jcc[op >> 4], target);", "\tjump_insn(g, jcc[op >> 4] ^ 1, target);"),
]
