// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements a part of types.h: what the functions of libraries return, and what they take. If a
 * call certainly is of such a function, so are the types of its results, also where the runtime
 * makes the call.
 */
#include "opcodes.h"
#include "pattern.h"
#include "types.h"

#define ANY_INTEGER	RANGE_OF_INTEGERS
#define NATURAL		((struct range){ NOT_NEGATIVE, INTEGER_BITS - 1 })

/* -- Constants --------------------------------------------------------------------------------- */

bool types_last_at(const struct types *t, uint32_t *pc, uint32_t reg)
{
	while (*pc && !t->target[*pc] && t->p->begins[*pc - 1])
		if (a_of(t->p->code[--*pc]) <= reg)
			return true;
	return false;
}

uint64_t types_constant_text(const struct types *t, uint32_t pc, uint32_t reg)
{
	const struct proto *p = t->p;
	uint32_t i;

	if (!types_last_at(t, &pc, reg))
		return 0;
	i = p->code[pc];
	if (op_of(i) != OP_LOADK || a_of(i) != reg || p->k[bx_of(i)].tag != TAG_STRING)
		return 0;
	return p->k[bx_of(i)].bits;
}

bool types_scalar(const struct types *t, uint32_t pc, uint32_t reg, struct scalar *kind)
{
	struct value name = { TAG_STRING, types_constant_text(t, pc, reg) };
	char text[8];

	runtime_text(t->runtime, name, text, sizeof(text));
	if (strlen(text) != 2 || !strchr("iub", text[0]) || !strchr("1248", text[1]))
		return false;
	*kind = (struct scalar){ text[1] - '0', text[0] == 'i', text[0] == 'b' };
	return !kind->is_big || kind->size > 1;
}

/* -- Results ----------------------------------------------------------------------------------- */

/* Of util.peek(). */
static struct result peeked(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc];
	struct scalar kind = { 4, true, false };
	int bits;

	if (b_of(i) != 2 && (b_of(i) != 3 || !types_scalar(t, pc, a_of(i) + 2, &kind)))
		return (struct result){ T_ANY, ANY_INTEGER };
	/* Beyond 2^53 it is an object. */
	if (kind.size == 8)
		return (struct result){ T_NUMBERS | T_OTHER, ANY_INTEGER };
	bits = kind.size * 8;
	if (kind.is_signed)
		return (struct result){ T_INTEGER, { bits - 1, bits - 1 } };
	return (struct result){ T_INTEGER, { NOT_NEGATIVE, bits } };
}

/* Capture @n of string.match(). */
static struct result capture(const struct pattern_form *form, uint32_t n)
{
	if (!form)
		return (struct result){ T_NIL | T_STRING | T_INTEGER, NATURAL };
	if (n >= form->count)
		return (struct result){ n ? T_NIL : T_NIL | T_STRING, ANY_INTEGER };
	if (form->positions >> n & 1)
		return (struct result){ T_NIL | T_INTEGER, NATURAL };
	return (struct result){ T_NIL | T_STRING, ANY_INTEGER };
}

static uint32_t captures(const struct types *t, uint32_t pc, struct result *results,
			 uint32_t wanted)
{
	uint32_t a = a_of(t->p->code[pc]), n;
	uint64_t text = types_constant_text(t, pc, a + 2);
	struct pattern_form form;
	bool is_known = text && pattern_parse(t->runtime, text, &form);

	for (n = 0; n < wanted; n++)
		results[n] = capture(is_known ? &form : NULL, n);
	return wanted;
}

static uint32_t results_of(const struct types *t, uint32_t pc, int intrinsic,
			   struct result *results, uint32_t wanted)
{
	switch (intrinsic) {
	case INTRINSIC_util_peek:
		results[0] = peeked(t, pc);
		return 1;
	case INTRINSIC_str_sub: case INTRINSIC_str_lower: case INTRINSIC_str_upper:
	case INTRINSIC_str_format: case INTRINSIC_str_char: case INTRINSIC_tconcat:
	case INTRINSIC_util_str_in:
		results[0] = (struct result){ T_STRING, ANY_INTEGER };
		return 1;
	case INTRINSIC_str_gsub:
		results[0] = (struct result){ T_STRING, ANY_INTEGER };
		results[1] = (struct result){ T_INTEGER, NATURAL };
		return 2;
	case INTRINSIC_str_byte:
		results[0] = (struct result){ T_NIL | T_INTEGER, { NOT_NEGATIVE, 8 } };
		return 1;
	case INTRINSIC_str_find:
		results[0] = results[1] = (struct result){ T_NIL | T_INTEGER, NATURAL };
		return 2;
	case INTRINSIC_str_match:
		return captures(t, pc, results, wanted);
	case INTRINSIC_util_find:
		results[0] = (struct result){ T_NIL | T_INTEGER, NATURAL };
		return 1;
	case INTRINSIC_util_str_out:
		results[0] = (struct result){ T_INTEGER, NATURAL };
		return 1;
	case INTRINSIC_util_number:
		results[0] = (struct result){ T_NIL | T_NUMBERS, ANY_INTEGER };
		results[1] = (struct result){ T_NIL | T_INTEGER, NATURAL };
		return 2;
	case INTRINSIC_luaB_tonumber:
		results[0] = (struct result){ T_NIL | T_NUMBERS, ANY_INTEGER };
		return 1;
	default:
		return 0;
	}
}

uint32_t types_results(const struct types *t, uint32_t pc, const struct fact *f,
		       struct result results[RESULTS_MOST])
{
	uint32_t i = t->p->code[pc], wanted = c_of(i) ? c_of(i) - 1 : 0, n;

	if (!wanted || !f[a_of(i)].sure || f[a_of(i)].types != T_FUNCTION)
		return 0;
	if (wanted > RESULTS_MOST)
		wanted = RESULTS_MOST;
	n = results_of(t, pc, intrinsic_of(t->runtime, f[a_of(i)].origin), results, wanted);
	return n < wanted ? n : wanted;
}

/* -- Arguments --------------------------------------------------------------------------------- */

static bool is_straight(uint32_t i)
{
	switch (op_of(i)) {
	case OP_JMP: case OP_EQ: case OP_LT: case OP_LE: case OP_TEST: case OP_TESTSET:
	case OP_FORLOOP: case OP_FORPREP: case OP_TFORLOOP: case OP_RETURN: case OP_LOADBOOL:
		return false;
	default:
		return true;
	}
}

static bool may_make_integer(uint32_t i)
{
	return op_of(i) == OP_MOVE || op_of(i) == OP_ADD || op_of(i) == OP_SUB ||
	       op_of(i) == OP_MUL;
}

/* Arguments are made in their order, each in its register. */
static void find_makers(struct types *t, uint32_t call)
{
	const struct proto *p = t->p;
	uint32_t i = p->code[call], a = a_of(i), reg = a + b_of(i) - 1, pc = call;

	/* The last arguments are the results of the call before. */
	if (!b_of(i))
		reg = a_of(p->code[--pc]) - 1;
	for (; reg > a && pc && !t->target[pc] && p->begins[pc - 1]; pc--) {
		i = p->code[pc - 1];
		if (!is_straight(i))
			return;
		if (!op_writes(i, reg))
			continue;
		if (may_make_integer(i))
			t->taken[pc - 1] = call;
		reg--;
	}
}

void types_find_taken(struct types *t)
{
	const struct proto *p = t->p;
	uint32_t pc;

	for (pc = 1; pc < p->ncode; pc++)
		if (p->begins[pc] && p->begins[pc - 1] &&
		    (op_of(p->code[pc]) == OP_CALL || op_of(p->code[pc]) == OP_TAILCALL))
			find_makers(t, pc);
}

/* Is argument @n of the function an address, a length or a position? */
static bool takes_integer(int intrinsic, uint32_t n)
{
	switch (intrinsic) {
	case INTRINSIC_util_peek: case INTRINSIC_util_poke:
		return n == 1;
	case INTRINSIC_util_str_in: case INTRINSIC_util_find: case INTRINSIC_util_number:
		return n == 1 || n == 2;
	case INTRINSIC_util_str_out:
		return n == 2;
	case INTRINSIC_str_byte: case INTRINSIC_str_sub:
		return n == 2 || n == 3;
	default:
		return false;
	}
}

bool types_takes_integer(const struct types *t, uint32_t pc, const struct fact *f)
{
	uint32_t call = t->taken[pc], a = a_of(t->p->code[call]);

	return call && f[a].types & T_FUNCTION &&
	       takes_integer(intrinsic_of(t->runtime, f[a].origin), a_of(t->p->code[pc]) - a);
}
