// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See jit.h, and the invariant at the top of check.c; machine.h has the registers.
 *
 * Each instruction becomes the same few machine instructions wherever it stands,
 * but for one thing: a masked address stays in r10 or r11, as long as control
 * comes on a straight line and the register that it was made from is not
 * written, for further accesses by the same register.
 *
 * Backward jumps are as short as they can be, all others have 32 bits: so a first
 * pass finds out where everything lies, and a second one writes it.
 */
#include "jit.h"
#include "machine.h"

/* stubs.S */
extern const u8 confined_poll[], confined_gate[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_fault_stack[],
	confined_fault_function[], confined_fault_access[];

enum {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
	R8, R9, R10, R11, R12, R13, R14, R15,
	NONE = 0x10
};

#define FRAME	RBP
#define BASE	R12
#define RUN	R9

static const u8 machine[] = {
	RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,
};

/* Second byte of a conditional jump, short form; the long one is 0x10 more. */
enum {
	JB = 0x72, JAE = 0x73, JE = 0x74, JNE = 0x75, JBE = 0x76, JA = 0x77,
	JNS = 0x79, JL = 0x7c, JGE = 0x7d, JLE = 0x7e, JG = 0x7f,
};

/* Opcodes of "op reg -> reg or memory", and of "op constant" (in ModRM.reg). */
enum { ADD = 0x01, OR = 0x09, AND = 0x21, SUB = 0x29, XOR = 0x31, CMP = 0x39 };
enum { TEST = 0x85, MOV = 0x89, LOAD = 0x8b, LEA = 0x8d, MOVSXD = 0x63 };
#define IMM_OF(op)	((op) >> 3)

#define UNKNOWN	(-1)

struct gen {
	struct jit *jit;
	const struct checked *checked;
	u32 at;			/* bytes so far */
	u32 pc;
	u32 func;
	u32 dispatch, try;	/* where these routines lie */
	u32 mask;		/* the arena's size less 1 */
	u8 masked[2];		/* r10, r11: made from which register, or NONE */
	u8 turn;		/* which of them goes next */
	s64 known[INSN_R10];	/* offset in the arena that a register has */
};

/**
 * struct place - an operand in memory
 * @index: a register, or NONE
 */
struct place {
	u8 base, index;
	s32 disp;
};

/* -- Encoding -------------------------------------------------------------- */

static void put(struct gen *g, u8 byte)
{
	if (g->jit->code && g->at < g->jit->size)
		g->jit->code[g->at] = byte;
	g->at++;
}

static void put32(struct gen *g, u32 v)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		put(g, v >> (8 * i));
}

static void put64(struct gen *g, u64 v)
{
	put32(g, v);
	put32(g, v >> 32);
}

static void put_op(struct gen *g, bool wide, u32 op, u8 reg, u8 index, u8 base,
		   bool always)
{
	u8 rex = 0x40 | wide << 3 | (reg >> 3) << 2 | ((index >> 3) & 1) << 1 | base >> 3;

	if (rex != 0x40 || always)
		put(g, rex);
	if (op > 0xff)
		put(g, op >> 8);
	put(g, op);
}

/* @reg is a register, or the rest of the opcode. */
static void op_reg(struct gen *g, bool wide, u32 op, u8 reg, u8 rm)
{
	put_op(g, wide, op, reg, 0, rm, false);
	put(g, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static bool is_s8(s64 v)
{
	return v >= -128 && v <= 127;
}

static void put_place(struct gen *g, u8 reg, struct place p)
{
	u8 mod = is_s8(p.disp) ? 0x40 : 0x80;

	if (p.index == NONE && (p.base & 7) != RSP) {
		put(g, mod | (reg & 7) << 3 | (p.base & 7));
	} else {
		put(g, mod | (reg & 7) << 3 | 4);
		put(g, (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));
	}
	if (mod == 0x40)
		put(g, p.disp);
	else
		put32(g, p.disp);
}

static void op_place(struct gen *g, bool wide, u32 op, u8 reg, struct place p)
{
	put_op(g, wide, op, reg, p.index == NONE ? 0 : p.index, p.base, false);
	put_place(g, reg, p);
}

static struct place in_run(s32 offset)
{
	return (struct place){ RUN, NONE, offset };
}

static void op_imm(struct gen *g, bool wide, u8 op, u8 rm, s32 imm)
{
	op_reg(g, wide, is_s8(imm) ? 0x83 : 0x81, IMM_OF(op), rm);
	if (is_s8(imm))
		put(g, imm);
	else
		put32(g, imm);
}

static void mov(struct gen *g, bool wide, u8 to, u8 from)
{
	op_reg(g, wide, MOV, from, to);
}

static void mov_imm32(struct gen *g, u8 to, u32 imm)
{
	put_op(g, false, 0xb8 | (to & 7), 0, 0, to, false);
	put32(g, imm);
}

static void push(struct gen *g, u8 reg)
{
	put_op(g, false, 0x50 | (reg & 7), 0, 0, reg, false);
}

static void pop(struct gen *g, u8 reg)
{
	put_op(g, false, 0x58 | (reg & 7), 0, 0, reg, false);
}

/* -- Jumps within generated code, and to stubs ------------------------------ */

/* A short jump forward, to where land() is called. */
static u32 hop(struct gen *g, u8 op)
{
	put(g, op);
	put(g, 0);
	return g->at;
}

static void land(struct gen *g, u32 hop)
{
	if (g->jit->code && g->at <= g->jit->size)
		g->jit->code[hop - 1] = g->at - hop;
}

static void leap(struct gen *g, u8 op, u64 to)
{
	put(g, op);
	put32(g, to - (g->jit->exec + g->at + 4));
}

static void call_stub(struct gen *g, const u8 *stub)
{
	leap(g, 0xe8, (u64)(unsigned long)stub);
}

static void jump_stub(struct gen *g, const u8 *stub)
{
	leap(g, 0xe9, (u64)(unsigned long)stub);
}

static u64 exec_at(struct gen *g, u32 offset)
{
	return g->jit->exec + offset;
}

/* Where calls of function @func go; its first instruction is after that. */
static u64 entry_of(struct gen *g, u32 func)
{
	return exec_at(g, g->jit->offsets[g->checked->image->ninsns + func]);
}

static void put_return(struct gen *g)
{
	if (IMAGE_RETURN_STUB)
		return jump_stub(g, confined_return);
	put(g, 0xc3);
	put(g, 0xcc);
}

/* A conditional (@op) or unconditional jump to instruction @target. */
static void jump_insn(struct gen *g, u8 op, u32 target)
{
	u32 to = g->jit->offsets[target];
	s32 distance = to - (g->at + 2);

	if (target <= g->pc && is_s8(distance)) {
		put(g, op);
		put(g, distance);
	} else if (op == 0xeb) {
		leap(g, 0xe9, exec_at(g, to));
	} else {
		put(g, 0x0f);
		leap(g, op + 0x10, exec_at(g, to));
	}
}

/* -- What is in r10 and r11 ------------------------------------------------- */

static void forget_scratch(struct gen *g)
{
	g->masked[0] = NONE;
	g->masked[1] = NONE;
}

/* Control may come from elsewhere, or has been elsewhere. */
static void forget(struct gen *g)
{
	unsigned int i;

	forget_scratch(g);
	for (i = 0; i < INSN_R10; i++)
		g->known[i] = UNKNOWN;
}

/* @reg of the program has been written. */
static void forget_reg(struct gen *g, u8 reg)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			g->masked[i] = NONE;
	g->known[reg] = UNKNOWN;
}

/* One of r10 and r11, not @avoid, to use for one instruction. */
static u8 scratch(struct gen *g, u8 avoid)
{
	u8 reg = avoid == R10 ? R11 : R10;

	g->masked[reg - R10] = NONE;
	return reg;
}

/* -- Operands --------------------------------------------------------------- */

static u32 frame_size(const struct gen *g)
{
	return g->checked->funcs[g->func].frame;
}

/* The register that has @reg of the program; r10's value is made in @spare. */
static u8 operand(struct gen *g, u8 reg, u8 spare)
{
	if (reg != INSN_R10)
		return machine[reg];
	op_place(g, true, LEA, spare, (struct place){ FRAME, NONE, frame_size(g) });
	op_place(g, true, ADD | 2, spare, in_run(MACHINE_AT_USER));
	g->masked[spare - R10] = NONE;
	return spare;
}

/*
 * Constants that stand in the code as they are would be machine code of the
 * program's choice, for whoever can jump into the middle of it.
 */
static bool is_plain(const struct gen *g, s64 imm)
{
	return !g->jit->key || (imm >= -0x8000 && imm <= 0xffff);
}

/* A constant of 32 bits, with its sign where @wide. */
static void load_imm(struct gen *g, bool wide, u8 to, s32 imm)
{
	u32 key = g->jit->key;

	if (!is_plain(g, imm)) {
		mov_imm32(g, to, imm ^ key);
		op_reg(g, false, 0x81, IMM_OF(XOR), to);
		put32(g, key);
		if (wide)
			op_reg(g, true, MOVSXD, to, to);
	} else if (wide && imm < 0) {
		op_reg(g, true, 0xc7, 0, to);
		put32(g, imm);
	} else {
		mov_imm32(g, to, imm);
	}
}

static void load_imm64(struct gen *g, u8 to, u64 imm)
{
	u64 key = g->jit->key;
	u8 spare;

	if (imm <= 0xffff || (imm <= 0x7fffffff && key == 0))
		return mov_imm32(g, to, imm);
	put_op(g, true, 0xb8 | (to & 7), 0, 0, to, false);
	put64(g, imm ^ key);
	if (!key)
		return;
	spare = scratch(g, NONE);
	put_op(g, true, 0xb8 | (spare & 7), 0, 0, spare, false);
	put64(g, key);
	op_reg(g, true, XOR, spare, to);
}

/* "op" with a constant of the program. */
static void op_constant(struct gen *g, bool wide, u8 op, u8 reg, s32 imm)
{
	u8 spare;

	if (is_plain(g, imm))
		return op_imm(g, wide, op, reg, imm);
	spare = scratch(g, reg);
	load_imm(g, wide, spare, imm);
	op_reg(g, wide, op, spare, reg);
}

/* -- Addresses -------------------------------------------------------------- */

/*
 * Proof for all that follows: r12 is the arena's address.  What is added to it is
 * rbp, r10, r11 or nothing, and a constant.  rbp is less than the arena's size
 * (function_begin(), function_end()); so are r10 and r11, by the AND below, which
 * nothing leaves out: neither a branch nor a load comes between it and the
 * access.  The constant is at least -2^15, for r10 by check_place(), and at most
 * 2^15 + 2^15 for frames, whose end is inside the arena again.
 */
static u8 mask_reg(struct gen *g, u8 reg)
{
	unsigned int i;
	u8 to;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			return R10 + i;
	if (g->masked[g->turn] != NONE && g->masked[!g->turn] == NONE)
		g->turn = !g->turn;
	to = R10 + g->turn;
	g->masked[g->turn] = reg;
	g->turn = !g->turn;
	mov(g, false, to, machine[reg]);
	op_reg(g, false, 0x81, IMM_OF(AND), to);
	put32(g, g->mask);
	return to;
}

/* IMAGE_CHECKED: to see mistakes; the address is masked all the same. */
static void check_range(struct gen *g, u8 reg, s16 off, u32 width)
{
	u32 in_range;

	forget_scratch(g);
	op_place(g, true, LEA, R10, (struct place){ machine[reg], NONE, off });
	mov(g, true, R11, R10);
	op_place(g, true, SUB | 2, R11, in_run(MACHINE_AT_USER));
	op_reg(g, true, 0x81, IMM_OF(CMP), R11);
	put32(g, g->mask + 1 - width);
	in_range = hop(g, JBE);
	mov_imm32(g, R11, g->pc);
	call_stub(g, confined_fault_access);
	land(g, in_range);
}

static struct place place(struct gen *g, u8 reg, s16 off, u32 width)
{
	if (reg == INSN_R10)
		return (struct place){ BASE, FRAME, (s32)frame_size(g) + off };
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, reg, off, width);
	else if (g->known[reg] != UNKNOWN && is_plain(g, g->known[reg] + off))
		return (struct place){ BASE, NONE, g->known[reg] + off };
	return (struct place){ BASE, mask_reg(g, reg), off };
}

/*
 * Atomic operations: the offset is added before the mask, which clears the low
 * bits as well, so no operation reaches into a second cache line.
 */
static struct place place_atomic(struct gen *g, u8 reg, s16 off, u32 width)
{
	u8 to;

	if (reg == INSN_R10)
		return place(g, reg, off, width);
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, reg, off, width);
	to = scratch(g, NONE);
	op_place(g, false, LEA, to, (struct place){ machine[reg], NONE, off });
	op_reg(g, false, 0x81, IMM_OF(AND), to);
	put32(g, g->mask & ~(width - 1));
	return (struct place){ BASE, to, 0 };
}

/* -- Registers to registers -------------------------------------------------- */

static void gen_mul(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 src;

	if (insn->code & INSN_X) {
		src = operand(g, insn->src, R10);
	} else {
		src = scratch(g, NONE);
		load_imm(g, wide, src, insn->imm);
	}
	op_reg(g, wide, 0x0faf, dst, src);
}

static void gen_shift(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 op = INSN_OP(insn->code);
	u8 ext = op == INSN_LSH ? 4 : op == INSN_RSH ? 5 : 7, src;

	if (!(insn->code & INSN_X)) {
		op_reg(g, wide, 0xc1, ext, dst);
		put(g, insn->imm);
		return;
	}
	src = operand(g, insn->src, R11);
	if (src == RCX)
		return op_reg(g, wide, 0xd3, ext, dst);
	g->masked[0] = NONE;
	mov(g, true, R10, RCX);
	mov(g, true, RCX, src);
	op_reg(g, wide, 0xd3, ext, dst == RCX ? R10 : dst);
	mov(g, true, RCX, R10);
}

/*
 * rax and rdx are what the instruction wants; r11 is the divisor.  Neither a
 * divisor of 0 nor the one quotient that does not fit reaches it.
 */
static void put_division(struct gen *g, bool wide, bool is_signed, bool mod)
{
	u32 by_zero, by_minus_1 = 0, done, done_zero;

	op_reg(g, wide, TEST, R11, R11);
	by_zero = hop(g, JE);
	if (is_signed) {
		op_imm(g, wide, CMP, R11, -1);
		by_minus_1 = hop(g, JE);
		put_op(g, wide, 0x99, 0, 0, 0, false);
		op_reg(g, wide, 0xf7, 7, R11);
	} else {
		op_reg(g, false, XOR, RDX, RDX);
		op_reg(g, wide, 0xf7, 6, R11);
	}
	done = hop(g, 0xeb);
	land(g, by_zero);
	if (mod)
		mov(g, wide, RDX, RAX);
	else
		op_reg(g, false, XOR, RAX, RAX);
	done_zero = hop(g, 0xeb);
	if (is_signed) {
		land(g, by_minus_1);
		if (mod)
			op_reg(g, false, XOR, RDX, RDX);
		else
			op_reg(g, wide, 0xf7, 3, RAX);
	}
	land(g, done);
	land(g, done_zero);
}

static void gen_division(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	bool mod = INSN_OP(insn->code) == INSN_MOD;

	forget_scratch(g);
	if (insn->code & INSN_X)
		mov(g, wide, R11, operand(g, insn->src, R11));
	else
		load_imm(g, wide, R11, insn->imm);
	if (dst != RAX) {
		mov(g, true, R10, RAX);
		mov(g, wide, RAX, dst);
	}
	if (dst != RDX)
		push(g, RDX);
	put_division(g, wide, insn->off, mod);
	mov(g, wide, R11, mod ? RDX : RAX);
	if (dst != RDX)
		pop(g, RDX);
	if (dst != RAX)
		mov(g, true, RAX, R10);
	mov(g, wide, dst, R11);
}

static void gen_mov(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 src;

	if (!(insn->code & INSN_X))
		return load_imm(g, wide, dst, insn->imm);
	src = operand(g, insn->src, R10);
	switch (insn->off) {
	case 0:
		return mov(g, wide, dst, src);
	case 8:
		put_op(g, wide, 0x0fbe, dst, 0, src, true);
		return put(g, 0xc0 | (dst & 7) << 3 | (src & 7));
	case 16:
		return op_reg(g, wide, 0x0fbf, dst, src);
	default:
		return op_reg(g, true, MOVSXD, dst, src);
	}
}

static void gen_swap(struct gen *g, u8 dst, const struct image_insn *insn)
{
	bool swap = insn->code & INSN_X || INSN_CLASS(insn->code) == INSN_ALU64;

	if (insn->imm == 16) {
		if (swap) {
			put(g, 0x66);
			op_reg(g, false, 0xc1, 1, dst);
			put(g, 8);
		}
		op_reg(g, false, 0x0fb7, dst, dst);
	} else if (swap) {
		put_op(g, insn->imm == 64, 0x0fc8 | (dst & 7), 0, 0, dst, false);
	} else if (insn->imm == 32) {
		mov(g, false, dst, dst);
	}
}

/* Proof: writes dst, which is none of r9, r12, rbp, rsp; and r10 or r11. */
static void gen_alu(struct gen *g, const struct image_insn *insn)
{
	static const u8 ops[16] = {
		[INSN_ADD >> 4] = ADD, [INSN_SUB >> 4] = SUB,
		[INSN_OR >> 4] = OR, [INSN_AND >> 4] = AND,
		[INSN_XOR >> 4] = XOR,
	};
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 dst = machine[insn->dst], op = INSN_OP(insn->code);

	switch (op) {
	case INSN_MUL:
		gen_mul(g, wide, dst, insn);
		break;
	case INSN_DIV: case INSN_MOD:
		gen_division(g, wide, dst, insn);
		break;
	case INSN_LSH: case INSN_RSH: case INSN_ARSH:
		gen_shift(g, wide, dst, insn);
		break;
	case INSN_NEG:
		op_reg(g, wide, 0xf7, 3, dst);
		break;
	case INSN_MOV:
		gen_mov(g, wide, dst, insn);
		break;
	case INSN_END:
		gen_swap(g, dst, insn);
		break;
	default:
		if (insn->code & INSN_X)
			op_reg(g, wide, ops[op >> 4], operand(g, insn->src, R10), dst);
		else
			op_constant(g, wide, ops[op >> 4], dst, insn->imm);
	}
	forget_reg(g, insn->dst);
}

static void gen_imm64(struct gen *g, const struct image_insn *insn)
{
	u8 dst = machine[insn->dst];

	forget_reg(g, insn->dst);
	if (insn->src != INSN_ARENA)
		return load_imm64(g, dst, (u32)insn->imm | (u64)insn[1].imm << 32);
	op_place(g, true, LOAD, dst, in_run(MACHINE_AT_USER));
	op_constant(g, true, ADD, dst, insn->imm);
	g->known[insn->dst] = insn->imm;
}

/* -- Memory: place() and place_atomic() have the proof ------------------------ */

static void gen_load(struct gen *g, const struct image_insn *insn)
{
	bool sign = INSN_MODE(insn->code) == INSN_MEMSX;
	struct place p = place(g, insn->src, insn->off, insn_width(insn->code));
	u8 dst = machine[insn->dst];

	switch (INSN_SIZE(insn->code)) {
	case INSN_B:
		op_place(g, sign, sign ? 0x0fbe : 0x0fb6, dst, p);
		break;
	case INSN_H:
		op_place(g, sign, sign ? 0x0fbf : 0x0fb7, dst, p);
		break;
	case INSN_W:
		op_place(g, sign, sign ? MOVSXD : LOAD, dst, p);
		break;
	case INSN_DW:
		op_place(g, true, LOAD, dst, p);
		break;
	}
	forget_reg(g, insn->dst);
}

static void gen_store(struct gen *g, const struct image_insn *insn)
{
	u32 width = insn_width(insn->code);
	struct place p = place(g, insn->dst, insn->off, width);
	u8 spare = p.index == R10 ? R11 : R10, src;

	if (INSN_CLASS(insn->code) == INSN_ST) {
		src = scratch(g, p.index);
		load_imm(g, width == 8, src, insn->imm);
	} else {
		src = operand(g, insn->src, spare);
	}
	if (width == 2)
		put(g, 0x66);
	put_op(g, width == 8, width == 1 ? 0x88 : MOV, src,
	       p.index == NONE ? 0 : p.index, p.base, width == 1);
	put_place(g, src, p);
}

static void gen_atomic(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_SIZE(insn->code) == INSN_DW;
	struct place p = place_atomic(g, insn->dst, insn->off, wide ? 8 : 4);
	u8 src = operand(g, insn->src, p.index == R10 ? R11 : R10);

	if (insn->imm != INSN_XCHG)	/* which locks by itself */
		put(g, 0xf0);
	switch (insn->imm) {
	case INSN_ADD:
		return op_place(g, wide, ADD, src, p);
	case INSN_AND:
		return op_place(g, wide, AND, src, p);
	case INSN_OR:
		return op_place(g, wide, OR, src, p);
	case INSN_XOR:
		return op_place(g, wide, XOR, src, p);
	case INSN_ADD | INSN_FETCH:
		op_place(g, wide, 0x0fc1, src, p);
		return forget_reg(g, insn->src);
	case INSN_XCHG:
		op_place(g, wide, 0x87, src, p);
		return forget_reg(g, insn->src);
	default:
		op_place(g, wide, 0x0fb1, src, p);
		if (!wide)
			mov(g, false, RAX, RAX);
		return forget_reg(g, 0);
	}
}

/* -- Control ------------------------------------------------------------------ */

/* Wherever fuel.c says so, which has the proof. */
static void charge(struct gen *g, u32 fuel)
{
	u32 enough;

	if (!fuel)
		return;
	forget_scratch(g);
	op_place(g, true, 0x81, IMM_OF(SUB), in_run(MACHINE_AT_FUEL));
	put32(g, fuel);
	enough = hop(g, JNS);
	mov_imm32(g, R11, g->pc);
	call_stub(g, confined_poll);
	land(g, enough);
}

static void gen_jump(struct gen *g, const struct image_insn *insn)
{
	static const u8 ops[16] = {
		[INSN_JEQ >> 4] = JE, [INSN_JNE >> 4] = JNE, [INSN_JSET >> 4] = JNE,
		[INSN_JGT >> 4] = JA, [INSN_JGE >> 4] = JAE,
		[INSN_JLT >> 4] = JB, [INSN_JLE >> 4] = JBE,
		[INSN_JSGT >> 4] = JG, [INSN_JSGE >> 4] = JGE,
		[INSN_JSLT >> 4] = JL, [INSN_JSLE >> 4] = JLE,
	};
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;
	u32 target = g->pc + 1 + insn_jump_offset(insn);
	u8 op = INSN_OP(insn->code), dst, src;

	if (op == INSN_JA) {
		jump_insn(g, 0xeb, target);
		return forget(g);
	}
	dst = operand(g, insn->dst, R11);
	if (insn->code & INSN_X) {
		src = operand(g, insn->src, R11);
		op_reg(g, wide, op == INSN_JSET ? TEST : CMP, src, dst);
	} else if (op == INSN_JSET) {
		src = scratch(g, dst);
		load_imm(g, wide, src, insn->imm);
		op_reg(g, wide, TEST, src, dst);
	} else if (!insn->imm) {
		op_reg(g, wide, TEST, dst, dst);
	} else {
		op_constant(g, wide, CMP, dst, insn->imm);
	}
	jump_insn(g, ops[op >> 4], target);
}

static u8 saves(const struct gen *g)
{
	return g->checked->traits[g->func] & TRAIT_SAVES;
}

/* Functions that are over soon, in the room that is left for them. */
static bool needs_room(const struct gen *g)
{
	return g->checked->traits[g->func] & (TRAIT_CALLS | TRAIT_FRAME);
}

static void move_frame(struct gen *g, u8 op)
{
	op_imm(g, false, op, FRAME, frame_size(g));
}

static void mask_frame(struct gen *g)
{
	op_reg(g, false, 0x81, IMM_OF(AND), FRAME);
	put32(g, g->mask);
}

static void fault_unless(struct gen *g, u8 op)
{
	u32 fine = hop(g, op);

	mov_imm32(g, R11, g->pc);
	call_stub(g, confined_fault_stack);
	land(g, fine);
}

/*
 * Proof for frames: rbp was less than the arena's size.  If the processor runs on
 * where it does not fit, or comes here or to function_end() by a return that it
 * guessed wrong, the mask still holds.
 */
static void function_begin(struct gen *g)
{
	unsigned int i;

	charge(g, g->checked->charges[g->checked->image->ninsns + g->func]);
	if (needs_room(g)) {
		op_place(g, true, CMP | 2, RSP, in_run(MACHINE_AT_NATIVE));
		fault_unless(g, JAE);
	}
	if (frame_size(g)) {
		move_frame(g, SUB);
		op_place(g, false, CMP | 2, FRAME, in_run(MACHINE_AT_STACK));
		fault_unless(g, JGE);
		mask_frame(g);
	}
	for (i = 0; i < 4; i++)
		if (saves(g) & 1 << i)
			push(g, machine[6 + i]);
}

static void function_end(struct gen *g)
{
	int i;

	for (i = 3; i >= 0; i--)
		if (saves(g) & 1 << i)
			pop(g, machine[6 + i]);
	if (frame_size(g)) {
		move_frame(g, ADD);
		mask_frame(g);
	}
	put_return(g);
	forget(g);
}

/*
 * As confined_gate, with nothing in between.  Proof: C keeps rbx, rbp and r12 to
 * r15; r9 is on the stack, above the gate's arguments, of which there is one there if
 * it has six and none else; what else it may have written becomes 0, but for r10 and
 * r11, which are written before they are read.
 */
static void gen_gate(struct gen *g, u32 nr)
{
	static const u8 cleared[] = { RDI, RSI, RDX, RCX, R8 };
	struct jit_gate gate = g->jit->gate(nr);
	unsigned int i;

	push(g, R9);
	if (gate.args > 5)
		push(g, RAX);
	if (g->jit->barrier)
		call_stub(g, confined_barrier);
	op_place(g, false, 0xc7, 0, in_run(MACHINE_AT_PC));
	put32(g, g->pc);
	op_place(g, true, LOAD, R9, in_run(MACHINE_AT_RUN));
	leap(g, 0xe8, gate.address);
	if (gate.args > 5)
		pop(g, RCX);
	pop(g, R9);
	for (i = 0; i < sizeof(cleared); i++)
		op_reg(g, false, XOR, cleared[i], cleared[i]);
}

/* Proof: a function's start, the dispatcher, a stub or a gate; all return after it. */
static void gen_call(struct gen *g, const struct image_insn *insn)
{
	forget(g);
	if (insn->code & INSN_X) {
		mov(g, true, R10, operand(g, insn->dst, R10));
		mov_imm32(g, R11, g->pc);
		return leap(g, 0xe8, exec_at(g, g->dispatch));
	}
	if (insn->src == INSN_LOCAL)
		return leap(g, 0xe8, entry_of(g, image_func_at(g->checked, g->pc + 1 +
								insn->imm)));

	if (insn->imm >= IMAGE_SYSCALL && g->jit->gate)
		return gen_gate(g, insn->imm - IMAGE_SYSCALL);
	mov_imm32(g, R11, g->pc);
	switch (insn->imm) {
	case IMAGE_CALL_TRY:
		return leap(g, 0xe8, exec_at(g, g->try));
	case IMAGE_CALL_THROW:
		return call_stub(g, confined_throw);
	case IMAGE_CALL_ABORT:
		return call_stub(g, confined_abort);
	}
	mov_imm32(g, R10, insn->imm);
	call_stub(g, confined_gate);
}

/* -- Calls by number ---------------------------------------------------------- */

/* Jumps to the function that table[r10] names, @from <= r10 < @to. */
static void put_branches(struct gen *g, u32 from, u32 to)
{
	u32 middle = from + (to - from) / 2, hole;

	if (to - from == 1)
		return leap(g, 0xe9, entry_of(g, g->checked->table[from]));
	op_reg(g, false, 0x81, IMM_OF(CMP), R10);
	put32(g, middle);
	put(g, 0x0f);
	put(g, JAE + 0x10);
	put32(g, 0);
	hole = g->at;
	put_branches(g, from, middle);
	if (g->jit->code && g->at <= g->jit->size) {
		u32 distance = g->at - hole;

		memcpy(g->jit->code + hole - 4, &distance, 4);
	}
	put_branches(g, middle, to);
}

/*
 * A search by direct jumps, so that there is no indirect one whose target could
 * be predicted wrongly, or be taught to predictions of the kernel's.  A wrong
 * guess here leads to another function's start.
 */
static void put_dispatch(struct gen *g)
{
	u32 n = g->checked->image->ntable, in_range;

	g->dispatch = g->at;
	if (n > 1) {
		/* 1 <= r10 < n, and 0 becomes the largest. */
		op_place(g, true, LEA, R10, (struct place){ R10, NONE, -1 });
		op_imm(g, true, CMP, R10, n - 1);
		op_place(g, true, LEA, R10, (struct place){ R10, NONE, 1 });
		in_range = hop(g, JB);
		jump_stub(g, confined_fault_function);
		land(g, in_range);
		put_branches(g, 1, n);
	} else {
		jump_stub(g, confined_fault_function);
	}
}

/* IMAGE_CALL_TRY; confined_throw takes off what this puts on the stack. */
static void put_try(struct gen *g)
{
	static const u8 saved[] = { RBP, RBX, R13, R14, R15 };
	unsigned int i;

	g->try = g->at;
	for (i = 0; i < sizeof(saved); i++)
		push(g, saved[i]);
	op_place(g, false, 0xff, 6, in_run(MACHINE_AT_TRY));
	op_place(g, true, MOV, RSP, in_run(MACHINE_AT_TRY));
	mov(g, true, R10, RDI);
	mov(g, true, RDI, RSI);
	leap(g, 0xe8, exec_at(g, g->dispatch));
	op_place(g, false, 0x8f, 0, in_run(MACHINE_AT_TRY));
	op_imm(g, true, ADD, RSP, 8 * sizeof(saved));
	put_return(g);
}

/* -- The image ----------------------------------------------------------------- */

static void put_insn(struct gen *g, const struct image_insn *insn)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		return gen_alu(g, insn);
	case INSN_LD:
		return gen_imm64(g, insn);
	case INSN_LDX:
		return gen_load(g, insn);
	case INSN_ST:
		return gen_store(g, insn);
	case INSN_STX:
		if (INSN_MODE(insn->code) == INSN_ATOMIC)
			return gen_atomic(g, insn);
		return gen_store(g, insn);
	}
	if (insn->code == (INSN_JMP | INSN_EXIT))
		return function_end(g);
	if (insn_is_jump(insn))
		return gen_jump(g, insn);
	gen_call(g, insn);
}

static void gen_insn(struct gen *g, const struct image_insn *insn)
{
	bool late = image_calls_deep(g->checked, g->pc);
	u32 fuel = g->checked->charges[g->pc];

	charge(g, late ? 0 : fuel);
	put_insn(g, insn);
	charge(g, late ? fuel : 0);
}

static void put_entry(struct gen *g)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned int i;

	for (i = 0; i < sizeof(endbr64); i++)
		put(g, endbr64[i]);
	/* It came by rax, which r0 is not to tell. */
	op_reg(g, false, XOR, RAX, RAX);
	leap(g, 0xe9, entry_of(g, 0));
}

static void gen_func(struct gen *g)
{
	const struct checked *checked = g->checked;
	u32 end = image_func_end(checked, g->func);

	g->pc = checked->funcs[g->func].start;
	g->jit->offsets[checked->image->ninsns + g->func] = g->at;
	function_begin(g);
	forget(g);
	for (; g->pc < end; g->pc++) {
		u8 marks = checked->marks[g->pc];

		image_pause(g->pc);
		if (marks & MARK_TARGET)
			forget(g);
		g->jit->offsets[g->pc] = g->at;
		if (!(marks & MARK_SECOND))
			gen_insn(g, &checked->insns[g->pc]);
	}
}

int jit_generate(struct jit *jit)
{
	const struct image_header *im = jit->checked->image;
	struct gen g = {
		.jit = jit, .checked = jit->checked,
		.mask = (1U << im->arena_shift) - 1,
	};

	put_entry(&g);
	put_dispatch(&g);
	put_try(&g);
	for (; g.func < im->nfuncs; g.func++)
		gen_func(&g);
	jit->dispatch = g.dispatch;
	jit->try = g.try;
	if (!jit->code)
		jit->size = g.at;
	return g.at == jit->size ? 0 : -EFBIG;
}
