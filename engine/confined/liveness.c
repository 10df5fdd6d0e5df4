// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Liveness analysis for the code generator, which may overwrite dead registers.
 *
 * A register is live after an instruction if any path from there reads it before writing it; the
 * sets are found by passes backwards over a function until they no longer change.  A mistake here
 * generates code with wrong results, never code that leaves the arena: the verifier does not rely
 * on it.
 */
#include "jit.h"

#define ALL_REGISTERS	0x3ff		/* r0 to r9; r10 is never allocated */
#define ARGUMENTS	0x3f		/* r0 to r5 */
/*
 * Deep nests of loops need more passes: such functions are rare, and all registers count as live.
 */
#define PASSES		8

/* In @before: a backward jump leads here, so the set may still change. */
#define LOOP			0x8000
#define LEADS_ON		0x4000

/* @before has the live sets before each instruction, or after it. */
struct live {
	const struct checked *checked;
	u16 *after, *before;
	u32 func;
	u16 left;	/* the registers of r0 to r5 that are live after returns */
	bool ahead;	/* the function has called itself, or a later function */
	bool over;	/* image_pause() has told to end */
};

static u16 bit_of(u8 reg)
{
	return 1 << reg & ALL_REGISTERS;
}

static bool calls_function(const struct image_insn *insn)
{
	return insn->code & INSN_X || insn->src || insn->imm == IMAGE_CALL_TRY;
}

static inline struct insn_effect effect_of_jump(const struct image_insn *insn)
{
	u16 source = insn->code & INSN_X ? bit_of(insn->src) : 0;

	switch (INSN_OP(insn->code)) {
	case INSN_CALL:
		if (calls_function(insn))	/* the callee may read all of them */
			return (struct insn_effect){ ALL_REGISTERS, 0 };
		return (struct insn_effect){ ARGUMENTS, ARGUMENTS };
	case INSN_EXIT:
		return (struct insn_effect){ ALL_REGISTERS, ALL_REGISTERS };
	case INSN_JA:
		return (struct insn_effect){ 0, 0 };
	}
	return (struct insn_effect){ bit_of(insn->dst) | source, 0 };
}

static inline struct insn_effect effect_of(const struct image_insn *insn)
{
	u16 dst = bit_of(insn->dst), src = bit_of(insn->src);

	switch (INSN_CLASS(insn->code)) {
	case INSN_LD:
		return (struct insn_effect){ 0, dst };
	case INSN_LDX:
		return (struct insn_effect){ src, dst };
	case INSN_ST:
		return (struct insn_effect){ dst, 0 };
	case INSN_STX:
		/* Some atomic operations write r0, or src. */
		return (struct insn_effect){
			dst | src | (INSN_MODE(insn->code) == INSN_ATOMIC ? bit_of(0) : 0), 0
		};
	case INSN_ALU: case INSN_ALU64:
		src = insn->code & INSN_X ? src : 0;
		return (struct insn_effect){
			src | (INSN_OP(insn->code) == INSN_MOV ? 0 : dst), dst
		};
	}
	return effect_of_jump(insn);
}

struct insn_effect insn_effect(const struct image_insn *insn)
{
	return effect_of(insn);
}

static inline bool is_straight(const struct image_insn *insn)
{
	return INSN_CLASS(insn->code) != INSN_JMP && INSN_CLASS(insn->code) != INSN_JMP32;
}

/*
 * The set before an instruction on a straight line, from the set @after it: effect_of(), inlined.
 */
static inline u16 read_at_straight(const struct image_insn *insn, u16 after)
{
	u16 dst = bit_of(insn->dst), src = bit_of(insn->src);
	struct insn_effect effect;

	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		after = INSN_OP(insn->code) == INSN_MOV ? after & ~dst : after | dst;
		return insn->code & INSN_X ? after | src : after;
	case INSN_LDX:
		return (after & ~dst) | src;
	}
	effect = effect_of(insn);
	return (after & ~effect.writes) | effect.reads;
}

static u16 at_target(const struct live *l, u32 pc, s32 offset)
{
	return l->before[pc + 1 + offset] & ALL_REGISTERS;
}

/* The set after the instruction, from the set @next before the following one. */
static u16 live_after(const struct live *l, u32 pc, u16 next)
{
	const struct image_insn *insn = &l->checked->insns[pc];

	if (insn->code == (INSN_JMP | INSN_EXIT))
		return 0;
	if (!insn_is_jump(insn))
		return next;
	return at_target(l, pc, insn_jump_offset(insn)) |
	       (INSN_OP(insn->code) == INSN_JA ? 0 : next);
}

/* The set before the instruction. */
static u16 live_before(struct live *l, u32 pc, u16 after)
{
	const struct image_insn *insn = &l->checked->insns[pc];
	u16 saved = (l->checked->traits[l->func] & TRAIT_SAVES) << 6;
	struct insn_effect effect;

	if (insn->code == (INSN_JMP | INSN_EXIT))	/* saved registers are the caller's again */
		return l->left | (ALL_REGISTERS & ~ARGUMENTS & ~saved);
	if (insn->code == (INSN_JMP | INSN_CALL) && insn->src == INSN_LOCAL) {
		/* The callee reads at most what is live at its beginning. */
		l->ahead |= pc + 1 + insn->imm >= l->checked->funcs[l->func].start;
		return after | at_target(l, pc, insn->imm);
	}
	effect = effect_of_jump(insn);
	return (after & ~effect.writes) | effect.reads;
}

static void live_mark(struct live *l, u32 pc)
{
	const struct image_insn *insn = &l->checked->insns[pc];

	if (is_straight(insn))
		return;
	l->before[pc] |= LEADS_ON;
	if (insn_is_jump(insn) && insn_jump_offset(insn) < 0)
		l->before[pc + 1 + insn_jump_offset(insn)] |= LOOP;
}

/*
 * Updates and returns the set before an instruction, from the set @next before the following one.
 */
static u16 live_look_at(struct live *l, u32 pc, u16 next)
{
	const struct image_insn *insn = &l->checked->insns[pc];

	if (l->checked->marks[pc] & MARK_SECOND)
		return next;
	if (is_straight(insn)) {
		l->after[pc] = next;
		return read_at_straight(insn, next);
	}
	l->after[pc] = live_after(l, pc, next);
	return live_before(l, pc, l->after[pc]);
}

/*
 * Makes one pass.  Returns whether another is needed: a set changed at the target of a backward
 * jump.  After the @first pass, visits only instructions whose sets may change.
 */
static bool go_over(struct live *l, bool first)
{
	u32 start = l->checked->funcs[l->func].start, end = image_func_end(l->checked, l->func), pc;
	bool more = false, changed = first;
	u16 next, was;

	for (pc = end; pc-- > start;) {
		l->over = image_pause(pc);
		if (l->over)
			return false;
		if (first)
			live_mark(l, pc);
		was = l->before[pc];
		if (!changed && !(was & LEADS_ON))
			continue;
		next = pc + 1 < end ? l->before[pc + 1] & ALL_REGISTERS : 0;
		next = live_look_at(l, pc, next) | (was & ~ALL_REGISTERS);
		more |= was & LOOP && was != next;
		changed = first || was != next;
		l->before[pc] = next;
	}
	return more;
}

static void read_all(struct live *l)
{
	u32 pc;

	for (pc = l->checked->funcs[l->func].start; pc < image_func_end(l->checked, l->func); pc++)
		l->after[pc] = l->before[pc] = ALL_REGISTERS;
}

/* Returns whether the set at the function's beginning has grown. */
static bool live_find_function(struct live *l, bool first)
{
	u32 start = l->checked->funcs[l->func].start, pass;
	u16 was = l->before[start] & ALL_REGISTERS;

	for (pass = 0; pass < PASSES && go_over(l, first && !pass); pass++)
		;
	if (pass == PASSES)
		read_all(l);
	return (l->before[start] & ALL_REGISTERS) != was;
}

/* Functions usually precede their callers: then one pass finds all that callers need. */
static void find_all(struct live *l, bool first)
{
	u32 pass;
	bool more = true;

	for (pass = 0; pass < PASSES && more && !l->over; pass++) {
		l->ahead = more = false;
		for (l->func = 0; l->func < l->checked->image->nfuncs && !l->over; l->func++)
			more |= live_find_function(l, first && !pass);
		more &= l->ahead;
	}
	for (l->func = 0; more && l->func < l->checked->image->nfuncs; l->func++)
		read_all(l);
}

/* Does any caller read what a function leaves in r1 to r5? */
static bool is_looked_at(const struct live *l)
{
	u32 pc;

	for (pc = 0; pc < l->checked->image->ninsns; pc++) {
		const struct image_insn *insn = &l->checked->insns[pc];

		if (INSN_CLASS(insn->code) == INSN_JMP && INSN_OP(insn->code) == INSN_CALL &&
		    calls_function(insn) && l->after[pc] & ARGUMENTS & ~1)
			return true;
	}
	return false;
}

int image_live(const struct checked *checked, u16 *found)
{
	/* An extension may be called by its base. */
	struct live l = {
		.checked = checked, .after = found, .before = found + checked->image->ninsns,
		.left = checked->base ? ARGUMENTS : 1,
	};

	find_all(&l, true);
	if (!checked->base && is_looked_at(&l)) {
		l.left = ARGUMENTS;
		find_all(&l, false);
	}
	return l.over ? -EINTR : 0;
}
