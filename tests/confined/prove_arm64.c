// SPDX-License-Identifier: GPL-2.0
/*
 * The verifier's decoder for A64 and its step function, called from prove_arm64.py, on any machine.
 * All words are decoded, and compared with the encodings of model_arm64.py.
 */
#include "../../core/types.h"

/* Instead of this machine's. */
#define CONFINED_ARCH_REGISTERS_H
#include "../../engine/confined/arch/arm64/registers.h"

#include "../../engine/confined/verify_step.c"
#include "../../engine/confined/arch/arm64/verify_arm64.c"
#include "prove_step.h"

/* How an encoding uses its fields of registers: "Encoding" of model_arm64.py. */
enum {
	N_READ = 1, M_READ = 2, A_READ = 4, D_READ = 8, D_WRITTEN = 16, M_WRITTEN = 32,
	N_IS_SP = 64, D_IS_SP = 128,
};
/* What memory it accesses, or where it branches to. */
enum { NO_MEMORY, SCALED, UNSCALED, INDEXED, BEFORE, AFTER, TO26, TO19, TO14, ATOMIC };

/**
 * struct encoding - the words with @value in the bits of @mask
 * @constant: bits of constants; other bits that are in neither, and in no register, tell forms apart
 */
struct encoding {
	u32 value, mask, constant, does, where;
};

/**
 * struct form - an accepted word of each form, for a context; @n: of how many words
 */
struct form {
	u32 encoding, bits, word, used;
	u64 n;
};

/*
 * The words around one: what is decoded is @before, which is add x9, x27, #0; the word; and @after,
 * which is ldr x1, [x9].
 */
struct context {
	u32 before, after;
	bool has_before, has_after;
};

#define FORMS	4096

static u32 used_registers(const struct encoding *e)
{
	u32 set = 0;

	if (e->does & (N_READ | N_IS_SP) || (e->where && e->where < TO26) || e->where == ATOMIC)
		set |= 31 << 5;
	if (e->does & (M_READ | M_WRITTEN) || e->where == INDEXED)
		set |= 31 << 16;
	if (e->does & A_READ)
		set |= 31 << 10;
	if (e->does & (D_READ | D_WRITTEN | D_IS_SP))
		set |= 31;
	return set;
}

static u32 reg_set(u32 does, u32 w, const u32 *of)
{
	static const u8 at[] = { 5, 16, 10, 0 };
	u32 set = 0, i;

	for (i = 0; i < 4; i++)
		if (does & of[i] && (w >> at[i] & 31) != 31)
			set |= 1U << (w >> at[i] & 31);
	return set;
}

static s32 signed_field(u32 w, u32 low, u32 bits)
{
	s32 v = w >> low & ((1U << bits) - 1);

	return v >> (bits - 1) & 1 ? v - (1 << bits) : v;
}

/* The 32 bits of a logical constant, by its definition: elements of all sizes, replicated. */
static bool logical_32(u32 w, u32 *value)
{
	u32 imms = w >> 10 & 63, immr = w >> 16 & 63, size = 32, ones, i, v = 0;

	while (size > 1 && (~imms & 63 & size) == 0)
		size /= 2;
	ones = (imms & (size - 1)) + 1;
	if (w >> 22 & 1 || size < 2 || ones == size)
		return false;
	for (i = 0; i < 32; i++)
		if ((i + immr) % size < ones)
			v |= 1U << i;
	*value = v;
	return true;
}

/* Words that the architecture does not allocate, of encodings that have such. */
static bool is_allocated(const struct encoding *e, u32 w)
{
	bool wide = w >> 31;
	u32 ignored;

	if (e->where && e->where < TO26)
		return w >> 30 < 3 || (w >> 22 & 3) < 2;	/* else a prefetch */
	switch (e->value & ~0x60000000U) {
	case 0x0b000000:		/* add and so on, of a shifted register */
		return (w >> 22 & 3) != 3 && (wide || !(w >> 15 & 1));
	case 0x0a000000:		/* and so on */
		return wide || !(w >> 15 & 1);
	case 0x12000000:
		return wide ? (w >> 10 & 63) != 63 || !(w >> 22 & 1) : logical_32(w, &ignored);
	case 0x12800000:
		return wide || !(w >> 22 & 1);
	case 0x13000000:
		return wide == (w >> 22 & 1) && (wide || !(w & 0x208000));
	case 0x13800000:
		return wide == (w >> 22 & 1) && (wide || !(w >> 15 & 1));
	}
	return true;
}

/* Registers that hold a memory operand's address: @base, and @index, or NO_INDEX. */
static bool fits_memory(const struct encoding *e, u32 w, const struct verify_insn *in)
{
	u32 n = w >> 5 & 31, m = w >> 16 & 31;
	s32 disp = 0;

	if (e->where == SCALED)
		disp = (w >> 10 & 0xfff) << (w >> 30);
	if (e->where == UNSCALED)
		disp = signed_field(w, 12, 9);
	if (e->where == SCALED && n == X25)	/* machine.user, which is read */
		return !in->arena && in->kind == V_PLAIN && disp == MACHINE_AT_USER &&
		       (w >> 22 & 3) == 1 && w >> 30 == 3;
	if (e->where == BEFORE || e->where == AFTER) {
		bool pushes = e->where == BEFORE, link = (w & 31) == X30;

		return n == X28 && !in->arena && w >> 30 == 3 && (w >> 22 & 3) == !pushes &&
		       signed_field(w, 12, 9) == (pushes ? -8 : 8) &&
		       in->kind == (pushes ? (link ? V_LINK : V_PUSH) : (link ? V_UNLINK : V_POP));
	}
	if (!in->arena || in->kind != V_PLAIN || in->disp != disp)
		return false;
	if (e->where == INDEXED)
		return n == X24 && in->index == m && m != XZR && (m < X10 || m > X13);
	return n == X24 ? in->index == NO_INDEX : n == X27 ? in->index == V_FRAME :
	       n >= X10 && n <= X13 && in->index == n;
}

static bool fits_kind(const struct encoding *e, u32 w, const struct verify_insn *in)
{
	u32 value, d = w & 31, n = w >> 5 & 31;

	switch (e->where) {
	case TO26:
		return in->kind == (w >> 31 ? V_CALL : V_JUMP) && in->to == 4 * signed_field(w, 0, 26);
	case TO19:
		return in->kind == V_BRANCH && in->to == 4 * signed_field(w, 5, 19);
	case TO14:
		return in->kind == V_BRANCH && in->to == 4 * signed_field(w, 5, 14);
	}
	switch (in->kind) {
	case V_MASK: case V_MASK_COPY:
		return (w & 0xffc00000) == 0x12000000 && logical_32(w, &value) &&
		       (u32)in->imm == value && in->reg == d && (in->kind == V_MASK) == (d == n);
	case V_MOVE_FRAME:
		return (w & 0xbf800000) == 0x11000000 && d == V_FRAME && n == V_FRAME &&
		       in->imm == (s32)(w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
	case V_RETURN: case V_ENTRY:
		return !e->does;
	case V_PLAIN:
		return e->does || e->where;
	}
	return false;
}

/* Is @in what the encoding says of @w? */
static bool is_as_encoded(const struct encoding *e, u32 w, const struct verify_insn *in)
{
	static const u32 reads[] = { N_READ, M_READ, A_READ, D_READ };
	static const u32 writes[] = { 0, M_WRITTEN, 0, D_WRITTEN };
	bool link = in->kind == V_LINK || in->kind == V_UNLINK;
	u32 does = e->does;

	if (!is_allocated(e, w) || in->leaves || in->align || in->barrier || in->len != 4)
		return false;
	if ((does & N_IS_SP && (w >> 5 & 31) == 31) || (does & D_IS_SP && (w & 31) == 31))
		return false;
	if (in->slots != (in->kind == V_PUSH || in->kind == V_LINK) ||
	    in->runs_on != (in->kind == V_JUMP || in->kind == V_RETURN))
		return false;
	/* x24 + wN, in a register that only has addresses of the arena */
	if (e->value == 0x8b204000) {
		u32 d = w & 31, m = w >> 16 & 31;

		return (w >> 5 & 31) == X24 && in->arena && !in->disp && in->index == m &&
		       m != XZR && (m < X10 || m > X13) && !in->reads && !in->writes &&
		       (d == X27 ? m == V_FRAME && !in->places :
				   d >= X10 && d <= X13 && in->places == 1U << d);
	}
	if (in->places || in->reads != (link ? 0 : reg_set(does, w, reads)) ||
	    in->writes != (link ? 0 : reg_set(does, w, writes)))
		return false;
	if (e->where && e->where < TO26)
		return fits_memory(e, w, in);
	return !in->arena && fits_kind(e, w, in);
}

/* x9 = x9, or another base, plus or minus a constant, or x24 + wN: the words before an access. */
static bool is_place_as_encoded(const struct encoding *e, u32 w, const struct verify_insn *in,
				bool first)
{
	u32 n = w >> 5 & 31, m = w >> 16 & 31;
	s32 disp = (w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);

	if ((w & 31) != X9)
		return false;
	if (e->value == 0x8b204000)
		return first && n == X24 && in->index == m && m != XZR && (m < X10 || m > X13) &&
		       !in->disp;
	if (e->value != 0x11000000 || !(w >> 31))
		return false;
	if (in->disp != (w >> 30 & 1 ? -disp : disp))
		return false;
	if (!first)
		return n == X9 && in->index == V_FRAME;
	return n == X24 ? in->index == NO_INDEX : n == X27 ? in->index == V_FRAME :
	       n >= X10 && n <= X13 && in->index == n;
}

/* The access at x9. */
static bool is_access_as_encoded(const struct encoding *e, u32 w, const struct verify_insn *in)
{
	static const u32 reads[] = { 0, M_READ, A_READ, D_READ };
	static const u32 writes[] = { 0, M_WRITTEN, 0, D_WRITTEN };
	s32 disp = 0;

	if ((w >> 5 & 31) != X9)
		return false;
	if (e->where == SCALED)
		disp = (w >> 10 & 0xfff) << (w >> 30);
	else if (e->where == UNSCALED)
		disp = signed_field(w, 12, 9);
	else if (e->where != ATOMIC)
		return false;
	return in->disp == disp && in->index == V_FRAME && in->align == (e->where == ATOMIC ? w >> 30 & 1 ? 8 : 4 : 0) &&
	       in->reads == reg_set(e->does, w, reads) && !(in->reads & V_BIT(X9)) &&
	       in->writes == (reg_set(e->does, w, writes) | V_BIT(X9));
}

static bool is_expected(const struct context *c, const struct encoding *e, u32 w,
			const struct verify_insn *in)
{
	if (!c->has_before && !c->has_after)
		return is_as_encoded(e, w, in);
	if (!in->arena || in->kind != V_PLAIN || in->leaves != V_BIT(X9) || in->places ||
	    in->slots || in->runs_on || in->barrier ||
	    in->len != 4U * (1 + c->has_before + c->has_after))
		return false;
	if (!c->has_after)
		return is_access_as_encoded(e, w, in);
	return !in->align && !in->reads && in->writes == (V_BIT(X1) | V_BIT(X9)) &&
	       is_place_as_encoded(e, w, in, !c->has_before);
}

static void count_form(struct form *forms, const struct encoding *e, u32 number, u32 w)
{
	u32 bits = w & ~(e->constant | used_registers(e));
	u32 at = (bits * 0x9e3779b1U >> 20) ^ number;

	for (at %= FORMS; forms[at].n; at = (at + 1) % FORMS)
		if (forms[at].encoding == number && forms[at].bits == bits)
			break;
	if (!forms[at].n)
		forms[at] = (struct form){ number, bits, w, used_registers(e), 0 };
	forms[at].n++;
}

/*
 * Decodes all words with @value in the bits of @mask, in a context, and counts accepted ones by
 * form. Returns the number of accepted words that are not what an encoding says, and the last of
 * them in @wrong.
 */
PUBLIC u64 prove_words(const struct encoding *encodings, u32 n, const struct context *c, u32 mask,
		       u32 value, struct form *forms, u32 *wrong);
u64 prove_words(const struct encoding *encodings, u32 n, const struct context *c, u32 mask,
		u32 value, struct form *forms, u32 *wrong)
{
	u64 bad = 0;
	u32 others = 0;

	do {
		struct verify_insn in;
		u32 words[3], len = 0, w = others | value, i;

		if (c->has_before)
			words[len++] = c->before;
		words[len++] = w;
		if (c->has_after)
			words[len++] = c->after;
		others = ((others | mask) + 1) & ~mask;
		if (!verify_decode((const u8 *)words, 4 * len, &in))
			continue;
		/* Fewer words are accepted: another context. */
		if (in.len < 4 * len)
			continue;
		for (i = 0; i < n; i++)
			if ((w & encodings[i].mask) == encodings[i].value)
				break;
		if (i < n && is_expected(c, &encodings[i], w, &in)) {
			count_form(forms, &encodings[i], i, w);
			continue;
		}
		bad++;
		*wrong = w;
	} while (others);
	return bad;
}

/* Sequence @i: its words' values and masks; NULL: no such sequence. */
#define SEQUENCE(of)	{ of, sizeof(of) / sizeof(*(of)) }
PUBLIC const struct part *prove_row(u32 i, u32 *len);
const struct part *prove_row(u32 i, u32 *len)
{
	static const struct {
		const struct part *parts;
		u32 len;
	} all[] = {
		SEQUENCE(fuel_high), SEQUENCE(charge), SEQUENCE(room), SEQUENCE(frame),
		SEQUENCE(range), SEQUENCE(try), SEQUENCE(thunk), SEQUENCE(thunk_barrier),
		SEQUENCE(barrier),
	};

	if (i == sizeof(all) / sizeof(*all))
		return NULL;
	*len = all[i].len;
	return all[i].parts;
}
