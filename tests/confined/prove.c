// SPDX-License-Identifier: GPL-2.0
/* The verifier's decoder and its step function, called from prove.py. */
#include <stdint.h>
#include <string.h>

#include "../../engine/confined/arch/x86/verify_x86.c"

#define PUBLIC __attribute__((visibility("default")))

struct found {
	u8 bytes[16];
	struct verify_insn in;
};

/* Placeholder bytes for constants and displacements, and what follows them. */
static const u8 tail[] = { 0x18, 0, 0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0 };
/* Offsets of the fields of struct machine that are checked. */
static const u8 places[] = { 0, 8, 16, 24, 32, 40, 48, 56, 60, 64, 112, 120, 128, 136 };

struct search {
	struct found *found;
	u32 n, most;
};

static void try_bytes(struct search *s, const u8 *bytes)
{
	struct verify_insn in = { .index = NO_INDEX };

	if (!decode_insn(bytes, 16, &in))
		return;
	if (s->n < s->most) {
		memcpy(s->found[s->n].bytes, bytes, 16);
		s->found[s->n].in = in;
	}
	s->n++;
}

/* Does @op (0x100: after 0x0f) have no ModRM byte? Then the bytes after it do not matter. */
static bool is_whole(u32 op)
{
	return (op >= 0x50 && op < 0x60) || (op >= 0x70 && op < 0x80) ||
	       (op >= 0xb8 && op < 0xc0) ||
	       (op >= 0x180 && op < 0x190) || (op >= 0x1c8 && op < 0x1d0);
}

/* Tries all continuations of an opcode of which @at bytes are set. */
static void try_operands(struct search *s, u8 *bytes, u32 at)
{
	u32 modrm, sib, i;

	for (modrm = 0; modrm < 256; modrm++) {
		u32 has_sib = modrm < 0xc0 && (modrm & 7) == 4;

		bytes[at] = modrm;
		for (sib = 0; sib < (has_sib ? 256 : 1); sib++) {
			u32 end = at + 1 + has_sib;

			if (has_sib)
				bytes[at + 1] = sib;
			memcpy(bytes + end, tail, 16 - end < sizeof(tail) ? 16 - end : sizeof(tail));
			try_bytes(s, bytes);
			/* Fields, and the constants of divisions and landing pads. */
			for (i = 0; modrm >= 0x40 && modrm < 0xc0 && (modrm & 7) == 1 &&
				    i < sizeof(places); i++) {
				bytes[end] = places[i];
				if (places[i] != tail[0])
					try_bytes(s, bytes);
			}
			if (modrm >= 0xc0) {
				bytes[end] = 0xff;
				try_bytes(s, bytes);
			}
		}
	}
}

/* Finds all accepted single instructions, regardless of constants; returns their number. */
PUBLIC u32 prove_search(struct found *found, u32 most);
u32 prove_search(struct found *found, u32 most)
{
	static const u8 prefixes[] = { 0, 0x66, 0xf0, 0xf2, 0xf3, 0x67, 0x2e, 0x65 };
	struct search s = { .found = found, .most = most };
	u32 p, rex, two, op;

	for (p = 0; p < sizeof(prefixes); p++)
		for (rex = 0x3f; rex < 0x50; rex++)
			for (two = 0; two < 2; two++)
				for (op = 0; op < 256; op++) {
					u8 bytes[16] = { 0 };
					u32 at = 0;

					if (prefixes[p])
						bytes[at++] = prefixes[p];
					if (rex > 0x3f)
						bytes[at++] = rex;
					if (two)
						bytes[at++] = 0x0f;
					bytes[at++] = op;
					if (is_whole(op | two << 8))
						try_bytes(&s, bytes);
					else
						try_operands(&s, bytes, at);
				}
	return s.n;
}

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

/* The bytes of row @i; values above 0xff are wildcards; NULL: no such row. */
PUBLIC const u16 *prove_row(u32 i, u32 *len);
const u16 *prove_row(u32 i, u32 *len)
{
	u32 first;

	for (first = 0; first < sizeof(patterns) / sizeof(*patterns); first++) {
		if (i < patterns[first].n) {
			*len = patterns[first].rows[i].len;
			return patterns[first].rows[i].bytes;
		}
		i -= patterns[first].n;
	}
	return NULL;
}

/* -- What verify_step() makes of what is known ------------------------------------ */

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
	u16 need[3], deny, always[3], kept[3], set, leaves;
	s8 depth;
	bool regular;
};

static u16 *fact(struct verify_state *s, u32 i)
{
	return i == 0 ? &s->masked : i == 1 ? &s->by4 : &s->by8;
}

static bool accepts(u32 shift, struct verify_state *s, const struct verify_insn *in)
{
	return !prove_step(shift, s, in);
}

static struct verify_state all_known(void)
{
	return (struct verify_state){ .masked = 0xffff, .by4 = 0xffff, .by8 = 0xffff, .depth = 3 };
}

static void find_needs(u32 shift, const struct verify_insn *in, struct transfer *t)
{
	u32 i, reg;

	for (reg = 0; reg < 16; reg++) {
		struct verify_state s = all_known();

		s.unset = V_BIT(reg);
		if (!accepts(shift, &s, in))
			t->deny |= V_BIT(reg);
		else if (!(s.unset & V_BIT(reg)))
			t->set |= V_BIT(reg);
		for (i = 0; i < 3; i++) {
			s = all_known();
			*fact(&s, i) &= ~V_BIT(reg);
			if (!accepts(shift, &s, in))
				t->need[i] |= V_BIT(reg);
		}
	}
}

/*
 * Does @t describe the instruction in every state, with nothing else accepted? Checked bit by bit.
 */
static bool is_regular(u32 shift, const struct verify_insn *in, const struct transfer *t)
{
	u32 n, i, seed = 1;

	for (n = 0; n < 200; n++) {
		struct verify_state before = { .depth = 1 + n % 9, .room = n % 3, .calls = n & 1,
					       .credit = n };
		struct verify_state s;
		bool want = true;

		for (i = 0; i < 3; i++) {
			seed = seed * 1664525 + 1013904223;
			*fact(&before, i) = (seed >> 16) | (n & 4 ? t->need[i] : 0);
			want = want && !(t->need[i] & ~*fact(&before, i));
		}
		seed = seed * 1664525 + 1013904223;
		before.unset = n & 8 ? 0 : seed >> 16 & (n & 16 ? ~t->deny : 0xffff);
		want = want && !(before.unset & t->deny) && before.depth + in->slots <= V_SLOTS;
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
	struct verify_state full = all_known(), least = all_known();
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
		for (reg = 0; reg < 16; reg++)
			if (*fact(&full, i) & V_BIT(reg) & ~t->always[i])
				t->kept[i] |= V_BIT(reg);
	t->leaves = full.unset;
	t->depth = full.depth - 3;
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
		struct verify_state s = all_known();

		in.disp = disp;
		wrong += accepts(shift, &s, &in) != (disp >= low && disp <= high);
	}
	for (n = 0; n < 1 << 17; n++) {
		struct verify_state s = all_known();

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
