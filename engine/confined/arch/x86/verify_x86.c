// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements verify_insn.h for x86-64: tables of the instructions and instruction sequences that
 * generated code may have. Everything else is refused, even if it is valid for processors.
 *
 * tests/confined/prove.py compares each accepted encoding with another decoder, and with an
 * emulated processor.
 */
#include "../../machine.h"
#include "../../verify_insn.h"

/* -- Rows of instructions ------------------------------------------------------ */

/* Wildcard bytes: any value, of a constant, or of a distance. */
enum { ANY = 0x100, IMM = 0x200, TO = 0x300, TO8 = 0x400, BARRIER = 0x500 };
#define ANY4		ANY, ANY, ANY, ANY
#define IMM4		IMM, ANY, ANY, ANY
#define TO4		TO, ANY, ANY, ANY
#define BARRIER4	BARRIER, ANY, ANY, ANY

/* A branch around the code after it: r11 = ANY4; call TO4 */
#define UNLESS(jcc)	jcc, 0x0b, 0x41, 0xbb, ANY4, 0xe8, TO4

static const u16 entry[] = { V_LANDING, 0x31, 0xc0 };
/* Followed by int3, against straight-line speculation. */
static const u16 jump[] = { 0xe9, TO4, 0xcc };
static const u16 jump_short[] = { 0xeb, TO8, 0xcc };
static const u16 leave[] = { 0xc3, 0xcc };
static const u16 call[] = { 0xe8, TO4 };
/* machine.fuel -= IMM4; jns.  rsp and machine.native; jae.  ebp and machine.stack; jge */
static const u16 charge[] = { 0x49, 0x81, 0x69, MACHINE_AT_FUEL, IMM4, UNLESS(0x79) };
static const u16 room[] = { 0x49, 0x3b, 0x61, MACHINE_AT_NATIVE, UNLESS(0x73) };
static const u16 frame[] = { 0x41, 0x3b, 0x69, MACHINE_AT_STACK, UNLESS(0x7d) };
/* r11 and ANY4; jbe */
static const u16 range[] = { 0x49, 0x81, 0xfb, ANY4, UNLESS(0x76) };

/*
 * rax = rax / r11, rdx = the remainder. Branches around divisions that would trap: by 0 and, if
 * signed, by -1. Of quotient and remainder, the one that the program uses then has BPF's value.
 */
#define TEST_64		0x4d, 0x85, 0xdb, 0x74
#define TEST_32		0x45, 0x85, 0xdb, 0x74
#define DIV_64		0x31, 0xd2, 0x49, 0xf7, 0xf3, 0xeb
#define DIV_32		0x31, 0xd2, 0x41, 0xf7, 0xf3, 0xeb
#define CMP_64		0x49, 0x83, 0xfb, 0xff, 0x74
#define CMP_32		0x41, 0x83, 0xfb, 0xff, 0x74
#define IDIV_64		0x48, 0x99, 0x49, 0xf7, 0xfb, 0xeb
#define IDIV_32		0x99, 0x41, 0xf7, 0xfb, 0xeb
static const u16 div_64[] = { TEST_64, 7, DIV_64, 2, 0x31, 0xc0 };
static const u16 div_32[] = { TEST_32, 7, DIV_32, 2, 0x31, 0xc0 };
static const u16 mod_64[] = { TEST_64, 7, DIV_64, 3, 0x48, 0x89, 0xc2 };
static const u16 mod_32[] = { TEST_32, 7, DIV_32, 2, 0x89, 0xc2 };
static const u16 sdiv_64[] = {
	TEST_64, 13, CMP_64, 11, IDIV_64, 7, 0x31, 0xc0, 0xeb, 3, 0x48, 0xf7, 0xd8
};
static const u16 sdiv_32[] = {
	TEST_32, 12, CMP_32, 10, IDIV_32, 6, 0x31, 0xc0, 0xeb, 2, 0xf7, 0xd8
};
static const u16 smod_64[] = {
	TEST_64, 13, CMP_64, 12, IDIV_64, 7, 0x48, 0x89, 0xc2, 0xeb, 2, 0x31, 0xd2
};
static const u16 smod_32[] = {
	TEST_32, 12, CMP_32, 10, IDIV_32, 6, 0x89, 0xc2, 0xeb, 2, 0x31, 0xd2
};

/*
 * machine.pc = ANY4; r9 = machine.run; call of the thunk; then argument registers are cleared of
 * values that C may have left. r9 is pushed before and popped after, and so is a sixth argument,
 * which is popped to rcx.
 */
#define PUSH_R9		0x41, 0x51
#define POP_R9		0x41, 0x59
#define PUSH_RAX	0x50
#define POP_RCX		0x59
#define CALL_BARRIER	0xe8, BARRIER4
#define CALL_THUNK	0x41, 0xc7, 0x41, MACHINE_AT_PC, ANY4, \
			0x4d, 0x8b, 0x89, MACHINE_AT_RUN, 0, 0, 0, 0xe8, TO4
#define CLEAR		0x31, 0xff, 0x31, 0xf6, 0x31, 0xd2, 0x31, 0xc9, 0x45, 0x31, 0xc0
static const u16 thunk[] = { PUSH_R9, CALL_THUNK, POP_R9, CLEAR };
static const u16 thunk_6[] = { PUSH_R9, PUSH_RAX, CALL_THUNK, POP_RCX, POP_R9, CLEAR };
static const u16 thunk_barrier[] = { PUSH_R9, CALL_BARRIER, CALL_THUNK, POP_R9, CLEAR };
static const u16 thunk_6_barrier[] = {
	PUSH_R9, PUSH_RAX, CALL_BARRIER, CALL_THUNK, POP_RCX, POP_R9, CLEAR
};

/*
 * push rbp, rbx, r13, r14, r15, machine.try; machine.try = rsp; r10 = rdi; rdi = rsi;
 * call; pop machine.try; rsp += 40
 */
static const u16 try[] = {
	0x55, 0x53, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x41, 0xff, 0x71, MACHINE_AT_TRY,
	0x49, 0x89, 0x61, MACHINE_AT_TRY, 0x49, 0x89, 0xfa, 0x48, 0x89, 0xf7, 0xe8, TO4,
	0x41, 0x8f, 0x41, MACHINE_AT_TRY, 0x48, 0x83, 0xc4, 0x28,
};

#define R(reg)		V_BIT(reg)
#define IN_C		(R(RAX) | R(RCX) | R(RDX) | R(RSI) | R(RDI) | R(R8) | V_SCRATCH)
#define ALL		(IN_C | R(RBX) | R(R13) | R(R14) | R(R15))
#define ROW(row)	.bytes = row, .len = sizeof(row) / sizeof(*(row))
#define DIVIDES(row)	{ ROW(row), V_PLAIN, R(RAX) | R(R11), R(RAX) | R(RDX) }
#define CALLS_IF(row, kind, reads)	{ ROW(row), kind, reads, V_SCRATCH, V_SCRATCH }

/* Patterns by their first byte. The fields are those of struct verify_insn, in its order. */
struct pattern {
	const u16 *bytes;
	u8 len, kind;
	u16 reads, writes, leaves;
	u8 slots;
};
static const struct pattern rows_41[] = {
	CALLS_IF(frame, V_UNLESS, R(RBP)),
	{ ROW(thunk), V_THUNK, 0, IN_C, V_SCRATCH, 1 },
	{ ROW(thunk_6), V_THUNK, 0, IN_C, V_SCRATCH, 2 },
	{ ROW(thunk_barrier), V_THUNK, 0, IN_C, V_SCRATCH, 1 },
	{ ROW(thunk_6_barrier), V_THUNK, 0, IN_C, V_SCRATCH, 2 },
};
static const struct pattern rows_45[] = {
	DIVIDES(div_32), DIVIDES(mod_32), DIVIDES(sdiv_32), DIVIDES(smod_32),
};
static const struct pattern rows_49[] = {
	CALLS_IF(charge, V_CHARGE, 0),
	CALLS_IF(room, V_ROOM, 0),
	CALLS_IF(range, V_UNLESS, R(R10) | R(R11)),
};
static const struct pattern rows_4d[] = {
	DIVIDES(div_64), DIVIDES(mod_64), DIVIDES(sdiv_64), DIVIDES(smod_64),
};
static const struct pattern rows_55[] = {
	{ ROW(try), V_TRY, R(RDI) | R(RSI), R(R10) | R(RDI), 0, 6 },
};
static const struct pattern rows_c3[] = { { ROW(leave), V_RETURN } };
static const struct pattern rows_e8[] = { { ROW(call), V_CALL } };
static const struct pattern rows_e9[] = { { ROW(jump), V_JUMP } };
static const struct pattern rows_eb[] = { { ROW(jump_short), V_JUMP } };
static const struct pattern rows_f3[] = { { ROW(entry), V_ENTRY, 0, R(RAX) } };

#define ROWS(byte)	[0x##byte] = { rows_##byte, sizeof(rows_##byte) / sizeof(*rows_##byte) }
static const struct {
	const struct pattern *rows;
	u32 n;
} patterns[0x100] = {
	ROWS(41), ROWS(45), ROWS(49), ROWS(4d), ROWS(55),
	ROWS(c3), ROWS(e8), ROWS(e9), ROWS(eb), ROWS(f3),
};

static s32 s32_at(const u8 *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
}

static bool fits(const struct pattern *row, const u8 *code, struct verify_insn *in)
{
	u32 i;

	for (i = 0; i < row->len; i++) {
		if (row->bytes[i] < ANY) {
			if (row->bytes[i] != code[i])
				return false;
			continue;
		}
		switch (row->bytes[i]) {
		case IMM:
			in->imm = s32_at(code + i);
			break;
		case TO:
			in->to = (s64)i + 4 + s32_at(code + i);
			break;
		case TO8:
			in->to = (s64)i + 1 + (s8)code[i];
			break;
		case BARRIER:
			in->barrier = (s64)i + 4 + s32_at(code + i);
			break;
		}
	}
	return true;
}

static bool decode_row(const struct pattern *row, const u8 *code, u32 left,
		       struct verify_insn *in)
{
	if (row->len > left || !fits(row, code, in))
		return false;
	in->len = row->len;
	in->kind = row->kind;
	in->reads = row->reads;
	in->writes = row->writes;
	in->leaves = row->leaves;
	in->slots = row->slots;
	return true;
}

static bool decode_rows(const u8 *code, u32 left, struct verify_insn *in)
{
	const struct pattern *row = patterns[*code].rows, *end = row + patterns[*code].n;
	u16 second = left > 1 ? code[1] : ANY;

	/* Most patterns differ in the second byte. */
	for (; row < end; row++)
		if ((row->bytes[1] == second || row->bytes[1] >= ANY) &&
		    decode_row(row, code, left, in))
			return true;
	return false;
}

/* -- Instructions -------------------------------------------------------------- */

/* The effects of opcodes with a ModRM byte, and the operand forms that are accepted. */
#define REG_R	V_BIT(0)	/* reads the register of ModRM.reg */
#define REG_W	V_BIT(1)
#define RM_R	V_BIT(2)	/* reads the r/m operand, if it is a register */
#define RM_W	V_BIT(3)
#define AS_REG	V_BIT(4)	/* the r/m operand may be a register */
#define AS_MEM	V_BIT(5)	/* the r/m operand may be in the arena */
#define AS_LOCK	V_BIT(6)	/* in the arena, with a lock prefix */
#define AS_USER	V_BIT(7)	/* machine.user */
#define ADDRESS	V_BIT(8)	/* address computation without an access */
#define IMM8	V_BIT(9)
#define IMM32	V_BIT(10)
#define BYTE	V_BIT(11)	/* the r/m operand has 8 bits, and is not ah, ch, dh or bh */
#define WORD	V_BIT(12)	/* 16 bits are accepted, too, for stores */
#define WITH(reg)	(V_BIT(15) | (u32)(reg) << 28)	/* also reads this register */
/* ModRM.reg extends the opcode, and must be one of these numbers. */
#define GROUP(exts)	((u32)(exts) << 16)
#define TWO	0x100	/* after the byte 0x0f */

static const u32 opcodes[2 * TWO] = {
	[0x01] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* add */
	[0x09] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* or */
	[0x21] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* and */
	[0x29] = REG_R | RM_R | RM_W | AS_REG,			/* sub */
	[0x31] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* xor */
	[0x39] = REG_R | RM_R | AS_REG | AS_MEM,		/* cmp */
	[0x85] = REG_R | RM_R | AS_REG,				/* test */
	[0x03] = REG_R | REG_W | AS_MEM | AS_USER,		/* add */
	[0x0b] = REG_R | REG_W | AS_MEM,			/* or */
	[0x23] = REG_R | REG_W | AS_MEM,			/* and */
	[0x2b] = REG_R | REG_W | AS_MEM | AS_USER,		/* sub */
	[0x33] = REG_R | REG_W | AS_MEM,			/* xor */
	[0x3b] = REG_R | AS_MEM,				/* cmp */
	[0x63] = REG_W | RM_R | AS_REG | AS_MEM,		/* movsxd */
	[0x87] = REG_R | REG_W | AS_LOCK,			/* xchg */
	[0x88] = REG_R | AS_MEM,				/* mov to memory */
	[0x89] = REG_R | RM_W | AS_REG | AS_MEM | WORD,		/* mov */
	[0x8b] = REG_W | AS_MEM | AS_USER,			/* mov from memory */
	[0x8d] = REG_W | ADDRESS,				/* lea */
	/* add, or, and, sub, xor; cmp reads only */
	[0x81] = RM_R | RM_W | AS_REG | IMM32 | GROUP(0xf3),
	[0x83] = RM_R | RM_W | AS_REG | IMM8 | GROUP(0xf3),
	[0xc1] = RM_R | RM_W | AS_REG | IMM8 | GROUP(0xb1),	/* rol, shl, shr, sar */
	[0xd3] = RM_R | RM_W | AS_REG | WITH(RCX) | GROUP(0xb0),
	[0xc7] = RM_W | AS_REG | AS_MEM | IMM32 | GROUP(0x01),	/* mov */
	[0xf7] = RM_R | RM_W | AS_REG | GROUP(0x08),		/* neg */
	[TWO | 0xaf] = REG_R | REG_W | RM_R | AS_REG,		/* imul */
	[TWO | 0xb1] = REG_R | AS_LOCK | WITH(RAX),		/* cmpxchg */
	[TWO | 0xb6] = REG_W | AS_MEM,				/* movzx */
	[TWO | 0xb7] = REG_W | RM_R | AS_REG | AS_MEM,		/* movzx */
	[TWO | 0xbe] = REG_W | RM_R | AS_REG | AS_MEM | BYTE,	/* movsx */
	[TWO | 0xbf] = REG_W | RM_R | AS_REG | AS_MEM,		/* movsx */
	[TWO | 0xc1] = REG_R | REG_W | AS_LOCK,			/* xadd */
};

/* @p traverses 16 bytes, of which the last may be padding. */
struct decoder {
	const u8 *p;
	struct verify_insn *in;
	u8 prefix, rex;		/* the prefix bytes, or 0 */
	u16 op;
	u8 reg, rm;
	bool wide;
};

static s32 take32(struct decoder *d)
{
	d->p += 4;
	return s32_at(d->p - 4);
}

/* Decodes the memory operand that begins at ModRM.rm; @mod is 0x40 or 0x80. */
static bool decode_memory(struct decoder *d, u32 does, u8 mod)
{
	struct verify_insn *in = d->in;
	u8 base = d->rm, sib = 0x20;

	if ((base & 7) == RSP) {
		sib = *d->p++;
		base = (sib & 7) | (d->rex & 1) << 3;
	}
	in->index = (sib >> 3 & 7) | (d->rex & 2) << 2;
	if (in->index == RSP)
		in->index = NO_INDEX;
	in->disp = mod == 0x40 ? (s8)*d->p++ : take32(d);
	if ((sib & 0xc0 && !(does & ADDRESS)) || (d->prefix == 0x66 && (!(does & WORD) || d->wide)))
		return false;
	if (does & ADDRESS) {
		in->reads |= V_BIT(base);
		if (in->index == NO_INDEX)
			return !d->prefix;
		in->reads |= V_BIT(in->index);
		in->index = NO_INDEX;
		return mod == 0x40 && !d->prefix;
	}
	if (base == R9)
		return does & AS_USER && in->index == NO_INDEX && !d->prefix && d->wide &&
		       in->disp == MACHINE_AT_USER;
	in->arena = true;
	if (d->prefix == 0xf0 || d->op == 0x87) {
		in->align = d->wide ? 8 : 4;
		return base == R12 && does & AS_LOCK;
	}
	return base == R12 && does & AS_MEM;
}

/* Decodes register operands. */
static bool decode_registers(struct decoder *d, u32 does)
{
	struct verify_insn *in = d->in;

	if (!(does & AS_REG) || d->prefix || (does & BYTE && !d->rex))
		return false;
	in->reg = d->rm;
	in->reads |= does & RM_R ? V_BIT(d->rm) : 0;
	in->writes |= does & RM_W ? V_BIT(d->rm) : 0;
	if (d->op == 0x31 && d->reg == d->rm)
		in->reads = 0;
	return true;
}

/* Decodes operations with a constant. */
static void decode_constant(struct decoder *d)
{
	struct verify_insn *in = d->in;

	if (d->reg == 7)
		in->writes = 0;
	if (d->reg == 4 && !d->wide)
		in->kind = V_MASK;
	if (d->rm == RBP && !d->wide && (d->reg == 0 || d->reg == 5))
		in->kind = V_MOVE_FRAME;
}

static bool decode_modrm(struct decoder *d)
{
	struct verify_insn *in = d->in;
	u32 does = opcodes[d->op];
	u8 modrm = *d->p++, mod = modrm & 0xc0;

	d->reg = modrm >> 3 & 7;
	d->rm = (modrm & 7) | (d->rex & 1) << 3;
	if (does & (IMM8 | IMM32) || does & GROUP(0xff)) {
		if (!(does & GROUP(V_BIT(d->reg))) || d->rex & 4)
			return false;
	} else {
		d->reg |= (d->rex & 4) << 1;
		in->reads |= does & REG_R ? V_BIT(d->reg) : 0;
		in->writes |= does & REG_W ? V_BIT(d->reg) : 0;
	}
	if (does & V_BIT(15))
		in->reads |= V_BIT(does >> 28);
	if (d->op == (TWO | 0xb1))
		in->writes |= V_BIT(RAX);
	if (mod == 0xc0 ? !decode_registers(d, does) : !mod || !decode_memory(d, does, mod))
		return false;
	if (does & IMM8)
		in->imm = (s8)*d->p++;
	if (does & IMM32)
		in->imm = take32(d);
	if (d->op == 0x81 || d->op == 0x83)
		decode_constant(d);
	return true;
}

/* Decodes opcodes that include a register number. */
static bool decode_short(struct decoder *d)
{
	struct verify_insn *in = d->in;

	in->reg = (d->op & 7) | (d->rex & 1) << 3;
	switch (d->op & ~7) {
	case 0x50:
		in->kind = V_PUSH;
		in->reads = V_BIT(in->reg);
		in->slots = 1;
		return !d->wide;
	case 0x58:
		in->kind = V_POP;
		in->writes = V_BIT(in->reg);
		return !d->wide;
	case 0xb8:
		in->writes = V_BIT(in->reg);
		d->p += d->wide ? 8 : 4;
		return true;
	case TWO | 0xc8:		/* bswap */
		in->reads = in->writes = V_BIT(in->reg);
		return true;
	}
	return false;
}

static bool decode_op(struct decoder *d)
{
	if (opcodes[d->op])
		return decode_modrm(d);
	if (d->prefix)
		return false;
	if ((d->op & ~0xf) != 0x70 && (d->op & ~0xf) != (TWO | 0x80))
		return decode_short(d);
	d->in->kind = V_BRANCH;
	d->in->to = d->op & TWO ? take32(d) : (s8)*d->p++;
	/* Parity is refused: flags may depend on an address of the kernel. */
	return !d->rex && (d->op & 0xe) != 0xa;
}

static bool decode_insn(const u8 *code, u32 left, struct verify_insn *in)
{
	u8 bytes[16] = { 0 };
	struct decoder d = { .p = bytes, .in = in };

	if (left < sizeof(bytes))
		memcpy(bytes, code, left);
	else
		memcpy(bytes, code, sizeof(bytes));	/* copied inline */
	if (*d.p == 0x66 || *d.p == 0xf0)
		d.prefix = *d.p++;
	if ((*d.p & 0xf0) == 0x40)
		d.rex = *d.p++;
	d.wide = d.rex & 8;
	d.op = *d.p++;
	if (d.op == 0x0f)
		d.op = TWO | *d.p++;
	if (!decode_op(&d))
		return false;
	in->len = d.p - bytes;
	if (in->kind == V_BRANCH)
		in->to += in->len;
	return in->len <= left;
}

bool verify_decode(const u8 *code, u32 left, struct verify_insn *in)
{
	static const struct verify_insn none = { .index = NO_INDEX };

	*in = none;
	if (patterns[*code].n) {
		if (decode_rows(code, left, in))
			return true;
		*in = none;
	}
	return decode_insn(code, left, in);
}
