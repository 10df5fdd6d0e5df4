/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The encodings of A64's instructions that the code generator writes (Arm's manual, C4). */
#ifndef CONFINED_EMIT_ARM64_H
#define CONFINED_EMIT_ARM64_H

#include "../../jit_gen.h"

/* Condition codes. */
enum { EQ, NE, HS, LO, PL = 5, HI = 8, LS, GE, LT, GT, LE };

/* Data processing, two registers, 32 bits; SF makes it 64. */
#define SF		0x80000000U
enum {
	ADD = 0x0b000000, SUB = 0x4b000000, ADDS = 0x2b000000, SUBS = 0x6b000000,
	AND = 0x0a000000, ORR = 0x2a000000, EOR = 0x4a000000, ANDS = 0x6a000000,
	ORN = 0x2a200000,
	UDIV = 0x1ac00800, SDIV = 0x1ac00c00,
	LSLV = 0x1ac02000, LSRV = 0x1ac02400, ASRV = 0x1ac02800, RORV = 0x1ac02c00,
	MADD = 0x1b000000, MSUB = 0x1b008000,
};

static inline void op3(struct gen *g, bool wide, u32 op, u8 to, u8 a, u8 b)
{
	emit32(g, (wide ? SF : 0) | op | b << 16 | a << 5 | to);
}

static inline void mov(struct gen *g, bool wide, u8 to, u8 from)
{
	op3(g, wide, ORR, to, XZR, from);
}

/* A constant of 12 bits, or of 12 bits shifted left by 12. */
#define SHIFTED		0x1000

/* add, sub, adds, subs with a constant: the opcodes of registers differ in bits. */
static inline void op_imm12(struct gen *g, bool wide, u32 op, u8 to, u8 a, u32 imm)
{
	emit32(g, (wide ? SF : 0) | (op ^ 0x1a000000) | imm << 10 | a << 5 | to);
}

/*
 * The fields of a logical constant: a run of ones, which may begin again at the lowest bit. False
 * if @imm is none.
 */
static inline bool logical_fields(bool wide, u64 imm, u32 *fields)
{
	u64 all = wide ? ~0ULL : ~0U, run = imm & all;
	u32 width = wide ? 64 : 32, low, n;
	bool wraps = run & 1 && run >> (width - 1);

	if (!run || run == all)
		return false;
	run ^= wraps ? all : 0;
	low = __builtin_ctzll(run);
	run >>= low;
	if (run & (run + 1))
		return false;
	n = 64 - __builtin_clzll(run);
	if (wraps) {
		low += n;
		n = width - n;
	}
	*fields = (u32)wide << 22 | (width - low) % width << 16 | (n - 1) << 10;
	return true;
}

/* and, orr, eor, ands with a constant: the opcodes of registers differ in bits. */
static inline void op_logical(struct gen *g, bool wide, u32 op, u8 to, u8 a, u32 fields)
{
	emit32(g, (wide ? SF : 0) | (op ^ 0x18000000) | fields | a << 5 | to);
}

/* and rd, rn, #((1 << n) - 1) << low, of 32 bits: less than 32 ones. */
static inline void and_run(struct gen *g, u8 to, u8 from, u8 low, u8 n)
{
	emit32(g, 0x12000000 | (u32)(32 - low) % 32 << 16 | (n - 1) << 10 | from << 5 | to);
}

/* and rd, rn, #(1 << n) - 1, of 32 bits. */
static inline void and_ones(struct gen *g, u8 to, u8 from, u8 n)
{
	and_run(g, to, from, 0, n);
}

/* Bit fields: sbfm 0x13, ubfm 0x53. */
static inline void bitfield(struct gen *g, bool wide, u32 op, u8 to, u8 from, u8 r, u8 s)
{
	emit32(g, (wide ? SF | 1U << 22 : 0) | op << 24 | r << 16 | s << 10 | from << 5 | to);
}

enum { MOVN = 0x12800000, MOVZ = 0x52800000, MOVK = 0x72800000 };

static inline void mov_wide(struct gen *g, bool wide, u32 op, u8 to, u16 imm, u8 piece)
{
	emit32(g, (wide ? SF : 0) | op | (u32)piece << 21 | (u32)imm << 5 | to);
}

/* Loads and stores: size of 1 << log bytes, sign-extended to 64 bits if @opc is 2. */
static inline void mem_imm(struct gen *g, u8 log, u8 opc, u8 reg, u8 base, u32 offset)
{
	emit32(g, (u32)log << 30 | 0x39000000 | opc << 22 | (offset >> log) << 10 | base << 5 |
		  reg);
}

/* [base, windex, uxtw] */
static inline void mem_index(struct gen *g, u8 log, u8 opc, u8 reg, u8 base, u8 index)
{
	emit32(g, (u32)log << 30 | 0x38204800 | opc << 22 | index << 16 | base << 5 | reg);
}

/* [base, #simm9] */
static inline void mem_unscaled(struct gen *g, u8 log, u8 opc, u8 reg, u8 base, s32 offset)
{
	emit32(g, (u32)log << 30 | 0x38000000 | opc << 22 | (offset & 0x1ff) << 12 | base << 5 |
		  reg);
}

#endif /* CONFINED_EMIT_ARM64_H */
