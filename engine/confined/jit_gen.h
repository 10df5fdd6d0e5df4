/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between the code generator's two halves.  jit.c goes over an image's instructions, knows
 * what registers hold and finds sequences that become one instruction; the architecture's
 * half, arch/x86/jit_x86.c, writes the machine's instructions for what jit.c has found.
 */
#ifndef CONFINED_JIT_GEN_H
#define CONFINED_JIT_GEN_H

#include "jit.h"
#include "machine.h"

/* stubs.S */
extern const u8 confined_poll[], confined_gate[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_beyond[], confined_fault_stack[],
	confined_fault_function[], confined_fault_access[];

#define UNKNOWN	(-1)
#define NONE	0x10		/* no register */

/**
 * struct gen - code that is being generated
 * @code:         where to, if not NULL: @room bytes
 * @drafts:       @code is a draft: distances that are not known yet are fixed up later
 * @at:           bytes so far
 * @pc, @func:    the instruction and the function that are translated
 * @dispatch:     where the routine that looks up numbers of functions lies
 * @try:          where that of IMAGE_CALL_TRY lies
 * @nlabels:      labels so far; @labelled: where the last one is
 * @numbers:      what calls by number call
 * @mask:         the arena's size less 1
 * @masked:       the program's register whose masked value each scratch register of the
 *                architecture holds, or NONE
 * @next_scratch: which of them is used next
 * @in_place:     the program's registers that have been masked themselves
 * @flags_at:     here the processor's flags tell whether @flags_of is 0, as 64 bits if
 *                @flags_wide
 * @known:        offset in the arena that a register has, or UNKNOWN
 * @bits:         of a register, how many of the lowest may be set
 */
struct gen {
	struct jit *jit;
	u8 *code;
	u32 room;
	bool drafts;
	const struct checked *checked;
	u32 at;
	u32 pc;
	u32 func;
	u32 dispatch, try;
	u32 nlabels, labelled;
	u32 label_room;
	u32 numbers;
	u32 mask;
	u8 masked[2];
	u8 next_scratch;
	u16 in_place;
	u32 flags_at;
	u8 flags_of;
	bool flags_wide;
	s64 known[INSN_R10];
	u8 bits[INSN_R10];
};

/* -- jit.c, for the architecture ------------------------------------------------- */

/*
 * Emits a label: tells the verifier the facts @known, which must hold on every path to here.
 * Replaces the label of an earlier instruction that generated no code, whose credit would be
 * larger.
 */
void jit_label(struct gen *g, struct verify_state known);

/* The draft has a distance to @to here, for jit_emit_distance(). */
void jit_add_fixup(struct gen *g, u64 to);

/*
 * May @reg be masked in place: is it only used as an address until it is written or dead?
 * Reports of addresses outside of the arena need the unmasked value.
 */
bool jit_may_mask_in_place(const struct gen *g, u8 reg);

/* -- The architecture, for jit.c -------------------------------------------------- */

/* Writes at @code, which will run at @exec, the distance to @to. */
void jit_emit_distance(u8 *code, u64 exec, u64 to);

/* Where the run begins. */
void jit_emit_entry(struct gen *g);
/* The beginning and the end of a function. */
void jit_emit_prologue(struct gen *g);
void jit_emit_epilogue(struct gen *g);
/* Pays, and calls confined_poll where fuel has run out. */
void jit_emit_charge(struct gen *g, u32 fuel);

/* What each class of instructions becomes; what registers hold then is jit.c's. */
void jit_emit_alu(struct gen *g, const struct image_insn *insn);
void jit_emit_imm64(struct gen *g, const struct image_insn *insn);
void jit_emit_load(struct gen *g, const struct image_insn *insn);
void jit_emit_store(struct gen *g, const struct image_insn *insn);
void jit_emit_atomic(struct gen *g, const struct image_insn *insn);

/* Jumps to instruction @target: conditional as @insn says, and unconditional. */
void jit_emit_branch(struct gen *g, const struct image_insn *insn, u32 target);
void jit_emit_jump(struct gen *g, u32 target);

/* Calls: of a function, of the function whose number @reg has, of a system call's gate. */
void jit_emit_call(struct gen *g, u64 to);
void jit_emit_call_number(struct gen *g, u8 reg);
void jit_emit_gate(struct gen *g, u32 nr);
/* Of what IMAGE_CALL_* and the numbers of calls without a gate name. */
void jit_emit_call_outside(struct gen *g, s32 what);

/*
 * Looking up a number, which is in a register of the architecture's choice:
 * jit_emit_base_numbers() goes to @base if the number is below @n, jit_emit_range() to
 * @beyond unless @from <= number < @to, and jit_emit_split() to jit_emit_bind(), which
 * gets what it returned, unless the number is below @n.
 */
void jit_emit_base_numbers(struct gen *g, u32 n, u64 base);
void jit_emit_range(struct gen *g, s32 from, s32 to, const u8 *beyond);
u32 jit_emit_split(struct gen *g, u32 n);
void jit_emit_bind(struct gen *g, u32 split);
/* Jumps to @to, and to @stub. */
void jit_emit_goto(struct gen *g, u64 to);
void jit_emit_goto_stub(struct gen *g, const u8 *stub);
/* IMAGE_CALL_TRY: the routine at gen.try, with its label. */
void jit_emit_try(struct gen *g);

/**
 * struct jit_sum - to = base + (index << shift) + disp, all registers of the program
 * @index: or NONE
 */
struct jit_sum {
	u8 base, index, shift, to;
	s32 disp;
};

void jit_emit_sum(struct gen *g, bool wide, const struct jit_sum *sum);
/* @to = @from, rotated left by @n bits. */
void jit_emit_rotation(struct gen *g, bool wide, u8 to, u8 from, u8 n);
/* Of what @load loads @next makes use, as one of its two registers; then it is read no more. */
void jit_emit_load_use(struct gen *g, const struct image_insn *load,
		       const struct image_insn *next);

/* -- For both ---------------------------------------------------------------------- */

static inline void emit8(struct gen *g, u8 byte)
{
	if (g->at < g->room)
		g->code[g->at] = byte;
	g->at++;
}

static inline void emit32(struct gen *g, u32 v)
{
	if (g->at + sizeof(v) <= g->room)
		memcpy(g->code + g->at, &v, sizeof(v));
	g->at += sizeof(v);
}

static inline void emit64(struct gen *g, u64 v)
{
	emit32(g, v);
	emit32(g, v >> 32);
}

/*
 * Symbolic addresses in a draft, both non-canonical: of an offset in the draft, and of the code
 * at an index of jit.offsets.
 */
#define DRAFT_PLACE	0x4000000000000000ULL
#define DRAFT_INDEX	0x4100000000000000ULL
#define DRAFT_KIND(to)	((to) & 0xff00000000000000ULL)

static inline u64 exec_at(struct gen *g, u32 offset)
{
	return (g->drafts ? DRAFT_PLACE : g->jit->exec) + offset;
}

/* The address of instruction @i's code or, from ninsns on, of function @i - ninsns. */
static inline u64 exec_of(struct gen *g, u32 i)
{
	return g->drafts ? DRAFT_INDEX + i : exec_at(g, g->jit->offsets[i]);
}

/* The address for calls of function @func: its entry comes before its first instruction. */
static inline u64 entry_of(struct gen *g, u32 func)
{
	return exec_of(g, g->checked->image->ninsns + func);
}

static inline u32 frame_size(const struct gen *g)
{
	return g->checked->funcs[g->func].frame;
}

/* May any register of @set be read after the instruction at @pc? */
static inline bool is_live(const struct gen *g, u32 pc, u16 set)
{
	return g->jit->live[pc] & set;
}

/*
 * May @imm appear in the code unchanged?  An attacker-chosen constant is attacker-chosen machine
 * code for a jump into its middle.
 */
static inline bool is_plain(const struct gen *g, s64 imm)
{
	return !g->jit->key || (imm >= -0x8000 && imm <= 0xffff);
}

static inline void forget_scratch(struct gen *g)
{
	g->masked[0] = NONE;
	g->masked[1] = NONE;
}

/* The program's register @reg was written. */
static inline void forget_reg(struct gen *g, u8 reg)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			g->masked[i] = NONE;
	g->in_place &= ~(1 << reg);
	g->known[reg] = UNKNOWN;
	g->bits[reg] = 64;
}

static inline u8 saves(const struct gen *g)
{
	return g->checked->traits[g->func] & TRAIT_SAVES;
}

/* Small leaf functions run in the stack that is reserved for them. */
static inline bool needs_room(const struct gen *g)
{
	return g->checked->traits[g->func] & (TRAIT_CALLS | TRAIT_FRAME);
}

/*
 * The fuel that callers pay for these routines, in bytes of code: for dispatch by number, which
 * in an extension may go to its base and back; and for IMAGE_CALL_TRY.
 */
#define DISPATCH_CREDIT	(V_BEYOND_CREDIT + 64)
#define NUMBERS_CREDIT	(DISPATCH_CREDIT + 64)
#define TRY_CREDIT	(NUMBERS_CREDIT + 64)

#endif /* CONFINED_JIT_GEN_H */
