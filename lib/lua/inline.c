// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Inlining of small functions (see types.h): they call only functions of the library "bit", have
 * no loops, and each of their instructions has an inline fast path, so that they need no frame. An
 * instruction that takes its slow path makes the frame then.
 */
#include "opcodes.h"
#include "types.h"

#define INLINE_MOST	24	/* most instructions of an inlined function */

static bool may_be_integer(const struct types *t, uint32_t pc, uint32_t rk)
{
	return types_of_rk(t, pc, rk) & T_INTEGER;
}

static bool are_integers(const struct types *t, uint32_t pc, uint32_t i)
{
	return may_be_integer(t, pc, b_of(i)) && may_be_integer(t, pc, c_of(i));
}

static bool is_name(const struct types *t, uint32_t rk)
{
	return rk & RK_K && t->p->k[rk & ~RK_K].tag == TAG_STRING;
}

/* A key that may be a string has to be one, unless it may be an integer. */
static bool finds_element(const struct types *t, uint32_t pc, uint32_t table, uint32_t key)
{
	return fact_at(t, pc, table)->types & T_TABLE &&
	       (is_name(t, key) || may_be_integer(t, pc, key) ||
		types_of_rk(t, pc, key) == T_STRING);
}

/* Is it a call of a function of the library "bit" that is inline? */
static bool calls_bits(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc], a = a_of(i);

	return b_of(i) && c_of(i) && fact_at(t, pc, a)->sure &&
	       bits_takes(intrinsic_of(t->runtime, function_at(t, pc, a)), b_of(i) - 1);
}

/* Is an operand a constant for which the comparison is inline? */
static bool compares(const struct types *t, uint32_t pc, uint32_t rk, uint32_t other)
{
	int64_t k;

	if (other & RK_K)
		return false;
	return (rk_is_constant(t, pc, rk, &k) && k == (int32_t)k) ||
	       (rk & RK_K && t->p->k[rk & ~RK_K].tag != TAG_NUMBER);
}

/* Is the fast path of the instruction at @pc inline, and does control continue after it? */
static bool is_inline(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc];
	int64_t k;

	switch (op_of(i)) {
	case OP_MOVE: case OP_LOADK: case OP_LOADBOOL: case OP_LOADNIL: case OP_GETUPVAL:
	case OP_SETUPVAL: case OP_GETGLOBAL: case OP_NOT: case OP_TEST: case OP_TESTSET:
	case OP_JMP:
		return true;
	case OP_GETTABLE:
		return finds_element(t, pc, b_of(i), c_of(i));
	case OP_SETTABLE:
		return fact_at(t, pc, a_of(i))->origin != NEW_TABLE &&
		       finds_element(t, pc, a_of(i), b_of(i));
	case OP_ADD: case OP_SUB: case OP_MUL:
		return are_integers(t, pc, i);
	case OP_UNM:
		return may_be_integer(t, pc, b_of(i));
	case OP_MOD:
		return are_integers(t, pc, i) && rk_is_constant(t, pc, c_of(i), &k) && k > 0;
	case OP_LEN:
		return fact_at(t, pc, b_of(i))->types & T_STRING;
	case OP_EQ:
		return compares(t, pc, b_of(i), c_of(i)) || compares(t, pc, c_of(i), b_of(i)) ||
		       are_integers(t, pc, i);
	case OP_LT: case OP_LE:
		return are_integers(t, pc, i);
	case OP_RETURN:
		return b_of(i);
	case OP_CALL:
		return calls_bits(t, pc);
	default:
		return false;
	}
}

/* Does it jump backwards?  Only JMPs do, also those after tests. */
static bool has_loop(const struct proto *p)
{
	uint32_t pc;

	for (pc = 0; pc < p->ncode; pc++)
		if (op_of(p->code[pc]) == OP_JMP && sbx_of(p->code[pc]) < 0)
			return true;
	return false;
}

static bool is_inline_as_a_whole(const struct types *t)
{
	uint32_t pc;

	for (pc = 0; pc < t->p->ncode; pc++)
		if (t->reached[pc] && !is_inline(t, pc))
			return false;
	return !has_loop(t->p);
}

/* The types of the function's first result. */
static uint8_t returned(const struct types *t)
{
	uint32_t pc, i;
	uint8_t types = 0;

	for (pc = 0; pc < t->p->ncode; pc++) {
		i = t->p->code[pc];
		if (t->reached[pc] && op_of(i) == OP_RETURN)
			types |= b_of(i) == 1 ? T_NIL : fact_at(t, pc, a_of(i))->types;
	}
	return types;
}

/* The function that is certainly called here, if it is small enough. */
static const struct proto *small_callee(const struct types *t, const struct fact *callee)
{
	const struct proto *p;

	if (!callee->sure || callee->types != T_FUNCTION ||
	    callee->origin < (uintptr_t)t->runtime->arena ||
	    runtime_word(t->runtime, callee->origin + CLOSURE_IS_C, 1))
		return NULL;
	p = runtime_proto(t->runtime, runtime_word(t->runtime, callee->origin + CLOSURE_F, 8));
	return p && p->number && p->ncode <= INLINE_MOST && !p->is_vararg && !p->has_closures ?
	       p : NULL;
}

const struct proto *types_inline(const struct types *t, uint32_t pc, const struct fact *f,
				 uint8_t *result)
{
	uint32_t i = t->p->code[pc], a = a_of(i);
	const struct proto *p = NULL;
	struct types inner;

	if (op_of(i) == OP_CALL && b_of(i) && c_of(i) && !t->args)
		p = small_callee(t, &f[a]);
	if (!p)
		return NULL;
	if (!types_infer_for(&inner, t->runtime, p, f + a + 1, b_of(i) - 1) ||
	    !is_inline_as_a_whole(&inner))
		p = NULL;
	else
		*result = returned(&inner);
	types_free(&inner);
	return p;
}
