/* SPDX-License-Identifier: GPL-2.0 */
/* What verify_step() makes of what is known, for the proofs of each architecture. */
#ifndef PROVE_STEP_H
#define PROVE_STEP_H

#include <stdint.h>
#include <string.h>

#include "../../engine/confined/verify_insn.h"

#define PUBLIC __attribute__((visibility("default")))
#define EVERY		((verify_set)~0U)
#define REGISTERS	(8 * sizeof(verify_set))

PUBLIC const char *prove_step(u32 shift, struct verify_state *s, const struct verify_insn *in);
const char *prove_step(u32 shift, struct verify_state *s, const struct verify_insn *in)
{
	struct verify v = { .arena_shift = shift };

	return verify_step(&v, s, in);
}

PUBLIC bool prove_decode(const u8 *bytes, u32 left, struct verify_insn *in);
bool prove_decode(const u8 *bytes, u32 left, struct verify_insn *in)
{
	return verify_decode(bytes, left, in);
}

/**
 * struct transfer - an instruction's effect on the verifier's knowledge
 * @need:   registers whose masked, by4 or by8 must be known
 * @deny:   registers that must not be unset
 * @always: registers whose masked, by4 or by8 are known afterwards in any case
 * @kept:   registers whose facts are unchanged
 * @set:    registers no longer unset; @leaves: those unset afterwards
 * @depth:  words pushed, less those popped
 */
struct transfer {
	verify_set need[3], deny, always[3], kept[3], set, leaves;
	s8 depth;
	bool regular;
};

static verify_set *fact(struct verify_state *s, u32 i)
{
	return i == 0 ? &s->masked : i == 1 ? &s->by4 : &s->by8;
}

static bool accepts(u32 shift, struct verify_state *s, const struct verify_insn *in)
{
	return !prove_step(shift, s, in);
}

/* With as many words on the stack as @in can be executed with. */
static struct verify_state all_known(const struct verify_insn *in)
{
	return (struct verify_state){ .masked = EVERY, .by4 = EVERY, .by8 = EVERY,
				      .depth = in->kind == V_LINK ? 0 :
					       in->kind == V_UNLINK ? V_LINKED : 3 };
}

/* May @in be executed with @depth words on the stack? */
static bool fits_depth(const struct verify_insn *in, int depth)
{
	switch (in->kind) {
	case V_POP:
		return depth > V_LINKED;
	case V_LINK:
		return depth == 0;
	case V_UNLINK:
		return depth == V_LINKED;
	case V_PUSH: case V_CALL: case V_CHARGE: case V_ROOM: case V_UNLESS: case V_THUNK:
		return depth >= V_LINKED;
	}
	return true;
}

static void find_needs(u32 shift, const struct verify_insn *in, struct transfer *t)
{
	u32 i, reg;

	for (reg = 0; reg < REGISTERS; reg++) {
		struct verify_state s = all_known(in);

		s.unset = V_BIT(reg);
		if (!accepts(shift, &s, in))
			t->deny |= V_BIT(reg);
		else if (!(s.unset & V_BIT(reg)))
			t->set |= V_BIT(reg);
		for (i = 0; i < 3; i++) {
			s = all_known(in);
			*fact(&s, i) &= ~V_BIT(reg);
			if (!accepts(shift, &s, in))
				t->need[i] |= V_BIT(reg);
		}
	}
}

static verify_set random_set(u32 *seed)
{
	u32 high = *seed * 1664525 + 1013904223;

	*seed = high * 1664525 + 1013904223;
	return (high & 0xffff0000) | *seed >> 16;
}

/*
 * Does @t describe the instruction in every state, with nothing else accepted? Checked bit by bit.
 */
static bool is_regular(u32 shift, const struct verify_insn *in, const struct transfer *t)
{
	u32 n, i, seed = 1;

	for (n = 0; n < 200; n++) {
		struct verify_state before = { .depth = n % 10, .room = n % 3, .calls = n & 1,
					       .credit = n };
		struct verify_state s;
		bool want = true;

		for (i = 0; i < 3; i++) {
			*fact(&before, i) = random_set(&seed) | (n & 4 ? t->need[i] : 0);
			want = want && !(t->need[i] & ~*fact(&before, i));
		}
		before.unset = n & 8 ? 0 : random_set(&seed) & (n & 16 ? ~t->deny : EVERY);
		want = want && !(before.unset & t->deny) && before.depth + in->slots <= V_SLOTS &&
		       fits_depth(in, before.depth);
		s = before;
		if (accepts(shift, &s, in) != want)
			return false;
		if (!want)
			continue;
		for (i = 0; i < 3; i++)
			if (*fact(&s, i) != (t->always[i] | (*fact(&before, i) & t->kept[i])))
				return false;
		if (s.unset != ((before.unset & ~t->set) | t->leaves) ||
		    s.depth != before.depth + t->depth || s.room != before.room ||
		    s.calls != before.calls || s.credit != before.credit)
			return false;
	}
	return true;
}

/* Returns false if @in is refused whatever is known. */
PUBLIC bool prove_transfer(u32 shift, const struct verify_insn *in, struct transfer *t);
bool prove_transfer(u32 shift, const struct verify_insn *in, struct transfer *t)
{
	struct verify_state full = all_known(in), least = all_known(in);
	u32 i, reg;

	memset(t, 0, sizeof(*t));
	if (!accepts(shift, &full, in))
		return false;
	find_needs(shift, in, t);
	for (i = 0; i < 3; i++)
		*fact(&least, i) = t->need[i];
	accepts(shift, &least, in);
	for (i = 0; i < 3; i++)
		t->always[i] = *fact(&least, i) & ~t->need[i];
	for (i = 0; i < 3; i++)
		for (reg = 0; reg < REGISTERS; reg++)
			if (*fact(&full, i) & V_BIT(reg) & ~t->always[i])
				t->kept[i] |= V_BIT(reg);
	t->leaves = full.unset;
	t->depth = full.depth - all_known(in).depth;
	t->regular = is_regular(shift, in, t);
	return true;
}

/*
 * Counts constants, sampled by @step and near powers of two, whose acceptance differs from "@low <=
 * disp <= @high".
 */
PUBLIC u32 prove_range(u32 shift, const struct verify_insn *like, s64 low, s64 high, u32 step);
u32 prove_range(u32 shift, const struct verify_insn *like, s64 low, s64 high, u32 step)
{
	struct verify_insn in = *like;
	u32 wrong = 0, n;
	s64 disp;

	for (disp = INT32_MIN; disp <= INT32_MAX; disp += step) {
		struct verify_state s = all_known(&in);

		in.disp = disp;
		wrong += accepts(shift, &s, &in) != (disp >= low && disp <= high);
	}
	for (n = 0; n < 1 << 17; n++) {
		struct verify_state s = all_known(&in);

		in.disp = (n & 1 ? low : high) + (s32)(n >> 1) - (1 << 15);
		wrong += accepts(shift, &s, &in) != (in.disp >= low && in.disp <= high);
	}
	return wrong;
}

/* Counts wrong facts about @reg after an AND with a constant. */
PUBLIC u32 prove_masks(u32 shift, u8 reg, u32 step);
u32 prove_masks(u32 shift, u8 reg, u32 step)
{
	struct verify_insn in = { .kind = V_MASK, .reg = reg, .reads = V_BIT(reg),
				  .writes = V_BIT(reg), .index = NO_INDEX };
	u32 wrong = 0;
	u64 n;

	for (n = 0; n < (1ULL << 32) + (1 << 18); n += n < 1ULL << 32 ? step : 1) {
		struct verify_state s = { .depth = 1 };

		in.imm = n < 1ULL << 32 ? n : (1U << shift) - (1 << 16) + (u32)n;
		if (!accepts(shift, &s, &in))
			return ~0U;
		wrong += (s.masked & V_BIT(reg) && (u32)in.imm >= 1U << shift) ||
			 (s.by4 & V_BIT(reg) && in.imm & 3) || (s.by8 & V_BIT(reg) && in.imm & 7) ||
			 (s.masked | s.by4 | s.by8) & ~V_BIT(reg);
	}
	return wrong;
}

#endif /* PROVE_STEP_H */
