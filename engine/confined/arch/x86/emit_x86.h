/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The encodings of x86-64's instructions that the code generator writes: an opcode, the
 * registers' numbers in a REX prefix and a ModRM byte, an address, a constant (Intel's
 * manual, volume 2, chapter 2).
 */
#ifndef CONFINED_EMIT_X86_H
#define CONFINED_EMIT_X86_H

#include "../../jit_gen.h"

/* Second byte of a conditional jump with an 8-bit distance; plus 0x10 with 32 bits. */
enum {
	JB = 0x72, JAE = 0x73, JE = 0x74, JNE = 0x75, JBE = 0x76, JA = 0x77,
	JNS = 0x79, JL = 0x7c, JGE = 0x7d, JLE = 0x7e, JG = 0x7f,
};
#define LONG(jcc)	((jcc) + 0x10)

/* Opcodes of "op reg -> reg or memory", and of "op constant" (in ModRM.reg). */
enum { ADD = 0x01, OR = 0x09, AND = 0x21, SUB = 0x29, XOR = 0x31, CMP = 0x39 };
#define IMM_OF(op)	((op) >> 3)
#define FROM(op)	((op) | 2)	/* op reg or memory -> reg */

enum {
	MOVSXD = 0x63, TEST = 0x85, XCHG = 0x87, MOV8 = 0x88, MOV = 0x89, LOAD = 0x8b,
	LEA = 0x8d, IMUL = 0x0faf, CMPXCHG = 0x0fb1, MOVZX8 = 0x0fb6, MOVZX16 = 0x0fb7,
	MOVSX8 = 0x0fbe, MOVSX16 = 0x0fbf, XADD = 0x0fc1,
};

/* With the register's number in the opcode. */
enum { PUSH = 0x50, POP = 0x58, MOV_CONSTANT = 0xb8, BSWAP = 0x0fc8 };

/* Whole instructions, or their bytes before a distance. */
enum {
	CDQ = 0x99, RET = 0xc3, INT3 = 0xcc, CALL = 0xe8, JMP = 0xe9, JMP_SHORT = 0xeb,
};

/* Prefixes. */
enum { ESCAPE = 0x0f, OPERAND16 = 0x66, LOCK = 0xf0 };

/* Groups of operations: ModRM.reg selects the operation. */
enum {
	GROUP1_IMM32 = 0x81, GROUP1_IMM8 = 0x83,	/* IMM_OF(op) */
	GROUP2_IMM8 = 0xc1, GROUP2_CL = 0xd3,
	GROUP3 = 0xf7,
	MOV_IMM32 = 0xc7, POP_MEM = 0x8f, PUSH_MEM = 0xff,
};
enum { ROL = 0, SHL = 4, SHR = 5, SAR = 7 };	/* of group 2 */
enum { NEG = 3, DIV = 6, IDIV = 7 };		/* of group 3 */
enum { MOV_IMM32_REG = 0, POP_MEM_REG = 0, PUSH_MEM_REG = 6 };

/**
 * struct amode - an operand in memory: base + index + disp
 * @index: a register, or NONE
 */
struct amode {
	u8 base, index;
	s32 disp;
};

static void emit_op(struct gen *g, bool wide, u32 op, u8 reg, u8 index, u8 base,
		    bool always)
{
	u8 rex = 0x40 | wide << 3 | (reg >> 3) << 2 | ((index >> 3) & 1) << 1 | base >> 3;

	if (rex != 0x40 || always)
		emit8(g, rex);
	if (op > 0xff)
		emit8(g, op >> 8);
	emit8(g, op);
}

/* @reg is a register, or an opcode extension. */
static void op_reg(struct gen *g, bool wide, u32 op, u8 reg, u8 rm)
{
	emit_op(g, wide, op, reg, 0, rm, false);
	emit8(g, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static bool is_s8(s64 v)
{
	return v >= -128 && v <= 127;
}

/* The index is scaled by 1 << @shift. */
static void emit_scaled(struct gen *g, u8 reg, struct amode p, u8 shift)
{
	u8 mod = is_s8(p.disp) ? 0x40 : 0x80;

	if (p.index == NONE && (p.base & 7) != RSP) {
		emit8(g, mod | (reg & 7) << 3 | (p.base & 7));
	} else {
		emit8(g, mod | (reg & 7) << 3 | 4);
		emit8(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));
	}
	if (mod == 0x40)
		emit8(g, p.disp);
	else
		emit32(g, p.disp);
}

static void emit_amode(struct gen *g, u8 reg, struct amode p)
{
	emit_scaled(g, reg, p, 0);
}

static void op_mem(struct gen *g, bool wide, u32 op, u8 reg, struct amode p)
{
	emit_op(g, wide, op, reg, p.index == NONE ? 0 : p.index, p.base, false);
	emit_amode(g, reg, p);
}

static void op_imm(struct gen *g, bool wide, u8 op, u8 rm, s32 imm)
{
	op_reg(g, wide, is_s8(imm) ? GROUP1_IMM8 : GROUP1_IMM32, IMM_OF(op), rm);
	if (is_s8(imm))
		emit8(g, imm);
	else
		emit32(g, imm);
}

/* Emits the low 32 bits of @imm, whatever its value. */
static void op_imm32(struct gen *g, bool wide, u8 op, u8 rm, u32 imm)
{
	op_reg(g, wide, GROUP1_IMM32, IMM_OF(op), rm);
	emit32(g, imm);
}

static void mov(struct gen *g, bool wide, u8 to, u8 from)
{
	op_reg(g, wide, MOV, from, to);
}

static void mov_imm32(struct gen *g, u8 to, u32 imm)
{
	emit_op(g, false, MOV_CONSTANT | (to & 7), 0, 0, to, false);
	emit32(g, imm);
}

static void push(struct gen *g, u8 reg)
{
	emit_op(g, false, PUSH | (reg & 7), 0, 0, reg, false);
}

static void pop(struct gen *g, u8 reg)
{
	emit_op(g, false, POP | (reg & 7), 0, 0, reg, false);
}

/* -- Jumps, and calls of stubs -------------------------------------------------- */

/* Emits a short jump forward, to where bind_short() is called. */
static u32 jump_short(struct gen *g, u8 op)
{
	emit8(g, op);
	emit8(g, 0);
	return g->at;
}

static void bind_short(struct gen *g, u32 jump)
{
	if (g->at <= g->room)
		g->code[jump - 1] = g->at - jump;
}

static void emit_rel32(struct gen *g, u8 op, u64 to)
{
	emit8(g, op);
	if (g->drafts)
		jit_add_fixup(g, to);
	emit32(g, to - exec_at(g, g->at + 4));
}

static void call_stub(struct gen *g, const u8 *stub)
{
	emit_rel32(g, CALL, (u64)(unsigned long)stub);
}

/* int3 after the jump stops straight-line speculation. */
static void jump(struct gen *g, u64 to)
{
	emit_rel32(g, JMP, to);
	emit8(g, INT3);
}

static void jump_stub(struct gen *g, const u8 *stub)
{
	jump(g, (u64)(unsigned long)stub);
}

/* Emits a conditional (@op) or unconditional jump to instruction @target. */
static void jump_insn(struct gen *g, u8 op, u32 target)
{
	s32 distance = g->jit->offsets[target] - (g->at + 2);

	if (target <= g->pc && is_s8(distance)) {
		emit8(g, op);
		emit8(g, distance);
		if (op == JMP_SHORT)
			emit8(g, INT3);
	} else if (op == JMP_SHORT) {
		jump(g, exec_of(g, target));
	} else {
		emit8(g, ESCAPE);
		emit_rel32(g, LONG(op), exec_of(g, target));
	}
}

#endif /* CONFINED_EMIT_X86_H */
