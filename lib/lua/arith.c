// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Arithmetic of integers (see compile.h), as exact as that of doubles. The result of two integers
 * is expected to be an integer, so that types in loops stay known; it is checked only where the
 * operands' ranges leave it open.
 *
 * Hashes and random numbers multiply beyond the 52 bits of an integer and take the result modulo a
 * constant: (h * 16777619) % 2^32. Such a chain of instructions is computed as one, in 63 bits,
 * where each product and sum is rounded to the 53 bits that a double has. Nothing is stored before
 * the chain's end, so a slow path can begin again with its first instruction. So are sums and
 * products of integers whose results only the next of them uses, as in an address.
 */
#include <stdlib.h>

#include "compile.h"

#define DOUBLE_BITS	53
#define EXACT_BITS	52	/* of numbers whose remainder takes no rounding */
#define WIDE_BITS	62
#define CHAIN_MOST	4
#define FACTOR_BITS	31	/* of factors with unknown ranges */

/* A number with |v| <= 2^@bits, before or after it is rounded. */
struct wide {
	int bits;
	bool may_be_negative;
};

static u32 insn_at(const struct compiler *c)
{
	return c->p->code[c->pc];
}

static bool may_be_integer(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk) & T_INTEGER;
}

static bool is_constant(const struct compiler *c, u32 rk, s64 *k)
{
	return rk_is_constant(&c->types, c->pc, rk, k);
}

static struct range range_of(const struct compiler *c, u32 rk)
{
	return range_of_rk(&c->types, c->pc, rk);
}

/* @reg = @reg op @k; overwrites r0 where @k does not fit the instruction. */
static void emit_by_constant(struct compiler *c, u8 op, u8 reg, s64 k)
{
	if (k == (s32)k)
		return emit_alu_imm(c->e, op, reg, k);
	emit_constant(c->e, 0, k);
	emit_alu(c->e, op, reg, 0);
}

/* r1 = r1 op RK(@rk), a sum or a difference. */
static void emit_sum(struct compiler *c, u8 op, u32 rk, u32 fail)
{
	s64 k;

	if (is_constant(c, rk, &k))
		return emit_by_constant(c, op, 1, k);
	load_integer(c, 2, rk, fail);
	emit_alu(c->e, op, 1, 2);
}

/* -- Products ------------------------------------------------------------------------------- */

/* Goes to @fail if the product r1 is 0 and a factor, r2 or r3, is negative: that is -0. */
static void check_zero(struct compiler *c, u32 fail)
{
	u32 fine = emit_label(c->e);

	emit_branch_imm(c->e, INSN_JNE, 1, 0, fine);
	emit_alu(c->e, INSN_OR, 3, 2);
	emit_branch_imm(c->e, INSN_JSLT, 3, 0, fail);
	emit_land(c->e, fine);
}

static struct wide wide_of(struct range r)
{
	return (struct wide){ range_bits(r), r.low >= 0 };
}

/* Goes to @fail unless |@reg| <= 2^@bits, as far as @w does not say that. */
static struct wide limit(struct compiler *c, u8 reg, struct wide w, int bits, u32 fail)
{
	if (w.bits <= bits)
		return w;
	check_within(c, reg, (struct range){ bits, bits }, fail);
	return (struct wide){ bits, w.may_be_negative };
}

/*
 * r1 = r1 * RK(@rk), which has 63 bits. Goes to @fail if the factors have more, or for -0, unless
 * a remainder of it is wanted (@modulo). r1 was in @w before; returns where it is then.
 */
static struct wide emit_multiply(struct compiler *c, struct wide w, u32 rk, bool modulo, u32 fail)
{
	struct wide by = wide_of(range_of(c, rk));
	s64 k = 0;
	bool is_k = is_constant(c, rk, &k);

	if (!is_k)
		load_integer(c, 2, rk, fail);
	if (w.bits + by.bits > WIDE_BITS) {
		if (!is_k)
			by = limit(c, 2, by, FACTOR_BITS, fail);
		w = limit(c, 1, w, WIDE_BITS - by.bits, fail);
	}
	if (!modulo && (w.may_be_negative || by.may_be_negative) && k <= 0) {
		if (is_k)
			emit_constant(c->e, 2, k);
		emit_mov(c->e, 3, 1);
		emit_alu(c->e, INSN_MUL, 1, 2);
		check_zero(c, fail);
	} else if (is_k) {
		emit_by_constant(c, INSN_MUL, 1, k);
	} else {
		emit_alu(c->e, INSN_MUL, 1, 2);
	}
	return (struct wide){ w.bits + by.bits, w.may_be_negative || by.may_be_negative };
}

/* -- Remainders ------------------------------------------------------------------------------ */

/* r1 modulo the instruction's constant, for any r1, with Lua's rounding. */
static void emit_division(struct compiler *c, const struct cold *cold)
{
	s64 k = 1;

	is_constant(c, c_of(insn_at(c)), &k);
	emit_constant(c->e, 2, k);
	emit_insn(c->e, INSN_ALU64 | INSN_MOD | INSN_X, 1, 2, 1, 0);
	emit_branch_imm(c->e, INSN_JSGE, 1, 0, cold->back);
	emit_alu(c->e, INSN_ADD, 1, 2);
	emit_jump(c->e, cold->back);
}

/*
 * r1 = r1 modulo k for r1 < 2^31. A division takes as long as twenty other instructions, so the
 * quotient is (x * m) >> (31 + n), with k <= 2^n and m = 2^(31 + n) / k, rounded up. Then m * k
 * exceeds 2^(31 + n) by less than 2^n, so x * m exceeds x / k * 2^(31 + n) by less than
 * 2^(31 + n) / k, which does not change the quotient.
 */
static void emit_short_modulo(struct compiler *c, s64 k, u32 n)
{
	emit_constant(c->e, 2, ((1L << (31 + n)) + k - 1) / k);
	emit_alu(c->e, INSN_MUL, 2, 1);
	emit_alu_imm(c->e, INSN_RSH, 2, 31 + n);
	emit_alu_imm(c->e, INSN_MUL, 2, k);
	emit_alu(c->e, INSN_SUB, 1, 2);
}

/*
 * As above for r1 < 2^@bits and 2^(n - 1) < k <= 2^n: the quotient is ((x >> s) * m) >> t, with
 * m = 2^(s + t) / k, rounded down. The bits that the shift by s = n - 2 drops are less than k / 2,
 * and with t = bits - s + 1 the rounding of m takes less than 1/2 from the quotient. So it is at
 * most 1 too small, and then the remainder too large by k.
 */
static void emit_long_modulo(struct compiler *c, s64 k, u32 n, u32 bits)
{
	u32 s = n - 2, t = bits - s + 1;

	emit_mov(c->e, 2, 1);
	emit_alu_imm(c->e, INSN_RSH, 2, s);
	emit_by_constant(c, INSN_MUL, 2, (1L << (s + t)) / k);
	emit_alu_imm(c->e, INSN_RSH, 2, t);
	emit_by_constant(c, INSN_MUL, 2, k);
	emit_alu(c->e, INSN_SUB, 1, 2);
	emit_by_constant(c, INSN_SUB, 1, k);
	emit_mov(c->e, 2, 1);
	emit_alu_imm(c->e, INSN_ARSH, 2, 63);
	emit_by_constant(c, INSN_AND, 2, k);
	emit_alu(c->e, INSN_ADD, 1, 2);
}

/* The bits of numbers for which emit_long_modulo() is used; 31: emit_short_modulo(). */
static int modulo_bits(struct range range, int n)
{
	int bits = range.high < DOUBLE_BITS ? range.high : DOUBLE_BITS;

	bits = bits < n ? n : bits;
	/* The product (x >> s) * m has at most 64 bits. */
	return bits > 31 && 2 * (bits - n) + 4 <= 64 ? bits : 31;
}

/*
 * r1 = r1, in @range, modulo a positive constant k. A loop's fast code goes to @fail where a
 * division is needed.
 */
static void emit_modulo(struct compiler *c, s64 k, struct range range, u32 fail)
{
	u32 back;
	int n = 0, bits;

	if (k == 1L << 32)
		return emit_insn(c->e, INSN_ALU | INSN_MOV | INSN_X, 1, 1, 0, 0);
	if (!(k & (k - 1)))
		return emit_by_constant(c, INSN_AND, 1, k - 1);
	while (1L << n < k)
		n++;
	if (range.low < 0 && range.high < n)
		return;
	bits = modulo_bits(range, n);
	back = emit_label(c->e);
	if (range.low >= 0 || range.high > bits) {
		emit_mov(c->e, 2, 1);
		emit_alu_imm(c->e, INSN_RSH, 2, bits);
		if (!c->loop)
			fail = cold_path(c, emit_division, 0, back);
		emit_branch_imm(c->e, INSN_JNE, 2, 0, fail);
	}
	if (bits == 31)
		emit_short_modulo(c, k, n);
	else
		emit_long_modulo(c, k, n, bits);
	emit_land(c->e, back);
}

/* -- Chains ----------------------------------------------------------------------------------- */

/*
 * Rounds r1, in @w, to the 53 bits of a double, halves to even. If it has e bits more, r2 =
 * 2^e - 1 masks those to drop; half of r2 is added first, and 1 if the last bit that stays is
 * set. The steps are the same for negative numbers in two's complement.
 */
static void emit_round(struct compiler *c, struct wide w)
{
	int more = w.bits - DOUBLE_BITS, n;

	if (more <= 0)
		return;
	emit_mov(c->e, 2, 1);
	if (w.may_be_negative) {
		emit_mov(c->e, 3, 1);
		emit_alu_imm(c->e, INSN_ARSH, 3, 63);
		emit_alu(c->e, INSN_XOR, 2, 3);
	}
	emit_alu_imm(c->e, INSN_RSH, 2, DOUBLE_BITS);
	for (n = 1; n <= more; n *= 2) {
		emit_mov(c->e, 3, 2);
		emit_alu_imm(c->e, INSN_RSH, 3, n);
		emit_alu(c->e, INSN_OR, 2, 3);
	}
	emit_mov(c->e, 3, 2);
	emit_alu_imm(c->e, INSN_RSH, 3, 1);
	emit_mov(c->e, 0, 2);
	emit_alu(c->e, INSN_SUB, 0, 3);
	emit_alu_imm(c->e, INSN_LSH, 0, 1);
	/* r0 = 2^e, or 0 if nothing has to go. */
	emit_alu(c->e, INSN_AND, 0, 1);
	emit_insn(c->e, INSN_ALU64 | INSN_NEG, 0, 0, 0, 0);
	emit_alu_imm(c->e, INSN_RSH, 0, 63);
	emit_alu(c->e, INSN_ADD, 1, 3);
	emit_alu(c->e, INSN_ADD, 1, 0);
	emit_alu_imm(c->e, INSN_XOR, 2, -1);
	emit_alu(c->e, INSN_AND, 1, 2);
}

static bool is_chained(enum op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL;
}

/* The operand of the instruction besides R(@value), its other one; -1: a chain cannot have it. */
static s32 other_operand(u32 i, u32 value)
{
	u32 b = b_of(i), rc = c_of(i);

	if (b == rc || (op_of(i) != OP_MOD && !is_chained(op_of(i))))
		return -1;
	if (b == value)
		return rc;
	return rc == value && (op_of(i) == OP_ADD || op_of(i) == OP_MUL) ? (s32)b : -1;
}

/* Does only the next instruction use the result of the one at @pc, as a link of a chain? */
static bool is_linked(const struct types *t, u32 pc, u32 *seen, u32 *searches)
{
	const struct proto *p = t->p;
	u32 value = a_of(p->code[pc++]);

	return pc < p->ncode && p->begins[pc] && !t->target[pc] && !p->captured[value] &&
	       other_operand(p->code[pc], value) >= 0 &&
	       (a_of(p->code[pc]) == value ||
		defer_is_dead(p, seen, ++*searches, value, pc + 1));
}

/* The number of instructions of the chain that begins at @pc, or 0. */
static u32 find_chain(const struct types *t, u32 pc, u32 *seen, u32 *searches)
{
	u32 n;

	for (n = 1; n < CHAIN_MOST && is_chained(op_of(t->p->code[pc])); n++) {
		if (!is_linked(t, pc++, seen, searches))
			return 0;
		if (op_of(t->p->code[pc]) == OP_MOD)
			return n + 1;
	}
	return 0;
}

bool types_find_chains(struct types *t)
{
	u32 *seen = calloc(t->p->ncode + 1, sizeof(*seen)), searches = 0, pc, n;

	for (pc = 0; seen && pc < t->p->ncode; pc++) {
		n = t->p->begins[pc] ? find_chain(t, pc, seen, &searches) : 0;
		if (!n)
			continue;
		t->chain[pc] = n;
		pc += n - 1;
		t->chain[pc] = n;
	}
	free(seen);
	return seen;
}

/* Are the operands of the instruction at @pc perhaps integers, of a chain with a remainder? */
static bool may_be_link(const struct types *t, u32 pc)
{
	u32 i = t->p->code[pc];
	s64 k;

	if (!(types_of_rk(t, pc, b_of(i)) & types_of_rk(t, pc, c_of(i)) & T_INTEGER))
		return false;
	/* The remainder by 1 is for fractions. */
	return op_of(i) != OP_MOD || (rk_is_constant(t, pc, c_of(i), &k) && k > 1);
}

u32 types_chain(const struct types *t, u32 pc)
{
	u32 n = t->chain[pc], i;

	if (n && op_of(t->p->code[pc]) == OP_MOD)
		pc -= n - 1;
	for (i = 0; i < n; i++)
		if (!t->reached[pc + i] || !may_be_link(t, pc + i))
			return 0;
	return n;
}

/* The runtime computes the chain; the interpreter takes over if the result is not as expected. */
static void emit_chain_slowly(struct compiler *c, const struct cold *cold)
{
	u32 last = cold->pc + cold->helper - 1, a = a_of(c->p->code[last]), pc;
	u32 other = emit_label(c->e);

	for (pc = cold->pc; pc <= last; pc++)
		call_helper(c, HELPER_arith, pc);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, a));
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_NUMBER, other);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a));
	check_within(c, 1, range_of_result(&c->types, last), other);
	emit_jump(c->e, cold->back);
	emit_land(c->e, other);
	emit_constant(c->e, 2, last + 1);
	emit_jump(c->e, c->leave);
}

/* This instruction of a chain, with r1, in @w, as its operand besides RK(@rk). */
static struct wide emit_link(struct compiler *c, struct wide w, u32 rk, u32 fail)
{
	enum op op = op_of(insn_at(c));
	struct wide by = wide_of(range_of(c, rk));
	s64 k;

	if (op == OP_MOD) {
		is_constant(c, rk, &k);
		if (k & (k - 1))
			w = limit(c, 1, w, EXACT_BITS, fail);
		emit_modulo(c, k, (struct range){ w.may_be_negative ? w.bits : NOT_NEGATIVE,
						  w.bits + 1 }, fail);
		return w;
	}
	if (op == OP_MUL) {
		w = emit_multiply(c, w, rk, true, fail);
	} else {
		w = limit(c, 1, w, WIDE_BITS, fail);
		emit_sum(c, op == OP_ADD ? INSN_ADD : INSN_SUB, rk, fail);
		w = (struct wide){ 1 + (w.bits > by.bits ? w.bits : by.bits),
				   w.may_be_negative || by.may_be_negative || op == OP_SUB };
	}
	emit_round(c, w);
	return w;
}

/* r1 = the result of the chain of @n instructions, the last of which is current afterwards. */
static void emit_chain(struct compiler *c, u32 n, u32 fail)
{
	u32 i = insn_at(c), value;
	struct wide w = wide_of(range_of(c, b_of(i)));

	load_integer(c, 1, b_of(i), fail);
	w = emit_link(c, w, c_of(i), fail);
	while (--n) {
		value = a_of(insn_at(c));
		if (!c->loop)
			defer_after(c);
		c->pc++;
		if (!c->loop)
			defer_before(c);
		w = emit_link(c, w, other_operand(insn_at(c), value), fail);
	}
}

/*
 * In an inlined function, the registers of a chain's intermediate results may hold what an earlier
 * call left there.
 */
static void end_links(struct compiler *c, u32 pc, u32 last)
{
	for (; pc < last; pc++)
		if (a_of(c->p->code[pc]) != a_of(c->p->code[last]))
			defer_value(c, a_of(c->p->code[pc]), (struct value){ .tag = TAG_NIL },
				    DEFER_ALWAYS);
}

static void compile_chain(struct compiler *c, u32 n)
{
	u32 back = emit_label(c->e), first = c->pc, last = first + n - 1, slow;

	slow = c->caller ? cold_helper(c, HELPER_arith, back) :
			   cold_path(c, emit_chain_slowly, n, back);
	emit_chain(c, n, slow);
	/* Nothing was stored since the first instruction, so its facts say which tag is there. */
	c->pc = first;
	store_integer(c, a_of(c->p->code[last]), 1);
	c->pc = last;
	if (c->caller)
		end_links(c, first, last);
	emit_land(c->e, back);
}

/* -- Single instructions -------------------------------------------------------------------- */

static bool is_fast_arith(const struct compiler *c, u32 i)
{
	u32 rc = op_of(i) == OP_UNM ? b_of(i) : c_of(i);
	s64 k;

	if (!may_be_integer(c, b_of(i)) || !may_be_integer(c, rc))
		return false;
	if (op_of(i) == OP_MOD)
		return is_constant(c, rc, &k) && k > 0;
	return op_of(i) == OP_UNM || is_chained(op_of(i));
}

static void emit_arith(struct compiler *c, u32 i, u32 fail)
{
	struct range b = range_of(c, b_of(i));
	u32 rc = c_of(i);
	s64 k;

	load_integer(c, 1, b_of(i), fail);
	switch (op_of(i)) {
	case OP_UNM:
		/* -0 is not an integer. */
		emit_branch_imm(c->e, INSN_JEQ, 1, 0, fail);
		emit_insn(c->e, INSN_ALU64 | INSN_NEG, 1, 0, 0, 0);
		return check_integer(c, 1, fail);
	case OP_MOD:
		is_constant(c, rc, &k);
		return emit_modulo(c, k, b, fail);
	case OP_MUL:
		emit_multiply(c, wide_of(b), rc, false, fail);
		break;
	default:
		emit_sum(c, op_of(i) == OP_ADD ? INSN_ADD : INSN_SUB, rc, fail);
	}
	if (!range_fits(range_of_arith(op_of(i), b, range_of(c, rc))))
		check_integer(c, 1, fail);
}

u32 arith_in_loop(struct compiler *c, u32 n, u32 fail)
{
	if (n)
		emit_chain(c, n, fail);
	else if (is_fast_arith(c, insn_at(c)))
		emit_arith(c, insn_at(c), fail);
	else
		return ~0U;
	return c->pc;
}

/*
 * Is the quotient only used by the next call, of math.floor()? Then it can be rounded here, where
 * the quotient of an integer by a power of 2 is a shift; rounding again does not change it.
 */
static bool is_floored(const struct compiler *c, u32 i, s64 *k)
{
	u32 next = c->p->code[c->pc + 1], a = a_of(next);
	const struct fact *f;

	if (op_of(i) != OP_DIV || op_of(next) != OP_CALL || a + 1 != a_of(i) ||
	    b_of(next) != 2 || c->types.target[c->pc + 1] || !may_be_integer(c, b_of(i)))
		return false;
	f = fact_at(&c->types, c->pc, a);
	return f->sure && intrinsic_of(c->runtime, f->origin) == INTRINSIC_math_floor &&
	       is_constant(c, c_of(i), k) && *k > 0 && !(*k & (*k - 1));
}

static void compile_floored(struct compiler *c, u32 i, s64 k)
{
	u32 back = emit_label(c->e);

	load_integer(c, 1, b_of(i), cold_helper(c, HELPER_arith, back));
	emit_alu_imm(c->e, INSN_ARSH, 1, __builtin_ctzl(k));
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a_of(i)), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a_of(i)), TAG_NUMBER);
	emit_land(c->e, back);
}

/* Is the result certainly an integer, as the function is left otherwise? */
static bool is_sure(const struct compiler *c, u32 pc)
{
	return is_chained(op_of(c->p->code[pc])) && types_of_arith(&c->types, pc) == T_INTEGER;
}

/* The fast code of a loop may continue in the code here at any instruction. */
static bool is_in_fast_loop(const struct compiler *c, u32 pc)
{
	u32 end;

	for (end = pc; end < c->p->ncode; end += 1 + proto_operands(c->p, end))
		if (c->fast[end] && end + 1 + sbx_of(c->p->code[end]) <= pc)
			return true;
	return false;
}

/* Does only the next instruction use the result of the one at @pc, as an operand? */
static bool is_joined(const struct compiler *c, u32 pc)
{
	u32 value = a_of(c->p->code[pc]), next = pc + 1;

	return next < c->p->ncode && c->p->begins[next] && c->types.reached[next] &&
	       !c->types.target[next] && !c->p->captured[value] && is_sure(c, next) &&
	       a_of(c->p->code[next]) == value && other_operand(c->p->code[next], value) >= 0 &&
	       !types_chain(&c->types, next) && !c->caller && !is_in_fast_loop(c, pc);
}

/* The current instruction of several, with r1 as R(@value). */
static void emit_joined(struct compiler *c, u32 value, u32 fail)
{
	u32 i = insn_at(c), rk = other_operand(i, value);

	if (op_of(i) == OP_MUL)
		emit_multiply(c, wide_of(range_of(c, value)), rk, false, fail);
	else
		emit_sum(c, op_of(i) == OP_ADD ? INSN_ADD : INSN_SUB, rk, fail);
	if (!range_fits(range_of_arith(op_of(i), range_of(c, b_of(i)), range_of(c, c_of(i)))))
		check_integer(c, 1, fail);
}

/* Computes the current instruction in r1, and those after it that are joined to it. */
static void emit_sums(struct compiler *c, bool sure, u32 fail)
{
	u32 n = 1, value = a_of(insn_at(c));

	emit_arith(c, insn_at(c), fail);
	for (; sure && n < CHAIN_MOST && is_joined(c, c->pc); n++) {
		defer_after(c);
		c->pc++;
		defer_before(c);
		emit_joined(c, value, fail);
	}
}

void compile_arith(struct compiler *c)
{
	u32 i = insn_at(c), first = c->pc, back, fail, last;
	u32 chain = op_of(i) == OP_MOD ? 0 : types_chain(&c->types, c->pc);
	s64 k;
	bool sure = op_of(i) != OP_MOD && types_of_arith(&c->types, c->pc) == T_INTEGER;

	if (chain)
		return compile_chain(c, chain);
	if (is_floored(c, i, &k))
		return compile_floored(c, i, k);
	if (!is_fast_arith(c, i))
		return call_helper(c, HELPER_arith, c->pc);
	back = emit_label(c->e);
	fail = sure ? cold_leave(c) : cold_helper(c, HELPER_arith, back);
	emit_sums(c, sure, fail);
	/* Nothing was stored since the first instruction, so its facts say which tag is there. */
	last = c->pc;
	c->pc = first;
	/* The register already has the tag of the operand. */
	if (!c->has_deferred[a_of(i)] &&
	    (a_of(i) == b_of(i) || (op_of(i) != OP_UNM && a_of(i) == c_of(i))))
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, a_of(i)), 1);
	else
		store_integer(c, a_of(i), 1);
	c->pc = last;
	emit_land(c->e, back);
}
