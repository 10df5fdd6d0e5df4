// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See jit.h, and the invariant at the top of check.c; machine.h has the registers.
 *
 * Each instruction becomes the same few machine instructions wherever it stands,
 * but where several become less, on a straight line: a masked address stays in r10 or
 * r11 until the register that it was made from is written, or is masked in that register
 * itself, where nothing else is read of it (may_spoil()); and rows of instructions
 * become one that the machine has (fuse()).
 *
 * Backward jumps are as short as they can be, all others have 32 bits: so a first
 * pass finds out where everything lies.  It writes the code as well, but for distances to
 * what comes later or is elsewhere (struct jit_fixup), and those are all that is left to
 * be written then.  Only where there is no room for that a second pass writes everything.
 */
#include "../../jit.h"
#include "../../machine.h"

/* stubs.S */
extern const u8 confined_poll[], confined_gate[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_beyond[], confined_fault_stack[],
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
	u8 *code;		/* where to, if not NULL: @room bytes */
	u32 room;
	bool drafts;
	const struct checked *checked;
	u32 at;			/* bytes so far */
	u32 pc;
	u32 func;
	u32 dispatch, try;	/* where these routines lie */
	u32 nlabels, labelled;	/* and where the last one is */
	u32 label_room;
	u32 numbers;		/* what calls by number call */
	u32 mask;		/* the arena's size less 1 */
	u8 masked[2];		/* r10, r11: made from which register, or NONE */
	u8 turn;		/* which of them goes next */
	u16 spoilt;		/* the program's registers that have been masked themselves */
	u32 flags_at;		/* here the flags tell whether a register is 0: */
	u8 flags_of;
	bool flags_wide;
	s64 known[INSN_R10];	/* offset in the arena that a register has */
	u8 bits[INSN_R10];	/* of a register, that may be set: the lowest so many */
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
	if (g->at < g->room)
		g->code[g->at] = byte;
	g->at++;
}

static void put32(struct gen *g, u32 v)
{
	if (g->at + sizeof(v) <= g->room)
		memcpy(g->code + g->at, &v, sizeof(v));
	g->at += sizeof(v);
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

/* The index counts 1 << @shift times. */
static void put_scaled(struct gen *g, u8 reg, struct place p, u8 shift)
{
	u8 mod = is_s8(p.disp) ? 0x40 : 0x80;

	if (p.index == NONE && (p.base & 7) != RSP) {
		put(g, mod | (reg & 7) << 3 | (p.base & 7));
	} else {
		put(g, mod | (reg & 7) << 3 | 4);
		put(g, shift << 6 | (p.index == NONE ? RSP : p.index & 7) << 3 | (p.base & 7));
	}
	if (mod == 0x40)
		put(g, p.disp);
	else
		put32(g, p.disp);
}

static void put_place(struct gen *g, u8 reg, struct place p)
{
	put_scaled(g, reg, p, 0);
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

/*
 * Tells the verifier what holds here: @known, which all ways here have to keep.  Replaces
 * the label of an instruction before that generated no code: less is ahead.
 */
static void label(struct gen *g, struct verify_state known)
{
	known.masked |= V_BIT(FRAME);
	known.by4 |= V_BIT(FRAME);
	known.by8 |= V_BIT(FRAME);
	if (!g->nlabels || g->labelled != g->at)
		g->nlabels++;
	g->labelled = g->at;
	if (g->nlabels <= g->label_room)
		g->jit->labels[g->nlabels - 1] = (struct verify_label){ g->at, known };
}

/* A short jump forward, to where land() is called. */
static u32 hop(struct gen *g, u8 op)
{
	put(g, op);
	put(g, 0);
	return g->at;
}

static void land(struct gen *g, u32 hop)
{
	if (g->at <= g->room)
		g->code[hop - 1] = g->at - hop;
}

/*
 * Addresses in a draft: of a place in it, and of what begins at an index of jit.offsets.
 * No processor has addresses like these.
 */
#define DRAFT_PLACE	0x4000000000000000ULL
#define DRAFT_INDEX	0x4100000000000000ULL
#define DRAFT_KIND(to)	((to) & 0xff00000000000000ULL)

static void leave_to_fix(struct gen *g, u64 to)
{
	struct jit_draft *draft = &g->jit->draft;
	struct jit_fixup fixup = { g->at, JIT_OUTSIDE, to };

	if (DRAFT_KIND(to) == DRAFT_PLACE)
		return;
	if (DRAFT_KIND(to) == DRAFT_INDEX)
		fixup.index = to - DRAFT_INDEX;
	if (draft->nfixups < draft->fixup_room)
		draft->fixups[draft->nfixups] = fixup;
	draft->nfixups++;
}

static u64 exec_at(struct gen *g, u32 offset)
{
	return (g->drafts ? DRAFT_PLACE : g->jit->exec) + offset;
}

/* The code of an instruction, or where calls of function @i - ninsns go. */
static u64 exec_of(struct gen *g, u32 i)
{
	return g->drafts ? DRAFT_INDEX + i : exec_at(g, g->jit->offsets[i]);
}

static void leap(struct gen *g, u8 op, u64 to)
{
	put(g, op);
	if (g->drafts)
		leave_to_fix(g, to);
	put32(g, to - exec_at(g, g->at + 4));
}

static void call_stub(struct gen *g, const u8 *stub)
{
	leap(g, 0xe8, (u64)(unsigned long)stub);
}

/* Processors that run on after a jump come to int3. */
static void jump(struct gen *g, u64 to)
{
	leap(g, 0xe9, to);
	put(g, 0xcc);
}

static void jump_stub(struct gen *g, const u8 *stub)
{
	jump(g, (u64)(unsigned long)stub);
}

/* The instruction's number, for stubs. */
static void put_number(struct gen *g)
{
	mov_imm32(g, R11, image_first_insn(g->checked) + g->pc);
}

/* Where calls of function @func go; its first instruction is after that. */
static u64 entry_of(struct gen *g, u32 func)
{
	return exec_of(g, g->checked->image->ninsns + func);
}

static u64 in_base(struct gen *g, u32 nr)
{
	return g->jit->base->exec + g->jit->base->labels[nr].at;
}

/* Of a function that the table names: the base's come first. */
static u64 entry_of_any(struct gen *g, u32 func)
{
	u32 first = image_first_func(g->checked);

	return func < first ? in_base(g, JIT_BASE_FUNCTION(func)) : entry_of(g, func - first);
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
	s32 distance = g->jit->offsets[target] - (g->at + 2);

	if (target <= g->pc && is_s8(distance)) {
		put(g, op);
		put(g, distance);
		if (op == 0xeb)
			put(g, 0xcc);
	} else if (op == 0xeb) {
		jump(g, exec_of(g, target));
	} else {
		put(g, 0x0f);
		leap(g, op + 0x10, exec_of(g, target));
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
	g->spoilt = 0;
	g->flags_at = 0;
	for (i = 0; i < INSN_R10; i++) {
		g->known[i] = UNKNOWN;
		g->bits[i] = 64;
	}
}

/* @reg of the program has been written. */
static void forget_reg(struct gen *g, u8 reg)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			g->masked[i] = NONE;
	g->spoilt &= ~(1 << reg);
	g->known[reg] = UNKNOWN;
	g->bits[reg] = 64;
}

/* Machine registers have been borrowed: the verifier does not know what came back. */
static void forget_borrowed(struct gen *g)
{
	g->spoilt &= ~(1 << 0 | 1 << 3 | 1 << 4);	/* rax, rdx, rcx */
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
 * program's choice, for a jump into the middle of it.
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

/* May any register of @set be read after the instruction at @pc? */
static bool is_live(const struct gen *g, u32 pc, u16 set)
{
	return g->jit->live[pc] & set;
}

/* The register that @insn, no atomic operation, has the address in; or NONE. */
static u8 base_of(const struct image_insn *insn)
{
	u8 mode = INSN_MODE(insn->code);

	switch (INSN_CLASS(insn->code)) {
	case INSN_LDX:
		return insn->src;
	case INSN_ST: case INSN_STX:
		return mode == INSN_ATOMIC ? NONE : insn->dst;
	}
	return NONE;
}

/* How far the straight line is looked at. */
#define SPOIL_MOST	16

/*
 * Is @reg, from this instruction on, read as an address only, until it is written or
 * read no more?  What is said about addresses out of the arena wants it whole.
 */
static bool may_spoil(const struct gen *g, u8 reg)
{
	u32 end = image_func_end(g->checked, g->func), pc = g->pc;
	u16 bit = 1 << reg;

	if (g->checked->image->flags & IMAGE_CHECKED)
		return false;
	for (; pc < end && pc < g->pc + SPOIL_MOST; pc++) {
		const struct image_insn *insn = &g->checked->insns[pc];
		struct insn_effect effect = insn_effect(insn);
		u8 base = base_of(insn);

		if (g->checked->marks[pc] & MARK_SECOND)
			continue;
		if (pc > g->pc && g->checked->marks[pc] & MARK_TARGET)
			return false;
		if (effect.reads & bit &&
		    (base != reg || (INSN_CLASS(insn->code) == INSN_STX && insn->src == reg)))
			return false;
		if (effect.writes & bit || !is_live(g, pc, bit))
			return true;
		if (INSN_CLASS(insn->code) == INSN_JMP || INSN_CLASS(insn->code) == INSN_JMP32)
			return false;
	}
	return false;
}

static void mask(struct gen *g, u8 reg)
{
	op_reg(g, false, 0x81, IMM_OF(AND), reg);
	put32(g, g->mask);
}

/*
 * Proof for all that follows: r12 is the arena's address.  What is added to it is
 * rbp, a register that has been masked or nothing, and a constant.  rbp is less than the
 * arena's size (function_begin(), function_end()); so are the others, by the AND below,
 * which nothing leaves out: neither a branch nor a load comes between it and the
 * access.  The constant is at least -2^15, for r10 by check_place(), and at most
 * 2^15 + 2^15 for frames, whose end is inside the arena again.
 */
static u8 mask_reg(struct gen *g, u8 reg)
{
	unsigned int i;
	u8 to;

	if (g->spoilt & 1 << reg)
		return machine[reg];
	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			return R10 + i;
	if (may_spoil(g, reg)) {
		g->spoilt |= 1 << reg;
		mask(g, machine[reg]);
		return machine[reg];
	}
	if (g->masked[g->turn] != NONE && g->masked[!g->turn] == NONE)
		g->turn = !g->turn;
	to = R10 + g->turn;
	g->masked[g->turn] = reg;
	g->turn = !g->turn;
	mov(g, false, to, machine[reg]);
	mask(g, to);
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
	put_number(g);
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
	forget_borrowed(g);
	mov(g, true, R10, RCX);
	mov(g, true, RCX, src);
	op_reg(g, wide, 0xd3, ext, dst == RCX ? R10 : dst);
	mov(g, true, RCX, R10);
}

/*
 * rax and rdx are set for the instruction; r11 is the divisor.  Neither a
 * divisor of 0 nor the one quotient that does not fit reaches it.
 */
static void put_division(struct gen *g, bool wide, bool is_signed, bool mod)
{
	u32 by_zero, by_minus_1 = 0, done, done_zero = 0;

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
	if (is_signed) {
		done_zero = hop(g, 0xeb);
		land(g, by_minus_1);
		if (mod)
			op_reg(g, false, XOR, RDX, RDX);
		else
			op_reg(g, wide, 0xf7, 3, RAX);
		land(g, done_zero);
	}
	land(g, done);
}

static void gen_division(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	bool mod = INSN_OP(insn->code) == INSN_MOD;

	forget_scratch(g);
	forget_borrowed(g);
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
		if (!swap)
			return op_reg(g, false, 0x0fb7, dst, dst);
		put_op(g, false, 0x0fc8 | (dst & 7), 0, 0, dst, false);
		op_reg(g, false, 0xc1, 5, dst);
		put(g, 16);
	} else if (swap) {
		put_op(g, insn->imm == 64, 0x0fc8 | (dst & 7), 0, 0, dst, false);
	} else if (insn->imm == 32) {
		mov(g, false, dst, dst);
	}
}

/* For operations that have one instruction with the same operands. */
static const u8 ops[16] = {
	[INSN_ADD >> 4] = ADD, [INSN_SUB >> 4] = SUB,
	[INSN_OR >> 4] = OR, [INSN_AND >> 4] = AND,
	[INSN_XOR >> 4] = XOR,
};

static u32 ones(u8 bits)
{
	return bits < 32 ? (1U << bits) - 1 : ~0U;
}

/* Compilers clear what a load has cleared. */
static bool clears_nothing(const struct gen *g, const struct image_insn *insn)
{
	return INSN_OP(insn->code) == INSN_AND && !(insn->code & INSN_X) &&
	       g->bits[insn->dst] < 32 && !(ones(g->bits[insn->dst]) & ~insn->imm);
}

/* How many bits may be set of what the instruction makes. */
static u8 bits_of(const struct gen *g, const struct image_insn *insn)
{
	u8 n;

	if (INSN_OP(insn->code) == INSN_MOV && insn->code & INSN_X && !insn->off &&
	    insn->src != INSN_R10)
		return g->bits[insn->src];
	if (INSN_OP(insn->code) == INSN_AND && !(insn->code & INSN_X))
		for (n = 1; n < 32; n++)
			if (!(insn->imm & ~ones(n)))
				return n < g->bits[insn->dst] ? n : g->bits[insn->dst];
	return 64;
}

/* Proof: writes dst, which is none of r9, r12, rbp, rsp; and r10 or r11. */
static void gen_alu(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 dst = machine[insn->dst], op = INSN_OP(insn->code), bits = bits_of(g, insn);

	if (clears_nothing(g, insn))
		return;
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
		g->flags_at = g->at;
		g->flags_of = dst;
		g->flags_wide = wide;
	}
	forget_reg(g, insn->dst);
	g->bits[insn->dst] = bits;
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
	g->bits[insn->dst] = sign ? 64 : 8 * insn_width(insn->code);
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
	put_number(g);
	call_stub(g, confined_poll);
	land(g, enough);
}

static u8 saves(const struct gen *g)
{
	return g->checked->traits[g->func] & TRAIT_SAVES;
}

static u8 nr_saved(const struct gen *g)
{
	u8 set = saves(g);

	return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1) + (set >> 3 & 1);
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

	put_number(g);
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
}

static const u8 jumps[16] = {
	[INSN_JEQ >> 4] = JE, [INSN_JNE >> 4] = JNE, [INSN_JSET >> 4] = JNE,
	[INSN_JGT >> 4] = JA, [INSN_JGE >> 4] = JAE,
	[INSN_JLT >> 4] = JB, [INSN_JLE >> 4] = JBE,
	[INSN_JSGT >> 4] = JG, [INSN_JSGE >> 4] = JGE,
	[INSN_JSLT >> 4] = JL, [INSN_JSLE >> 4] = JLE,
};

static void gen_jump(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;
	u32 target = g->pc + 1 + insn_jump_offset(insn);
	u8 op = INSN_OP(insn->code), dst, src;

	if (op == INSN_JA && g->checked->insns[target].code == (INSN_JMP | INSN_EXIT))
		return function_end(g);
	if (op == INSN_JA)
		return jump_insn(g, 0xeb, target);
	dst = operand(g, insn->dst, R11);
	if (insn->code & INSN_X) {
		src = operand(g, insn->src, R11);
		op_reg(g, wide, op == INSN_JSET ? TEST : CMP, src, dst);
	} else if (op == INSN_JSET) {
		src = scratch(g, dst);
		load_imm(g, wide, src, insn->imm);
		op_reg(g, wide, TEST, src, dst);
	} else if (!insn->imm && (op == INSN_JEQ || op == INSN_JNE) && g->flags_at == g->at &&
		   g->flags_of == dst && g->flags_wide == wide) {
		;	/* the instruction before has told */
	} else if (!insn->imm) {
		op_reg(g, wide, TEST, dst, dst);
	} else {
		op_constant(g, wide, CMP, dst, insn->imm);
	}
	jump_insn(g, jumps[op >> 4], target);
}

/*
 * As confined_gate, with nothing in between.  Proof: C keeps rbx, rbp and r12 to
 * r15; r9 is on the stack, above the gate's argument there, which only gates of six
 * have; all other registers that C may have written become 0, except r10 and r11, which
 * are written before they are read.
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
	put32(g, image_first_insn(g->checked) + g->pc);
	op_place(g, true, LOAD, R9, in_run(MACHINE_AT_RUN));
	leap(g, 0xe8, gate.address);
	if (gate.args > 5)
		pop(g, RCX);
	pop(g, R9);
	for (i = 0; i < sizeof(cleared); i++)
		op_reg(g, false, XOR, cleared[i], cleared[i]);
}

/*
 * Proof: a function's start, here or in the base, what looks up numbers, a stub or a
 * gate; all return after it.
 */
static void gen_call(struct gen *g, const struct image_insn *insn)
{
	forget(g);
	if (insn->code & INSN_X) {
		mov(g, true, R10, operand(g, insn->dst, R10));
		put_number(g);
		return leap(g, 0xe8, exec_at(g, g->numbers));
	}
	if (insn->src == INSN_LOCAL)
		return leap(g, 0xe8, entry_of(g, image_func_at(g->checked, g->pc + 1 +
								insn->imm)));
	if (insn->src == INSN_BASE)
		return leap(g, 0xe8, in_base(g, JIT_BASE_FUNCTION(insn->imm)));

	if (insn->imm >= IMAGE_SYSCALL && insn->imm < IMAGE_FUNCTION && g->jit->gate)
		return gen_gate(g, insn->imm - IMAGE_SYSCALL);
	put_number(g);
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

/*
 * The fuel that callers of these routines pay for them, in bytes of code: for looking up
 * numbers, in an extension perhaps by its base and back; and for IMAGE_CALL_TRY.
 */
#define DISPATCH_CREDIT	(V_BEYOND_CREDIT + 64)
#define NUMBERS_CREDIT	(DISPATCH_CREDIT + 64)
#define TRY_CREDIT	(NUMBERS_CREDIT + 64)

/*
 * Calls by number in an extension call this: it leads to the base's dispatcher, if the
 * base's table has the number.  That leads numbers that it does not have, and so 0, to
 * the extension's own dispatcher, which comes next; neither leads back.
 */
static void put_numbers(struct gen *g)
{
	u32 own;

	label(g, (struct verify_state){ .calls = true, .credit = NUMBERS_CREDIT });
	op_reg(g, true, 0x81, IMM_OF(CMP), R10);
	put32(g, g->checked->base->ntable);
	own = hop(g, JAE);
	jump(g, in_base(g, JIT_BASE_NUMBERS));
	land(g, own);
}

/* Jumps to the function that table[r10] names, @from <= r10 < @to. */
static void put_branches(struct gen *g, u32 from, u32 to, u32 credit)
{
	u32 middle = from + (to - from) / 2, hole, begin = g->at;
	u32 first = image_first_entry(g->checked);

	if (to - from == 1)
		return jump(g, entry_of_any(g, g->checked->table[from - first]));
	op_reg(g, false, 0x81, IMM_OF(CMP), R10);
	put32(g, middle);
	put(g, 0x0f);
	put(g, JAE + 0x10);
	put32(g, 0);
	hole = g->at;
	credit -= hole - begin;
	put_branches(g, from, middle, credit);
	if (g->at <= g->room) {
		u32 distance = g->at - hole;

		memcpy(g->code + hole - 4, &distance, 4);
	}
	label(g, (struct verify_state){ .calls = true, .credit = credit });
	put_branches(g, middle, to, credit);
}

/*
 * A search by direct jumps, so that there is no indirect one whose target could
 * be predicted wrongly, or be taught to predictions of the kernel's.  A wrong
 * guess here leads to another function's start.
 */
static void put_dispatch(struct gen *g)
{
	const struct checked *checked = g->checked;
	const u8 *beyond = checked->base ? confined_fault_function : confined_beyond;
	s32 first = image_first_entry(checked), from = first ?: 1;
	s32 to = first + checked->image->ntable;
	u32 in_range, credit = checked->base ? V_BEYOND_CREDIT : DISPATCH_CREDIT;

	g->dispatch = g->at;
	label(g, (struct verify_state){ .calls = true, .credit = credit });
	if (to > from) {
		/* from <= r10 < to; what is below, as 0 is, becomes the largest. */
		op_place(g, true, LEA, R10, (struct place){ R10, NONE, -from });
		op_imm(g, true, CMP, R10, to - from);
		op_place(g, true, LEA, R10, (struct place){ R10, NONE, from });
		in_range = hop(g, JB);
		jump_stub(g, beyond);
		land(g, in_range);
		credit -= g->at - g->dispatch;
		label(g, (struct verify_state){ .calls = true, .credit = credit });
		put_branches(g, from, to, credit);
	} else {
		jump_stub(g, beyond);
	}
}

/* IMAGE_CALL_TRY; confined_throw takes off what this puts on the stack. */
static void put_try(struct gen *g)
{
	static const u8 saved[] = { RBP, RBX, R13, R14, R15 };
	unsigned int i;

	g->try = g->at;
	label(g, (struct verify_state){ .calls = true, .room = 1, .credit = TRY_CREDIT,
					.unset = V_BIT(R10) });
	for (i = 0; i < sizeof(saved); i++)
		push(g, saved[i]);
	op_place(g, false, 0xff, 6, in_run(MACHINE_AT_TRY));
	op_place(g, true, MOV, RSP, in_run(MACHINE_AT_TRY));
	mov(g, true, R10, RDI);
	mov(g, true, RDI, RSI);
	leap(g, 0xe8, exec_at(g, g->numbers));
	op_place(g, false, 0x8f, 0, in_run(MACHINE_AT_TRY));
	op_imm(g, true, ADD, RSP, 8 * sizeof(saved));
	put_return(g);
}

/* -- Rows of instructions that are one ------------------------------------------- */

/* The instruction @n after this one, if that follows on a straight line and pays nothing. */
static const struct image_insn *peek(const struct gen *g, u32 n)
{
	static const struct image_insn none;
	u32 pc = g->pc + n;

	if (pc >= image_func_end(g->checked, g->func) || g->checked->marks[pc] & MARK_SECOND ||
	    (n && (g->checked->marks[pc] & MARK_TARGET || g->checked->charges[pc])))
		return &none;
	return &g->checked->insns[pc];
}

/* Is it that operation of two registers, none of which is r10? */
static bool is_op(const struct image_insn *insn, u8 class, u8 op)
{
	return insn->code == (class | INSN_X | op) && !insn->off && insn->src != INSN_R10;
}

static bool is_shift(const struct image_insn *insn, u8 class, u8 op, u8 reg)
{
	return insn->code == (class | op) && insn->dst == reg;
}

struct sum {
	struct place place;
	u8 shift, to;
};

/* r = a; r += b, or a constant. */
static u32 parse_sum(const struct gen *g, struct sum *sum)
{
	struct place *p = &sum->place;
	const struct image_insn *move = peek(g, 0), *add = peek(g, 1);
	u8 class = INSN_CLASS(move->code);

	if ((class != INSN_ALU && class != INSN_ALU64) || !is_op(move, class, INSN_MOV) ||
	    add->dst != move->dst)
		return 0;
	*sum = (struct sum){ { machine[move->src], NONE, 0 }, 0, move->dst };
	if (add->code == (class | INSN_ADD) && is_plain(g, add->imm))
		p->disp = add->imm;
	else if (is_op(add, class, INSN_ADD))
		p->index = machine[add->src == move->dst ? move->src : add->src];
	else
		return 0;
	return 2;
}

/* r += b, or a constant; to = r, which is read no more. */
static u32 parse_moved(const struct gen *g, struct sum *sum)
{
	struct place *p = &sum->place;
	const struct image_insn *add = peek(g, 0), *move = peek(g, 1);
	u8 class = INSN_CLASS(add->code);

	if (!is_op(move, class, INSN_MOV) || move->src != add->dst || move->dst == add->dst ||
	    is_live(g, g->pc + 1, 1 << add->dst))
		return 0;
	*sum = (struct sum){ { machine[add->dst], NONE, 0 }, 0, move->dst };
	if (add->code == (class | INSN_ADD) && is_plain(g, add->imm))
		p->disp = add->imm;
	else if (is_op(add, class, INSN_ADD))
		p->index = machine[add->src];
	else
		return 0;
	return 2;
}

/* i = a; i <<= 1 to 3; then i += b, or r = b; r += i where i is read no more. */
static u32 parse_scaled(const struct gen *g, struct sum *sum)
{
	const struct image_insn *first = peek(g, 0), *shift = first, *next;
	u32 n = 1;

	if (is_op(first, INSN_ALU64, INSN_MOV)) {
		shift = peek(g, 1);
		n = 2;
	}
	if (!is_shift(shift, INSN_ALU64, INSN_LSH, first->dst) || shift->imm < 1 ||
	    shift->imm > 3)
		return 0;
	next = peek(g, n);
	if (next->src == first->dst || next->src >= INSN_R10)
		return 0;
	*sum = (struct sum){
		{ machine[next->src], machine[n == 2 ? first->src : first->dst], 0 },
		shift->imm, next->dst
	};
	if (is_op(next, INSN_ALU64, INSN_ADD))
		return next->dst == first->dst ? n + 1 : 0;
	if (!is_op(next, INSN_ALU64, INSN_MOV) || next->dst == first->dst)
		return 0;
	next = peek(g, n + 1);
	if (!is_op(next, INSN_ALU64, INSN_ADD) || next->dst != sum->to || next->src != first->dst ||
	    is_live(g, g->pc + n + 1, 1 << first->dst))
		return 0;
	return n + 2;
}

static u32 fuse_sum(struct gen *g)
{
	bool wide = INSN_CLASS(peek(g, 0)->code) == INSN_ALU64;
	struct sum sum;
	u32 n = parse_scaled(g, &sum) ?: parse_sum(g, &sum) ?: parse_moved(g, &sum);
	u8 to, index;

	if (!n)
		return 0;
	to = machine[sum.to];
	index = sum.place.index == NONE ? 0 : sum.place.index;
	put_op(g, wide, LEA, to, index, sum.place.base, false);
	put_scaled(g, to, sum.place, sum.shift);
	forget_reg(g, peek(g, 0)->dst);
	forget_reg(g, sum.to);
	return n;
}

/*
 * t = s; t <<= n; then s, or a copy of it, >>= what is left of its bits; and both are
 * joined in one, while the other is read no more.
 */
static u32 fuse_rotation(struct gen *g)
{
	const struct image_insn *move = peek(g, 0), *shift = peek(g, 1), *back = peek(g, 2), *join;
	u8 class = INSN_CLASS(move->code), t = move->dst, s = move->src, u = s, other;
	bool wide = class == INSN_ALU64;
	u32 n = 3;

	if ((class != INSN_ALU && !wide) || !is_op(move, class, INSN_MOV) || t == s)
		return 0;
	if (is_op(back, class, INSN_MOV) && back->src == s && back->dst != t) {
		u = back->dst;
		back = peek(g, n++);
	}
	join = peek(g, n);
	if (!(is_shift(shift, class, INSN_LSH, t) && is_shift(back, class, INSN_RSH, u)) &&
	    !(is_shift(shift, class, INSN_RSH, t) && is_shift(back, class, INSN_LSH, u)))
		return 0;
	other = join->dst == t ? u : t;
	if (shift->imm + back->imm != (wide ? 64 : 32) || !is_op(join, class, INSN_OR) ||
	    (join->dst != t && join->dst != u) || join->src != other ||
	    is_live(g, g->pc + n, 1 << other))
		return 0;
	if (join->dst != s)
		mov(g, wide, machine[join->dst], machine[s]);
	op_reg(g, wide, 0xc1, 0, machine[join->dst]);
	put(g, INSN_OP(shift->code) == INSN_LSH ? shift->imm : back->imm);
	forget_reg(g, t);
	forget_reg(g, u);
	return n + 1;
}

/* The loaded value is used once, as an operand.  Returns the operation's code, or 0. */
static u8 operation_on(const struct image_insn *next, u8 loaded, bool wide)
{
	u8 class = wide ? INSN_ALU64 : INSN_ALU, op = INSN_OP(next->code);

	if (ops[op >> 4] && is_op(next, class, op))
		return next->src == loaded && next->dst != loaded ? ops[op >> 4] | 2 : 0;
	class = wide ? INSN_JMP : INSN_JMP32;
	if (next->code != (class | INSN_X | op) || !insn_is_jump(next) || op == INSN_JA ||
	    op == INSN_JSET || next->dst == next->src || next->src == INSN_R10 ||
	    next->dst == INSN_R10)
		return 0;
	return next->src == loaded ? CMP | 2 : next->dst == loaded ? CMP : 0;
}

static u32 fuse_load(struct gen *g)
{
	const struct image_insn *load = peek(g, 0), *next = peek(g, 1);
	bool wide = INSN_SIZE(load->code) == INSN_DW;
	u8 op, other;
	struct place p;

	op = operation_on(next, load->dst, wide);
	if (!op || is_live(g, g->pc + 1, 1 << load->dst))
		return 0;
	other = next->src == load->dst ? next->dst : next->src;
	p = place(g, load->src, load->off, wide ? 8 : 4);
	op_place(g, wide, op, machine[other], p);
	forget_reg(g, load->dst);
	g->pc++;
	if (insn_is_jump(next))
		jump_insn(g, jumps[INSN_OP(next->code) >> 4], g->pc + 1 + insn_jump_offset(next));
	else
		forget_reg(g, next->dst);
	g->pc--;
	return 2;
}

/* An address in the arena that one load or store uses, and nothing else: it is in that one. */
static u32 fuse_address(struct gen *g)
{
	const struct image_insn *address = peek(g, 0), *use = peek(g, 2);
	u8 reg = address->dst;
	bool written = insn_effect(use).writes & 1 << reg;

	if (address->src != INSN_ARENA || base_of(use) != reg ||
	    g->checked->image->flags & IMAGE_CHECKED ||
	    !is_plain(g, (s64)address->imm + use->off))
		return 0;
	if (INSN_CLASS(use->code) == INSN_STX && use->src == reg)
		return 0;
	if (!written && is_live(g, g->pc + 2, 1 << reg))
		return 0;
	g->known[reg] = address->imm;
	g->pc += 2;
	if (INSN_CLASS(use->code) == INSN_LDX)
		gen_load(g, use);
	else
		gen_store(g, use);
	g->pc -= 2;
	if (!written)
		forget_reg(g, reg);
	return 3;
}

/* Makes one instruction of this one and those behind it.  Returns how many, or 0. */
static u32 fuse(struct gen *g)
{
	switch (peek(g, 0)->code) {
	case INSN_ALU | INSN_X | INSN_MOV:
	case INSN_ALU64 | INSN_X | INSN_MOV:
		return fuse_rotation(g) ?: fuse_sum(g);
	case INSN_ALU | INSN_ADD: case INSN_ALU | INSN_X | INSN_ADD:
	case INSN_ALU64 | INSN_ADD: case INSN_ALU64 | INSN_X | INSN_ADD:
	case INSN_ALU64 | INSN_LSH:
		return fuse_sum(g);
	case INSN_LD | INSN_IMM | INSN_DW:
		return fuse_address(g);
	case INSN_LDX | INSN_MEM | INSN_W:
	case INSN_LDX | INSN_MEM | INSN_DW:
		return fuse_load(g);
	}
	return 0;
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
	u32 fuel = g->checked->charges[g->pc], fused;

	charge(g, late ? 0 : fuel);
	fused = fuse(g);
	if (!fused)
		put_insn(g, insn);
	charge(g, late ? fuel : 0);
	/* Nothing leads to the others. */
	while (fused > 1) {
		g->jit->offsets[++g->pc] = g->at;
		fused--;
	}
}

static void put_entry(struct gen *g)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned int i;

	for (i = 0; i < sizeof(endbr64); i++)
		put(g, endbr64[i]);
	/* It came by rax, which r0 is not to tell. */
	op_reg(g, false, XOR, RAX, RAX);
	jump(g, entry_of(g, 0));
}

/*
 * Fuel: half of what is paid is for the code ahead (fuel.c), at most V_FUEL_BYTES / 2
 * for each unit; the rest is for the beginnings of functions and for charging.
 */
static struct verify_state state_at(const struct gen *g, u32 pc)
{
	return (struct verify_state){
		.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,
		.room = needs_room(g) ? V_ROOM_CALLS : 0, .depth = nr_saved(g),
		.credit = g->checked->ahead[pc] * (V_FUEL_BYTES / 2),
	};
}

static struct verify_state state_of_function(const struct gen *g)
{
	return (struct verify_state){
		.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,
	};
}

/* Nothing leads there, unless it is a target as well; but it may be there. */
static bool is_behind_end(const struct gen *g)
{
	const struct image_insn *before = &g->checked->insns[g->pc] - 1;

	return g->pc > g->checked->funcs[g->func].start &&
	       !(g->checked->marks[g->pc - 1] & MARK_SECOND) &&
	       (before->code == (INSN_JMP | INSN_EXIT) ||
		(insn_is_jump(before) && INSN_OP(before->code) == INSN_JA));
}

static void gen_func(struct gen *g)
{
	const struct checked *checked = g->checked;
	u32 end = image_func_end(checked, g->func);

	g->pc = checked->funcs[g->func].start;
	g->jit->offsets[checked->image->ninsns + g->func] = g->at;
	label(g, state_of_function(g));
	function_begin(g);
	forget(g);
	for (; g->pc < end; g->pc++) {
		u8 marks = checked->marks[g->pc];

		image_pause(g->pc);
		g->jit->offsets[g->pc] = g->at;
		if (marks & MARK_TARGET || is_behind_end(g)) {
			forget(g);
			label(g, state_at(g, g->pc));
		}
		if (!(marks & MARK_SECOND))
			gen_insn(g, &checked->insns[g->pc]);
	}
}

static void gen_all(struct gen *g)
{
	if (g->checked->base)
		put_numbers(g);
	else
		put_entry(g);
	g->numbers = g->checked->base ? 0 : g->at;
	put_dispatch(g);
	put_try(g);
	for (; g->func < g->checked->image->nfuncs; g->func++)
		gen_func(g);
}

/* The first pass: the code's size, and the code if there is room. */
static int write_draft(struct jit *jit, struct gen *g)
{
	struct jit_draft *draft = &jit->draft;

	g->drafts = draft->code && draft->fixups && jit->labels;
	if (g->drafts) {
		g->code = draft->code;
		g->room = draft->room;
		g->label_room = draft->label_room;
	}
	gen_all(g);
	jit->numbers = g->numbers;
	jit->beyond = g->dispatch;
	jit->size = g->at;
	jit->nlabels = g->nlabels;
	draft->key = jit->key;
	draft->fits = g->drafts && g->at <= g->room && g->nlabels <= g->label_room &&
		      draft->nfixups <= draft->fixup_room;
	return 0;
}

static int copy_draft(struct jit *jit)
{
	const struct jit_draft *draft = &jit->draft;
	u32 i;

	memcpy(jit->code, draft->code, jit->size);
	for (i = 0; i < draft->nfixups; i++) {
		const struct jit_fixup *fixup = &draft->fixups[i];
		u64 to = fixup->index == JIT_OUTSIDE ? fixup->to :
						       jit->exec + jit->offsets[fixup->index];
		u32 distance = to - (jit->exec + fixup->at + 4);

		image_pause(i);
		memcpy(jit->code + fixup->at, &distance, 4);
	}
	return 0;
}

int jit_generate(struct jit *jit)
{
	struct gen g = {
		.jit = jit, .checked = jit->checked, .code = jit->code,
		.room = jit->code ? jit->size : 0, .label_room = jit->code ? jit->nlabels : 0,
		.mask = (1U << jit->checked->image->arena_shift) - 1,
	};

	if (!jit->code)
		return write_draft(jit, &g);
	if (jit->draft.fits && jit->draft.key == jit->key)
		return copy_draft(jit);
	gen_all(&g);
	return g.at == jit->size && g.nlabels == jit->nlabels ? 0 : -EFBIG;
}
