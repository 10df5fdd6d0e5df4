// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements types.h by dataflow analysis: facts flow along the instructions until none changes. */
#include <stdlib.h>
#include <string.h>

#include "opcodes.h"
#include "types.h"

#define FACTS_MAX	(1U << 20)

bool is_integer(uint64_t bits)
{
	int64_t v = (int64_t)bits;

	return (int64_t)((uint64_t)v << (64 - INTEGER_BITS)) >> (64 - INTEGER_BITS) == v;
}

/* -- Values at compile time -------------------------------------------------------------- */

static uint8_t types_of(struct value v)
{
	static const uint8_t types[] = {
		[TAG_NIL] = T_NIL, [TAG_BOOLEAN] = T_BOOLEAN, [TAG_STRING] = T_STRING,
		[TAG_TABLE] = T_TABLE, [TAG_FUNCTION] = T_FUNCTION,
	};

	if (v.tag == TAG_NUMBER)
		return is_integer(v.bits) ? T_INTEGER : T_NUMBER;
	return v.tag <= TAG_FUNCTION && types[v.tag] ? types[v.tag] : T_OTHER;
}

static uint64_t origin_of(struct value v)
{
	return v.tag == TAG_FUNCTION || v.tag == TAG_TABLE ? v.bits : 0;
}

static struct value upvalue(const struct runtime *runtime, const struct proto *p, uint32_t up)
{
	uint64_t at;

	if (!p->closure)
		return (struct value){ .tag = TAG_NIL };
	at = runtime_word(runtime, p->closure + CLOSURE_UPVALUES + 8 * up, 8);
	return runtime_value(runtime, runtime_word(runtime, at + UPVAL_V, 8));
}

bool upvalue_is_fixed(const struct runtime *runtime, const struct proto *p, uint32_t up,
		      struct value *value)
{
	*value = upvalue(runtime, p, up);
	return up < 64 && p->fixed >> up & 1 && types_of(*value) != T_OTHER;
}

bool upvalue_is_integer(const struct runtime *runtime, const struct proto *p, uint32_t up)
{
	return types_of(upvalue(runtime, p, up)) == T_INTEGER;
}

static uint64_t globals(const struct runtime *runtime)
{
	return origin_of(runtime_value(runtime, runtime->state + STATE_GLOBALS));
}

static uint64_t field_origin(const struct runtime *runtime, uint64_t table, struct value key)
{
	char name[64];
	long nr;

	runtime_text(runtime, key, name, sizeof(name));
	if (!table || !name[0])
		return 0;
	if (table == origin_of(runtime_field(runtime, globals(runtime), "syscall"))) {
		nr = syscall_number(name);
		return nr < 0 ? 0 : ID_SYSCALL + nr;
	}
	return origin_of(runtime_field(runtime, table, name));
}

/* -- One instruction ---------------------------------------------------------------------- */

uint8_t types_of_rk(const struct types *types, uint32_t pc, uint32_t rk)
{
	if (rk & RK_K)
		return types_of(types->p->k[rk & ~RK_K]);
	return fact_at(types, pc, rk)->types;
}

bool rk_is_constant(const struct types *types, uint32_t pc, uint32_t rk, int64_t *value)
{
	const struct fact *f;

	if (rk & RK_K) {
		*value = types->p->k[rk & ~RK_K].bits;
		return types_of_rk(types, pc, rk) == T_INTEGER;
	}
	f = fact_at(types, pc, rk);
	*value = f->origin;
	return f->constant;
}

uint64_t function_at(const struct types *types, uint32_t pc, uint32_t reg)
{
	const struct fact *f = fact_at(types, pc, reg);

	return f->types & T_FUNCTION ? f->origin : 0;
}

static void set(const struct types *t, struct fact *f, uint32_t reg, uint8_t types, uint64_t origin)
{
	if (reg >= t->p->nregs)
		return;
	f[reg].types = t->p->captured[reg] ? T_ANY : types;
	f[reg].origin = origin;
	f[reg].sure = false;
	f[reg].constant = false;
	f[reg].low = f[reg].types & T_INTEGER ? INTEGER_BITS - 1 : NOT_NEGATIVE;
	f[reg].high = f[reg].types & T_INTEGER ? INTEGER_BITS - 1 : 0;
}

/* The integers that the register may hold, after set(), are in @range. */
static void set_range(const struct types *t, struct fact *f, uint32_t reg, struct range range)
{
	if (reg >= t->p->nregs || t->p->captured[reg] || !(f[reg].types & T_INTEGER))
		return;
	f[reg].low = range.low < INTEGER_BITS ? range.low : INTEGER_BITS - 1;
	f[reg].high = range.high < INTEGER_BITS ? range.high : INTEGER_BITS - 1;
}

static void copy(const struct types *t, struct fact *f, uint32_t reg, struct fact from)
{
	if (reg >= t->p->nregs)
		return;
	set(t, f, reg, from.types, from.origin);
	set_range(t, f, reg, (struct range){ from.low, from.high });
	f[reg].sure = from.sure && !t->p->captured[reg];
	f[reg].constant = from.constant && !t->p->captured[reg];
}

/* The type of @v, if it is certain. */
static struct fact fact_of(struct value v)
{
	uint8_t types = types_of(v);
	struct range range = range_of_constant(v.bits);

	if (types == T_INTEGER)
		return (struct fact){
			.types = types, .constant = true, .origin = v.bits,
			.low = range.low, .high = range.high,
		};
	return (struct fact){ .types = types, .sure = true, .origin = origin_of(v) };
}

static void set_upvalue(const struct types *t, struct fact *f, uint32_t reg, uint32_t up)
{
	struct value v;

	if (upvalue_is_fixed(t->runtime, t->p, up, &v))
		return copy(t, f, reg, fact_of(v));
	set(t, f, reg, types_of(v) == T_INTEGER ? T_INTEGER : T_ANY, origin_of(v));
}

static void forget_from(const struct types *t, struct fact *f, uint32_t reg)
{
	for (; reg < t->p->nregs; reg++)
		set(t, f, reg, T_ANY, 0);
}

/* -- Functions of libraries ---------------------------------------------------------------- */

int intrinsic_of(const struct runtime *runtime, uint64_t origin)
{
	uint64_t f;

	if (origin < (uintptr_t)runtime->arena || !runtime_word(runtime, origin + CLOSURE_IS_C, 1))
		return -1;
	f = runtime_word(runtime, origin + CLOSURE_F, 8);
	return f < runtime->ntable ? runtime->intrinsics[f] - 1 : -1;
}

bool types_library(const struct types *t, uint32_t pc, const struct fact *f, struct value *found)
{
	uint32_t i = t->p->code[pc], key = c_of(i);
	uint64_t table;

	switch (op_of(i)) {
	case OP_GETGLOBAL:
		return t->runtime->globals &&
		       runtime_library(t->runtime, t->runtime->globals, t->p->k[bx_of(i)], found);
	case OP_GETTABLE: case OP_SELF:
		table = f[b_of(i)].types == T_TABLE && f[b_of(i)].sure ? f[b_of(i)].origin : 0;
		if (op_of(i) == OP_SELF)
			table = f[b_of(i)].types & T_STRING && !f[b_of(i)].origin ?
				t->runtime->methods : 0;
		return table && key & RK_K &&
		       runtime_library(t->runtime, table, t->p->k[key & ~RK_K], found);
	default:
		return false;
	}
}

uint64_t types_view_method(const struct types *t, uint32_t pc, const struct fact *f)
{
	uint32_t i = t->p->code[pc], b = b_of(i);

	if (!t->p->views[b] || !(f[b].types & T_OTHER) || !(c_of(i) & RK_K))
		return 0;
	return runtime_view_method(t->runtime, t->p->k[c_of(i) & ~RK_K]);
}

/* Does the next instruction test the result of the call at @pc for nil? */
static bool is_tested(const struct types *t, uint32_t pc)
{
	uint32_t a = a_of(t->p->code[pc]), next = pc + 1 < t->p->ncode ? t->p->code[pc + 1] : 0;

	switch (op_of(next)) {
	case OP_TEST:
		return a_of(next) == a;
	case OP_TESTSET:
		return b_of(next) == a;
	case OP_EQ:
		return (b_of(next) == a && c_of(next) & RK_K &&
			t->p->k[c_of(next) & ~RK_K].tag == TAG_NIL) ||
		       (c_of(next) == a && b_of(next) & RK_K &&
			t->p->k[b_of(next) & ~RK_K].tag == TAG_NIL);
	default:
		return false;
	}
}

uint32_t expected_arguments(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc], before = pc ? t->p->code[pc - 1] : 0;
	struct range range;

	if (b_of(i))
		return b_of(i) - 1;
	if (!pc || !t->p->begins[pc - 1] || op_of(before) != OP_CALL || c_of(before) ||
	    a_of(before) <= a_of(i) || !t->reached[pc - 1] ||
	    expected_result(t, pc - 1, fact_at(t, pc - 1, 0), &range) != T_INTEGER)
		return ~0U;
	return a_of(before) - a_of(i);
}

uint32_t open_calls(const struct types *t, uint32_t pc)
{
	const struct proto *p = t->p;
	uint32_t n;

	for (n = 0; op_of(p->code[pc + n]) == OP_CALL && (!n || !b_of(p->code[pc + n])); n++)
		if (c_of(p->code[pc + n]) || pc + n + 1 >= p->ncode)
			return n;
	return 0;
}

/* string.byte() is expected to find a character if the script does not test the result. */
uint8_t expected_result(const struct types *t, uint32_t pc, const struct fact *f,
			struct range *range)
{
	uint32_t i = t->p->code[pc], n;
	int intrinsic;

	*range = RANGE_OF_INTEGERS;
	if (!(f[a_of(i)].types & T_FUNCTION) || t->args || c_of(i) == 1 || c_of(i) > 2 ||
	    (!c_of(i) && !open_calls(t, pc)))
		return T_ANY;
	intrinsic = intrinsic_of(t->runtime, f[a_of(i)].origin);
	n = expected_arguments(t, pc);
	if (intrinsic == INTRINSIC_str_byte) {
		*range = (struct range){ NOT_NEGATIVE, 8 };
		return (n == 1 || n == 2) && !is_tested(t, pc) ? T_INTEGER : T_ANY;
	}
	if (intrinsic == INTRINSIC_math_floor && n == 1) {
		*range = range_of_floor(t, pc);
		return T_INTEGER;
	}
	if (!bits_takes(intrinsic, n))
		return T_ANY;
	*range = bits_range(t, pc, intrinsic);
	return T_INTEGER;
}

static void set_library(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t a = a_of(t->p->code[pc]);
	struct value v;

	if (types_library(t, pc, f, &v))
		copy(t, f, a, fact_of(v));
	else
		set(t, f, a, T_ANY, 0);
}

/* The counter, to which a positive step is added up to the limit, or the reverse. */
static void for_loop(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t a = a_of(t->p->code[pc]);
	struct range counter = { f[a + 3].low, f[a + 3].high };
	struct range limit = { f[a + 1].low, f[a + 1].high };
	int64_t step;

	if (!rk_is_constant(t, pc, a + 2, &step) || !step)
		counter = RANGE_OF_INTEGERS;
	else if (step > 0)
		counter.high = limit.high;
	else
		counter.low = limit.low;
	set(t, f, a + 3, T_INTEGER, 0);
	set_range(t, f, a + 3, counter);
}

/* The loop begins with the counter that its end then finds, unless it does not run at all. */
static void for_prep(const struct types *t, struct fact *f, uint32_t a)
{
	struct fact first = f[a], limit = f[a + 1], by = f[a + 2];
	bool known = first.types & T_INTEGER;
	uint32_t r;

	for (r = a; r < a + 4; r++)
		set(t, f, r, T_INTEGER, 0);
	if (known)
		set_range(t, f, a + 3, (struct range){ first.low, first.high });
	if (limit.types & T_INTEGER)
		set_range(t, f, a + 1, (struct range){ limit.low, limit.high });
	if (by.constant)
		copy(t, f, a + 2, by);
}

static void self(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], a = a_of(i);
	uint8_t types = f[b_of(i)].types;
	struct fact object = f[b_of(i)];
	uint64_t method = types_view_method(t, pc, f);

	set_library(t, pc, f);
	if (method)
		set(t, f, a, T_ANY, method);
	else if (types != T_STRING && f[a].origin)
		set(t, f, a, T_ANY, f[a].origin);
	copy(t, f, a + 1, object);
}

#define T_MAY_HAVE_METATABLE	(T_STRING | T_TABLE | T_OTHER)

/* The types of the operands of the arithmetic at @pc with which control continues after it. */
static void operand_types(const struct types *t, uint32_t pc, uint8_t types[2])
{
	uint32_t i = t->p->code[pc];
	uint8_t b = types_of_rk(t, pc, b_of(i));
	uint8_t c = op_of(i) == OP_UNM ? b : types_of_rk(t, pc, c_of(i));

	if (b & c & T_INTEGER && types_takes_integer(t, pc, fact_at(t, pc, 0))) {
		b = c = T_INTEGER;
	} else if (b & T_NUMBERS && c & T_NUMBERS && !((b | c) & T_MAY_HAVE_METATABLE)) {
		b &= T_NUMBERS;
		c &= T_NUMBERS;
	}
	types[0] = b;
	types[1] = c;
}

uint8_t types_of_arith(const struct types *t, uint32_t pc)
{
	uint32_t i = t->p->code[pc];
	uint8_t types[2], b, c;
	int64_t k;

	operand_types(t, pc, types);
	b = types[0];
	c = types[1];
	if (op_of(i) == OP_MOD && types_chain(t, pc))
		return T_INTEGER;
	if ((b | c) & ~T_NUMBERS)
		return T_ANY;
	switch (op_of(i)) {
	case OP_ADD: case OP_SUB: case OP_MUL:
		return b == T_INTEGER && c == T_INTEGER ? T_INTEGER : T_NUMBERS;
	case OP_MOD:
		return b == T_INTEGER && rk_is_constant(t, pc, c_of(i), &k) && k > 0 ? T_INTEGER :
										       T_NUMBERS;
	default:
		return T_NUMBERS;
	}
}

bool for_step(const struct types *t, uint32_t pc, int64_t *step)
{
	return rk_is_constant(t, pc, a_of(t->p->code[pc]) + 2, step) && *step &&
	       *step == (int32_t)*step;
}

static uint64_t gettable_origin(const struct types *t, const struct fact *f, uint32_t table,
				uint32_t key)
{
	if (!(key & RK_K) || !(f[table].types & T_TABLE))
		return 0;
	return field_origin(t->runtime, f[table].origin, t->p->k[key & ~RK_K]);
}

/* R(@reg) has one of @types, as the instruction has shown: it goes on only with these. */
static void refine(const struct types *t, struct fact *f, uint32_t reg, uint8_t types)
{
	if (t->p->captured[reg] || !(f[reg].types & types) || !(f[reg].types & ~types))
		return;
	f[reg].types &= types;
	if (f[reg].types & T_INTEGER)
		f[reg].origin = f[reg].constant ? f[reg].origin : 0;
}

static void move(const struct types *t, uint32_t pc, struct fact *f, uint32_t a, uint32_t b)
{
	struct fact from = f[b];

	if (from.types & T_INTEGER && from.types != T_INTEGER && types_takes_integer(t, pc, f)) {
		refine(t, f, b, T_INTEGER);
		from.types = T_INTEGER;
		from.origin = 0;
		from.sure = false;
	}
	copy(t, f, a, from);
}

static void arith(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], n;
	uint8_t types[2];

	operand_types(t, pc, types);
	if (!(b_of(i) & RK_K))
		refine(t, f, b_of(i), types[0]);
	if (op_of(i) != OP_UNM && !(c_of(i) & RK_K))
		refine(t, f, c_of(i), types[1]);
	/* Intermediate results of a chain, before its remainder, are not stored. */
	for (n = 1; op_of(i) == OP_MOD && n < t->chain[pc]; n++)
		set(t, f, a_of(t->p->code[pc - n]), T_ANY, 0);
	set(t, f, a_of(i), types_of_arith(t, pc), 0);
	set_range(t, f, a_of(i), range_of_result(t, pc));
}

static void concat(const struct types *t, struct fact *f, uint32_t i)
{
	uint8_t types = 0;
	uint32_t r;

	for (r = b_of(i); r <= c_of(i); r++)
		types |= f[r].types;
	types = types & ~(T_NUMBERS | T_STRING) ? T_ANY : T_STRING;
	/*
	 * The operands become strings; the frame of a metamethod overwrites the registers after
	 * them.
	 */
	forget_from(t, f, b_of(i));
	set(t, f, a_of(i), types, 0);
}

static void call(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], a = a_of(i);
	struct range range = RANGE_OF_INTEGERS;
	struct result results[RESULTS_MOST];
	uint32_t nresults = types_results(t, pc, f, results), n;
	uint8_t result = T_ANY;
	bool is_wanted;

	if (f[a].sure && f[a].types == T_FUNCTION &&
	    syscall_is_small(syscall_of(t->runtime, f[a].origin)))
		result = T_INTEGER;
	else if (!types_inline(t, pc, f, &result))
		result = expected_result(t, pc, f, &range);
	/* If all results are wanted, one is expected of these functions only. */
	is_wanted = c_of(i) > 1 || (!c_of(i) && range_bits(range) < INTEGER_BITS - 1);
	forget_from(t, f, a);
	for (n = 0; n < nresults; n++) {
		set(t, f, a + n, results[n].types, 0);
		set_range(t, f, a + n, results[n].range);
	}
	/* The caller can check these types even if the call was not inlined. */
	if (is_wanted && (result == T_INTEGER || result == T_BOOLEAN)) {
		set(t, f, a, result, 0);
		set_range(t, f, a, range);
	}
}

/* Updates the facts before the instruction at @pc to those after it. */
static void step(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], a = a_of(i), b = b_of(i), c = c_of(i), r;
	uint64_t origin;

	switch (op_of(i)) {
	case OP_MOVE:
		move(t, pc, f, a, b);
		break;
	case OP_LOADK:
		copy(t, f, a, fact_of(t->p->k[bx_of(i)]));
		break;
	case OP_LOADBOOL: case OP_NOT:
		set(t, f, a, T_BOOLEAN, 0);
		break;
	case OP_LOADNIL:
		for (r = a; r <= b; r++)
			set(t, f, r, T_NIL, 0);
		break;
	case OP_GETUPVAL:
		set_upvalue(t, f, a, b);
		break;
	case OP_GETGLOBAL:
		set_library(t, pc, f);
		if (!f[a].sure)
			set(t, f, a, T_ANY,
			    field_origin(t->runtime, globals(t->runtime), t->p->k[bx_of(i)]));
		break;
	case OP_GETTABLE:
		origin = gettable_origin(t, f, b, c);
		set_library(t, pc, f);
		if (!f[a].sure)
			set(t, f, a, T_ANY, origin);
		break;
	case OP_SELF:
		self(t, pc, f);
		break;
	case OP_NEWTABLE:
		set(t, f, a, T_TABLE, NEW_TABLE);
		break;
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_POW: case OP_UNM:
		arith(t, pc, f);
		break;
	case OP_LEN:
		set(t, f, a, f[b].types & ~(T_STRING | T_TABLE) ? T_ANY : T_INTEGER, 0);
		if (f[a].types == T_INTEGER)
			set_range(t, f, a, (struct range){ NOT_NEGATIVE, 32 });
		break;
	case OP_CONCAT:
		concat(t, f, i);
		break;
	case OP_CALL:
		call(t, pc, f);
		break;
	case OP_TAILCALL: case OP_VARARG:
		forget_from(t, f, a);
		break;
	case OP_TFORLOOP:
		forget_from(t, f, a + 2);
		break;
	case OP_FORPREP:
		for_prep(t, f, a);
		break;
	case OP_FORLOOP:
		for_loop(t, pc, f);
		break;
	case OP_CLOSURE:
		set(t, f, a, T_FUNCTION, 0);
		break;
	default:
		break;
	}
}

/* -- All instructions ------------------------------------------------------------------------ */

/* Ranges that grow around a loop do so in few steps. */
static int8_t wider(int8_t bits, int8_t other)
{
	static const int8_t steps[] = { 0, 8, 16, 31, 32, 40, INTEGER_BITS - 1 };
	uint32_t n = 0;

	if (other <= bits)
		return bits;
	while (steps[n] < other)
		n++;
	return steps[n];
}

/* Merges @from into @to. Returns whether @to has changed. */
static bool merge(struct fact *to, const struct fact *from)
{
	struct fact was = *to;
	bool same = was.origin == from->origin;

	if (same && was.types == from->types && was.sure == from->sure &&
	    was.constant == from->constant && was.low >= from->low && was.high >= from->high)
		return false;
	to->types |= from->types;
	to->low = wider(was.low, from->low);
	to->high = wider(was.high, from->high);
	to->origin = same ? was.origin : 0;
	to->sure &= same && from->sure;
	to->constant &= same && from->constant;
	return to->types != was.types || to->origin != was.origin || to->sure != was.sure ||
	       to->constant != was.constant || to->low != was.low || to->high != was.high;
}

/* Control may reach @pc with the facts @f. */
static void flow(struct types *t, uint32_t pc, const struct fact *f)
{
	struct fact *there = &t->facts[pc * t->p->nregs];
	bool changed = false;
	uint32_t r;

	if (!t->reached[pc]) {
		memcpy(there, f, t->p->nregs * sizeof(*f));
		t->reached[pc] = changed = true;
	} else {
		for (r = 0; r < t->p->nregs; r++)
			changed |= merge(&there[r], &f[r]);
	}
	if (!changed)
		return;
	t->waiting[pc] = true;
	if (pc < t->next)
		t->next = pc;
}

static uint32_t jump_target(const struct proto *p, uint32_t pc)
{
	return pc + 1 + sbx_of(p->code[pc]);
}

static uint32_t next_of(const struct types *t, uint32_t pc)
{
	return pc + 1 + proto_operands(t->p, pc);
}

/* May a value of these types test as true, or as false? */
static bool may_be(uint8_t types, bool truth)
{
	return types & (truth ? ~T_NIL : T_NIL | T_BOOLEAN);
}

/* Control reaches @pc if R(@reg) has one of @types. */
static void flow_if(struct types *t, uint32_t pc, struct fact *f, uint32_t reg, uint8_t types)
{
	struct fact was = f[reg];

	refine(t, f, reg, types);
	flow(t, pc, f);
	f[reg] = was;
}

static uint8_t types_that_test(bool truth)
{
	return truth ? T_ANY & ~T_NIL : T_NIL | T_BOOLEAN;
}

/*
 * The types of values that equal the constant @k, or that do not. The function is left where an
 * integer of 64 bits equals a number (emit_equals_number()).
 */
static uint8_t types_equal(struct value k, bool equal)
{
	if (!equal || k.tag == TAG_USERDATA)
		return k.tag == TAG_NIL ? T_ANY & ~T_NIL : T_ANY;
	/* 0 and -0 are equal. */
	if (k.tag == TAG_NUMBER && (!k.bits || k.bits == MINUS_ZERO))
		return T_NUMBERS;
	return types_of(k);
}

/* After the OP_EQ at @pc. */
static void flow_equal(struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], next = next_of(t, pc), reg = b_of(i), k = c_of(i);

	if (reg & RK_K) {
		reg = c_of(i);
		k = b_of(i);
	}
	if (reg & RK_K || !(k & RK_K)) {
		flow(t, next + 1, f);
		return flow(t, jump_target(t->p, next), f);
	}
	flow_if(t, next + 1, f, reg, types_equal(t->p->k[k & ~RK_K], !a_of(i)));
	flow_if(t, jump_target(t->p, next), f, reg, types_equal(t->p->k[k & ~RK_K], a_of(i)));
}

/*
 * An operand compared with a number is a number; for an integer of 64 bits the function is left
 * (leave_at_int64()).
 */
static void refine_ordered(const struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t b = b_of(t->p->code[pc]), c = c_of(t->p->code[pc]);

	if (!(types_of_rk(t, pc, b) & ~T_NUMBERS) && !(c & RK_K))
		refine(t, f, c, T_NUMBERS);
	if (!(types_of_rk(t, pc, c) & ~T_NUMBERS) && !(b & RK_K))
		refine(t, f, b, T_NUMBERS);
}

static void flow_on(struct types *t, uint32_t pc, struct fact *f)
{
	uint32_t i = t->p->code[pc], next = next_of(t, pc);

	step(t, pc, f);
	switch (op_of(i)) {
	case OP_RETURN:
		return;
	case OP_JMP: case OP_FORPREP:
		return flow(t, jump_target(t->p, pc), f);
	case OP_LOADBOOL:
		return flow(t, next + !!c_of(i), f);
	case OP_TESTSET:
		if (may_be(f[b_of(i)].types, !c_of(i)))
			flow_if(t, next + 1, f, b_of(i), types_that_test(!c_of(i)));
		if (!may_be(f[b_of(i)].types, c_of(i)))
			return;
		refine(t, f, b_of(i), types_that_test(c_of(i)));
		copy(t, f, a_of(i), f[b_of(i)]);
		return flow(t, jump_target(t->p, next), f);
	case OP_TEST:
		if (may_be(f[a_of(i)].types, !c_of(i)))
			flow_if(t, next + 1, f, a_of(i), types_that_test(!c_of(i)));
		if (may_be(f[a_of(i)].types, c_of(i)))
			flow_if(t, jump_target(t->p, next), f, a_of(i), types_that_test(c_of(i)));
		return;
	case OP_TFORLOOP:
		flow(t, next + 1, f);
		return flow(t, jump_target(t->p, next), f);
	case OP_EQ:
		return flow_equal(t, pc, f);
	case OP_LT: case OP_LE:
		refine_ordered(t, pc, f);
		flow(t, next + 1, f);
		return flow(t, jump_target(t->p, next), f);
	case OP_FORLOOP:
		flow(t, jump_target(t->p, pc), f);
		return flow(t, next, f);
	default:
		if (next < t->p->ncode)
			flow(t, next, f);
	}
}

static void mark_targets(struct types *t)
{
	const struct proto *p = t->p;
	uint32_t pc;

	for (pc = 0; pc < p->ncode; pc = next_of(t, pc)) {
		switch (op_of(p->code[pc])) {
		case OP_JMP: case OP_FORLOOP: case OP_FORPREP:
			t->target[jump_target(p, pc)] = true;
			break;
		case OP_LOADBOOL:
			if (c_of(p->code[pc]))
				t->target[pc + 2] = true;
			break;
		case OP_EQ: case OP_LT: case OP_LE: case OP_TEST: case OP_TESTSET: case OP_TFORLOOP:
			t->target[pc + 2] = true;
			break;
		default:
			break;
		}
	}
}

static void begin(struct types *t)
{
	struct fact *f = t->now;
	struct range range;
	uint32_t r;

	for (r = 0; r < t->p->nregs; r++) {
		/* Parameters; the other registers are nil. */
		bool given = r < t->p->nparams || t->p->is_vararg;

		if (t->args && given && r < t->nargs)
			copy(t, f, r, t->args[r]);
		else
			set(t, f, r, given && !t->args ? T_ANY : T_NIL, 0);
		if (!types_expected(t, r, &range))
			continue;
		set(t, f, r, T_INTEGER, 0);
		set_range(t, f, r, range);
	}
	flow(t, 0, f);
}

/* Visits the first waiting instruction, because control mostly flows forward. */
static void infer(struct types *t)
{
	uint32_t pc;

	begin(t);
	for (pc = 0; pc < t->p->ncode; pc = t->next) {
		t->next = pc + 1;
		if (!t->waiting[pc])
			continue;
		t->waiting[pc] = false;
		memcpy(t->now, &t->facts[pc * t->p->nregs], t->p->nregs * sizeof(*t->now));
		flow_on(t, pc, t->now);
	}
}

bool types_infer(struct types *t, const struct runtime *runtime, const struct proto *p)
{
	if (!types_infer_for(t, runtime, p, NULL, 0))
		return false;
	if (types_find_expected(t)) {
		memset(t->reached, 0, p->ncode + 2);
		infer(t);
	}
	return true;
}

bool types_infer_for(struct types *t, const struct runtime *runtime, const struct proto *p,
		     const struct fact *args, uint32_t nargs)
{
	*t = (struct types){ .runtime = runtime, .p = p, .args = args, .nargs = nargs };
	if (p->ncode * p->nregs > FACTS_MAX)
		return false;
	t->facts = calloc(p->ncode * p->nregs, sizeof(*t->facts));
	t->reached = calloc(p->ncode + 2, 1);
	t->target = calloc(p->ncode + 2, 1);
	t->chain = calloc(p->ncode + 2, 1);
	t->waiting = calloc(p->ncode + 2, 1);
	t->taken = calloc(p->ncode + 2, sizeof(*t->taken));
	/* Room for any register number; allocated, because threads have little stack. */
	t->now = calloc(REGISTERS, sizeof(*t->now));
	if (!t->facts || !t->reached || !t->target || !t->chain || !t->waiting || !t->taken ||
	    !t->now)
		return false;
	mark_targets(t);
	types_find_taken(t);
	if (!types_find_chains(t))
		return false;
	infer(t);
	return true;
}

void types_free(struct types *t)
{
	free(t->facts);
	free(t->reached);
	free(t->target);
	free(t->chain);
	free(t->waiting);
	free(t->taken);
	free(t->now);
}
