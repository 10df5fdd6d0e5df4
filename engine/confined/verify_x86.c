// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See verify_insn.h: the instructions of x86-64 that may be in generated code.  What
 * the table does not have is no instruction, however well processors know it.
 *
 * tests/confined/prove.py compares all that is accepted here with another
 * decoder, and with what processors do.
 */
#include "machine.h"
#include "verify_insn.h"

enum {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
	R8, R9, R10, R11, R12,
};

/* What an opcode with a ModRM byte does, and the forms in which it may be here. */
#define REG_R	V_BIT(0)	/* reads the register of ModRM.reg */
#define REG_W	V_BIT(1)
#define RM_R	V_BIT(2)	/* reads the other operand, where it is a register */
#define RM_W	V_BIT(3)
#define AS_REG	V_BIT(4)	/* the other operand may be a register */
#define AS_MEM	V_BIT(5)	/* something in the arena */
#define AS_LOCK	V_BIT(6)	/* the same, atomically */
#define FIELD	V_BIT(7)	/* in struct machine: see fields[] */
#define ADDRESS	V_BIT(8)	/* an address that is not used */
#define IMM8	V_BIT(9)
#define IMM32	V_BIT(10)
#define BYTE	V_BIT(11)	/* a register of 8 bits, and not ah to bh */
#define WIDE	V_BIT(12)	/* 64 bits only */
#define WORD	V_BIT(13)	/* 16 bits, too: to memory */
/* ModRM.reg is a part of the opcode, and one of these. */
#define GROUP(exts)	((u32)(exts) << 16)
#define TWO	0x100	/* 0x0f before it */

static const u32 opcodes[2 * TWO] = {
	[0x01] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* add */
	[0x09] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* or */
	[0x21] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* and */
	[0x29] = REG_R | RM_R | RM_W | AS_REG,			/* sub */
	[0x31] = REG_R | RM_R | RM_W | AS_REG | AS_LOCK,	/* xor */
	[0x39] = REG_R | RM_R | AS_REG,				/* cmp */
	[0x85] = REG_R | RM_R | AS_REG,				/* test */
	[0x03] = REG_R | REG_W | FIELD,				/* add */
	[0x2b] = REG_R | REG_W | FIELD,				/* sub */
	[0x3b] = REG_R | FIELD,					/* cmp */
	[0x63] = REG_W | RM_R | AS_REG | AS_MEM | WIDE,		/* movsxd */
	[0x87] = REG_R | REG_W | AS_LOCK,			/* xchg */
	[0x88] = REG_R | AS_MEM | BYTE,				/* mov to memory */
	[0x89] = REG_R | RM_W | AS_REG | AS_MEM | WORD,		/* mov */
	[0x8b] = REG_W | AS_MEM | FIELD,			/* mov from memory */
	[0x8d] = REG_W | ADDRESS,				/* lea */
	/* add, or, and, sub, xor, cmp; fuel is taken by sub */
	[0x81] = RM_R | RM_W | AS_REG | FIELD | IMM32 | GROUP(0xf3),
	[0x83] = RM_R | RM_W | AS_REG | IMM8 | GROUP(0xf3),
	[0xc1] = RM_R | RM_W | AS_REG | IMM8 | GROUP(0xb2),	/* ror; shl, shr, sar */
	[0xd3] = RM_R | RM_W | AS_REG | GROUP(0xb0),		/* shl, shr, sar */
	[0xc7] = RM_W | AS_REG | FIELD | IMM32 | GROUP(0x01),	/* mov */
	[0xf7] = RM_R | RM_W | AS_REG | GROUP(0xc8),		/* neg, div, idiv */
	[TWO | 0xaf] = REG_R | REG_W | RM_R | AS_REG,		/* imul */
	[TWO | 0xb1] = REG_R | AS_LOCK,				/* cmpxchg */
	[TWO | 0xb6] = REG_W | AS_MEM,				/* movzx */
	[TWO | 0xb7] = REG_W | RM_R | AS_REG | AS_MEM,		/* movzx */
	[TWO | 0xbe] = REG_W | RM_R | AS_REG | AS_MEM | BYTE,	/* movsx */
	[TWO | 0xbf] = REG_W | RM_R | AS_REG | AS_MEM,		/* movsx */
	[TWO | 0xc1] = REG_R | REG_W | AS_LOCK,			/* xadd */
};

/* What may be done with struct machine; @reg is ModRM.reg. */
static const struct {
	u8 op, at, reg;
	bool wide;
	u8 kind;
} fields[] = {
#define ANY 0xff
	{ 0x03, MACHINE_AT_USER, ANY, true, V_PLAIN },
	{ 0x2b, MACHINE_AT_USER, ANY, true, V_PLAIN },
	{ 0x8b, MACHINE_AT_USER, ANY, true, V_PLAIN },
	{ 0x3b, MACHINE_AT_STACK, RBP, false, V_PLAIN },
	{ 0x3b, MACHINE_AT_NATIVE, RSP, true, V_ROOM },
	{ 0x81, MACHINE_AT_FUEL, 5, true, V_CHARGE },
	{ 0xc7, MACHINE_AT_PC, 0, false, V_PLAIN },
};

/* Before its end: push rbp, rbx, r13, r14, r15; push try; try = rsp; r10 = rdi; rdi = rsi */
const u8 verify_try_begin[] = {
	0x55, 0x53, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x41, 0xff, 0x71, MACHINE_AT_TRY,
	0x49, 0x89, 0x61, MACHINE_AT_TRY, 0x49, 0x89, 0xfa, 0x48, 0x89, 0xf7,
};
/* pop try; rsp += 40 */
const u8 verify_try_end[] = {
	0x41, 0x8f, 0x41, MACHINE_AT_TRY, 0x48, 0x83, 0xc4, 0x28,
};
const u32 verify_try_begin_len = sizeof(verify_try_begin);
const u32 verify_try_end_len = sizeof(verify_try_end);

static const u8 landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

bool verify_landing(const u8 *code)
{
	return code[3] == landing[3] && !memcmp(code, landing, 3);
}

/* @p goes through 16 bytes, of which the last ones may be made up. */
struct decoder {
	const u8 *p;
	struct verify_insn *in;
	u8 prefix, rex;		/* or 0 */
	u16 op;
	u8 reg, rm;
	bool wide;
};

static s32 take32(struct decoder *d)
{
	u32 v = d->p[0] | d->p[1] << 8 | d->p[2] << 16 | (u32)d->p[3] << 24;

	d->p += 4;
	return v;
}

static bool in_machine(struct decoder *d)
{
	unsigned int i;

	d->in->field = true;
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (fields[i].op != d->op || fields[i].at != d->in->disp ||
		    fields[i].wide != d->wide ||
		    (fields[i].reg != ANY && fields[i].reg != d->reg))
			continue;
		d->in->kind = fields[i].kind;
		if (d->in->kind == V_ROOM)
			d->in->reads = 0;
		return true;
	}
	/* r9 = machine.run, for gates */
	if (d->op != 0x8b || d->reg != R9 || !d->wide || d->in->disp != MACHINE_AT_RUN)
		return false;
	d->in->kind = V_LOAD_RUN;
	d->in->writes = 0;
	return true;
}

/* The operand in memory that begins at ModRM.rm; @mod is 0x40 or 0x80. */
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
	if (sib & 0xc0)
		return false;
	if (does & ADDRESS) {
		in->reads |= V_BIT(base);
		return in->index == NO_INDEX && !d->prefix;
	}
	if (base == R9)
		return does & FIELD && in->index == NO_INDEX && !d->prefix && in_machine(d);
	in->arena = true;
	if (d->prefix == 0xf0 || d->op == 0x87) {
		in->align = d->wide ? 8 : 4;
		return base == R12 && does & AS_LOCK;
	}
	return base == R12 && does & AS_MEM;
}

/* What is special with operands that are registers. */
static bool decode_registers(struct decoder *d, u32 does)
{
	struct verify_insn *in = d->in;

	if (!(does & AS_REG) || (does & BYTE && !d->rex))
		return false;
	/* ror is of 16 bits here, and nothing else is. */
	if (d->prefix ? d->prefix != 0x66 || d->op != 0xc1 || d->reg != 1 :
			d->op == 0xc1 && d->reg == 1)
		return false;
	in->reg = d->rm;
	if (does & RM_R)
		in->reads |= V_BIT(d->rm);
	if (does & RM_W)
		in->writes |= V_BIT(d->rm);
	if (d->op == 0xd3)
		in->reads |= V_BIT(RCX);
	if (d->op == 0x31 && d->reg == d->rm)
		in->reads = 0;
	return true;
}

/* Operations with a constant. */
static void decode_constant(struct decoder *d)
{
	struct verify_insn *in = d->in;

	if (d->op == 0xc7 || in->kind != V_PLAIN)
		return;
	if (d->reg == 7)
		in->writes = 0;
	if (d->reg == 4 && !d->wide)
		in->kind = V_MASK;
	if (d->rm == RBP && !d->wide && (d->reg == 0 || d->reg == 5)) {
		in->kind = V_MOVE_FRAME;
		in->reads = in->writes = 0;
	}
}

/* The parts of a division, each with its width; r11 is the divisor. */
enum { TESTS = 1, COMPARES, CLEARS, EXTENDS, DIVIDES, DIVIDES_SIGNED, PART_WIDE = 8 };

static void decode_division(struct decoder *d)
{
	struct verify_insn *in = d->in;
	u8 part = 0;

	if (d->op == 0x85 && d->reg == R11 && d->rm == R11)
		part = TESTS;
	else if (d->op == 0x83 && d->reg == 7 && d->rm == R11 && in->imm == -1)
		part = COMPARES;
	else if (d->op == 0x31 && d->reg == RDX && d->rm == RDX)
		part = CLEARS;
	else if (d->op == 0xf7 && d->reg != 3) {
		part = d->rm != R11 ? 0 : d->reg == 6 ? DIVIDES : DIVIDES_SIGNED;
		in->kind = V_DIVIDE;
		in->reads |= V_BIT(RAX) | V_BIT(RDX);
		in->writes = V_BIT(RAX) | V_BIT(RDX);
	}
	if (part)
		in->divide = part | (d->wide ? PART_WIDE : 0);
}

static bool decode_modrm(struct decoder *d)
{
	struct verify_insn *in = d->in;
	u32 does = opcodes[d->op];
	u8 modrm = *d->p++, mod = modrm & 0xc0;

	d->reg = modrm >> 3 & 7;
	d->rm = (modrm & 7) | (d->rex & 1) << 3;
	if (!does || (does & WIDE && !d->wide))
		return false;
	if (does >= GROUP(1)) {
		if (!(does & GROUP(V_BIT(d->reg))) || d->rex & 4)
			return false;
	} else {
		d->reg |= (d->rex & 4) << 1;
		in->reads |= does & REG_R ? V_BIT(d->reg) : 0;
		in->writes |= does & REG_W ? V_BIT(d->reg) : 0;
	}
	if (d->op == (TWO | 0xb1)) {
		in->reads |= V_BIT(RAX);
		in->writes |= V_BIT(RAX);
	}
	if (mod == 0xc0 ? !decode_registers(d, does) : !mod || !decode_memory(d, does, mod))
		return false;
	if (mod != 0xc0 && ((does & BYTE && !(does & RM_R) && !d->rex) ||
			    (d->prefix == 0x66 && !(does & WORD && !d->wide))))
		return false;
	if (does & IMM8)
		in->imm = (s8)*d->p++;
	if (does & IMM32)
		in->imm = take32(d);
	if (d->op == 0x81 || d->op == 0x83)
		decode_constant(d);
	decode_division(d);
	return true;
}

static bool decode_branch(struct decoder *d, u8 cond)
{
	d->in->kind = V_BRANCH;
	d->in->cond = cond == 3 ? V_ABOVE_EQUAL : cond == 4 ? V_EQUAL :
		      cond == 9 ? V_NOT_NEGATIVE : V_OTHER;
	d->in->rel = d->op & TWO ? take32(d) : (s8)*d->p++;
	return !d->rex;
}

/* Opcodes that have a register in themselves. */
static bool decode_short(struct decoder *d)
{
	struct verify_insn *in = d->in;

	in->reg = (d->op & 7) | (d->rex & 1) << 3;
	switch (d->op & ~7) {
	case 0x50:
		in->kind = V_PUSH;
		return !d->wide;
	case 0x58:
		in->kind = V_POP;
		return !d->wide;
	case 0xb8:
		in->writes = V_BIT(in->reg);
		in->number = in->reg == V_NUMBER && !d->wide;
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
	struct verify_insn *in = d->in;

	if ((d->op & ~0xf) == 0x70 || (d->op & ~0xf) == (TWO | 0x80))
		return !d->prefix && decode_branch(d, d->op & 0xf);
	switch (d->op) {
	case 0x99:			/* cdq, cqo */
		in->reads = V_BIT(RAX);
		in->writes = V_BIT(RDX);
		in->divide = EXTENDS | (d->wide ? PART_WIDE : 0);
		return !d->prefix;
	case 0xe8: case 0xe9:
		in->kind = d->op == 0xe8 ? V_CALL : V_JUMP;
		in->rel = take32(d);
		return !d->prefix && !d->rex;
	case 0xeb:
		in->kind = V_JUMP;
		in->rel = (s8)*d->p++;
		return !d->prefix && !d->rex;
	case 0xc3:			/* and int3, should a processor run on */
		in->kind = V_RETURN;
		return !d->prefix && !d->rex && *d->p++ == 0xcc;
	}
	return opcodes[d->op] ? decode_modrm(d) : !d->prefix && decode_short(d);
}

bool verify_decode(const u8 *code, u32 left, struct verify_insn *in)
{
	u8 bytes[16] = { 0 };
	struct decoder d = { .p = bytes, .in = in };

	memcpy(bytes, code, left < sizeof(bytes) ? left : sizeof(bytes));
	*in = (struct verify_insn){ .len = 4, .kind = V_LANDING, .index = NO_INDEX };
	if (verify_landing(bytes))
		return left >= 4;
	in->kind = V_PLAIN;
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
	return in->len <= left;
}

/*
 * test r11, r11; je; then xor edx, edx; div r11
 *                    or  cmp r11, -1; je; cqo; idiv r11
 *
 * with nothing in between: neither 0 divides, nor -1, whose quotient may not fit.
 */
u8 verify_division(u8 before, const struct verify_insn *in)
{
	enum { TESTED = 0x10, NOT_ZERO = 0x20, CLEARED = 0x30, COMPARED = 0x40,
	       NOT_MINUS_1 = 0x50, EXTENDED = 0x60, STEP = 0x70 };
	u8 part = in->divide & ~PART_WIDE, wide = in->divide & PART_WIDE;
	u8 same = before & PART_WIDE;

	if (part == TESTS)
		return TESTED | wide;
	if (in->kind == V_BRANCH && in->cond == V_EQUAL) {
		if ((before & STEP) == TESTED)
			return NOT_ZERO | same;
		if ((before & STEP) == COMPARED)
			return NOT_MINUS_1 | same;
		return 0;
	}
	if (part == CLEARS && (before & STEP) == NOT_ZERO)
		return CLEARED | same;
	if (wide != same)
		return 0;
	if (part == COMPARES && (before & STEP) == NOT_ZERO)
		return COMPARED | same;
	if (part == EXTENDS && (before & STEP) == NOT_MINUS_1)
		return EXTENDED | same;
	if ((part == DIVIDES && (before & STEP) == CLEARED) ||
	    (part == DIVIDES_SIGNED && (before & STEP) == EXTENDED))
		return V_DIVIDED;
	return 0;
}
