// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements a part of types.h. Checks of results cost as much as arithmetic itself, and most of
 * them cannot fail: a character has 8 bits, and what is computed modulo 2^32 has 32. So the facts
 * about integers say how many bits they have below and above 0, and the bits of results follow.
 */
#include "opcodes.h"
#include "types.h"

static int most(int a, int b)
{
	return a > b ? a : b;
}

/* The number of bits of @v, which is not negative. */
static int bits_of(uint64_t v)
{
	return v ? 64 - __builtin_clzl(v) : 0;
}

struct range range_of_constant(int64_t v)
{
	return v < 0 ? (struct range){ bits_of(-(v + 1)), 0 } :
		       (struct range){ NOT_NEGATIVE, bits_of(v) };
}

struct range range_of_rk(const struct types *t, uint32_t pc, uint32_t rk)
{
	const struct fact *f;
	int64_t k;

	if (rk_is_constant(t, pc, rk, &k))
		return range_of_constant(k);
	if (rk & RK_K)
		return RANGE_OF_INTEGERS;
	f = fact_at(t, pc, rk);
	return (struct range){ f->low, f->high };
}

bool range_fits(struct range r)
{
	return r.low < INTEGER_BITS && r.high < INTEGER_BITS;
}

int range_bits(struct range r)
{
	return most(r.low, r.high);
}

struct range range_of_arith(uint32_t op, struct range b, struct range c)
{
	int bits;

	switch (op) {
	case OP_SUB:
		/* -c is more than -2^c.high, and at most 2^c.low, which one more bit has. */
		c = (struct range){ c.high, c.low < 0 ? 0 : c.low + 1 };
		/* Fall through. */
	case OP_ADD:
		return (struct range){
			b.low < 0 || c.low < 0 ? most(b.low, c.low) : most(b.low, c.low) + 1,
			most(b.high, c.high) + 1,
		};
	default:
		bits = range_bits(b) + range_bits(c);
		return b.low < 0 && c.low < 0 ? (struct range){ NOT_NEGATIVE, bits } :
						(struct range){ bits, bits + 1 };
	}
}

/* Modulo a positive constant. */
static struct range modulo(struct range b, int64_t k)
{
	int high = bits_of(k - 1);

	return (struct range){ NOT_NEGATIVE, b.low < 0 && b.high < high ? b.high : high };
}

struct range range_of_result(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc];
	struct range b = range_of_rk(t, pc, b_of(i));
	int64_t k;

	switch (op_of(i)) {
	case OP_ADD: case OP_SUB: case OP_MUL:
		if (types_of_arith(t, pc) != T_INTEGER)
			return RANGE_OF_INTEGERS;
		return range_of_arith(op_of(i), b, range_of_rk(t, pc, c_of(i)));
	case OP_MOD:
		if (!rk_is_constant(t, pc, c_of(i), &k) || k <= 0 ||
		    (types_of_rk(t, pc, b_of(i)) != T_INTEGER && !types_chain(t, pc)))
			return RANGE_OF_INTEGERS;
		return modulo(types_chain(t, pc) ? RANGE_OF_INTEGERS : b, k);
	default:
		return RANGE_OF_INTEGERS;
	}
}

struct range range_of_floor(const struct types *t, uint32_t pc)
{
	uint32_t before = pc ? t->p->code[pc - 1] : 0;
	struct range b;
	int64_t k;

	if (op_of(before) != OP_DIV || !t->p->begins[pc - 1] || t->target[pc] ||
	    a_of(before) != a_of(t->p->code[pc]) + 1 || !t->reached[pc - 1] ||
	    types_of_rk(t, pc - 1, b_of(before)) != T_INTEGER ||
	    !rk_is_constant(t, pc - 1, c_of(before), &k) || k < 1)
		return RANGE_OF_INTEGERS;
	b = range_of_rk(t, pc - 1, b_of(before));
	b.high = most(b.high - (bits_of(k) - 1), 0);
	return b;
}
