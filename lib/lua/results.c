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
/* A position or a length: no run has the time to look at more. */
#define NATURAL		((struct range){ NOT_NEGATIVE, 40 })

/* Of an address of user space, at first, and of a length. */
#define ADDRESS_BITS	47
#define LENGTH_BITS	31

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

static bool is_sum(uint32_t i)
{
	return op_of(i) == OP_ADD || op_of(i) == OP_SUB || op_of(i) == OP_MUL;
}

/* Is the register an operand? */
static bool reads(uint32_t i, uint32_t reg)
{
	return b_of(i) == reg || (op_of(i) != OP_MOVE && c_of(i) == reg);
}

static bool may_make_integer(uint32_t i)
{
	return op_of(i) == OP_MOVE || is_sum(i);
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
		/* Before a sum's last operand is added, the rest of it is in the same register. */
		if (!is_sum(i) || !reads(i, reg))
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

/*
 * The bits of the argument that the instruction at @pc makes for a library's function: of an
 * address, a length or another integer; 0: it is not an integer.
 */
static uint32_t taken_bits(const struct types *t, uint32_t pc, const struct fact *f)
{
	uint32_t call = t->taken[pc], a = a_of(t->p->code[call]), n = a_of(t->p->code[pc]) - a;
	int intrinsic;

	if (!call || !(f[a].types & T_FUNCTION))
		return 0;
	intrinsic = intrinsic_of(t->runtime, f[a].origin);
	if (!takes_integer(intrinsic, n))
		return 0;
	switch (intrinsic) {
	case INTRINSIC_str_byte: case INTRINSIC_str_sub:
		return INTEGER_BITS;
	case INTRINSIC_util_str_out:
		return ADDRESS_BITS;
	default:
		return n == 1 ? ADDRESS_BITS : LENGTH_BITS;
	}
}

bool types_takes_integer(const struct types *t, uint32_t pc, const struct fact *f)
{
	return taken_bits(t, pc, f) != 0;
}

/* -- Parameters -------------------------------------------------------------------------------- */

/* Does the instruction write the parameter, or test whether it is there? */
static bool doubts(const struct types *t, uint32_t pc, uint32_t reg)
{
	uint32_t i = t->p->code[pc];

	switch (op_of(i)) {
	case OP_TEST:
		return a_of(i) == reg;
	case OP_TESTSET:
		return a_of(i) == reg || b_of(i) == reg;
	case OP_EQ:
		return b_of(i) == reg || c_of(i) == reg;
	default:
		return op_writes(i, reg);
	}
}

/* Does the instruction add a small constant to the register, or subtract it? */
static bool is_offset(const struct types *t, uint32_t pc, uint32_t reg)
{
	uint32_t i = t->p->code[pc], other = b_of(i) == reg ? c_of(i) : b_of(i);
	int64_t k;

	return (op_of(i) == OP_ADD || (op_of(i) == OP_SUB && b_of(i) == reg)) &&
	       rk_is_constant(t, pc, other, &k) && k == (int32_t)k;
}

/* As taken_bits(), if the instruction makes an argument from the parameter, alone or in a sum. */
static uint32_t use_bits(const struct types *t, uint32_t pc, uint32_t reg)
{
	uint32_t i = t->p->code[pc], bits;

	if (!t->reached[pc] || !may_make_integer(i) || !reads(i, reg))
		return 0;
	bits = taken_bits(t, pc, fact_at(t, pc, 0));
	return bits && is_sum(i) && !is_offset(t, pc, reg) ? INTEGER_BITS : bits;
}

/* Does the whole function neither write the parameter nor test whether it is there? */
static bool is_undoubted(const struct types *t, uint32_t reg)
{
	uint32_t pc;

	for (pc = 0; pc < t->p->ncode; pc++)
		if (t->p->begins[pc] && doubts(t, pc, reg))
			return false;
	return !t->p->captured[reg];
}

/* Few parameters become arguments of such functions: only their doubts are looked for. */
static uint32_t expected_bits(const struct types *t, uint32_t reg)
{
	uint32_t pc, bits, least = 0;

	for (pc = 0; pc < t->p->ncode; pc++) {
		bits = t->taken[pc] ? use_bits(t, pc, reg) : 0;
		if (bits && (!least || bits < least))
			least = bits;
	}
	return least && is_undoubted(t, reg) ? least : 0;
}

bool types_find_expected(struct types *t)
{
	bool any = false;
	uint32_t reg;

	for (reg = 0; reg < t->p->nparams && !t->p->is_vararg; reg++) {
		t->expected[reg] = expected_bits(t, reg);
		any |= t->expected[reg] != 0;
	}
	return any;
}

bool types_expected(const struct types *t, uint32_t reg, struct range *range)
{
	uint8_t bits = t->expected[reg];

	*range = bits == INTEGER_BITS ? RANGE_OF_INTEGERS : (struct range){ NOT_NEGATIVE, bits };
	return bits;
}
