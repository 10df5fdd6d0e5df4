// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements a part of compile.h. Codecs and checksums call functions of the library "bit" for
 * each byte, and a call costs twenty times the operation. So these calls become instructions of
 * 32 bits, which take integers modulo 2^32.
 */
#include "compile.h"

/* The operation, or 0 if the function only takes its argument modulo 2^32. */
static bool find_op(int intrinsic, u8 *op)
{
	switch (intrinsic) {
	case INTRINSIC_bit_tobit:
		*op = 0;
		return true;
	case INTRINSIC_bit_bnot: case INTRINSIC_bit_bxor:
		*op = INSN_XOR;
		return true;
	case INTRINSIC_bit_band:
		*op = INSN_AND;
		return true;
	case INTRINSIC_bit_bor:
		*op = INSN_OR;
		return true;
	case INTRINSIC_bit_lshift:
		*op = INSN_LSH;
		return true;
	case INTRINSIC_bit_rshift:
		*op = INSN_RSH;
		return true;
	case INTRINSIC_bit_arshift:
		*op = INSN_ARSH;
		return true;
	default:
		return false;
	}
}

static bool is_shift(u8 op)
{
	return op == INSN_LSH || op == INSN_RSH || op == INSN_ARSH;
}

bool bits_takes(int intrinsic, u32 n)
{
	u8 op;

	if (!find_op(intrinsic, &op))
		return false;
	if (!op || intrinsic == INTRINSIC_bit_bnot)
		return n == 1;
	return is_shift(op) ? n == 2 : n - 1 < 8;
}

/* The range of the argument R(@reg) as 32 bits with a sign. */
static struct range range_of(const struct types *t, uint32_t pc, uint32_t reg)
{
	struct range r = range_of_rk(t, pc, reg);

	return fact_at(t, pc, reg)->types == T_INTEGER && range_bits(r) <= 31 ?
		       r : (struct range){ 31, 31 };
}

/* Shifted by a constant. */
static struct range shifted(struct range r, u8 op, int n)
{
	int high = op == INSN_LSH ? r.high + n : r.high > n ? r.high - n : 0;

	if (!n)
		return r;
	if (r.low < 0 && high <= 31)
		return (struct range){ NOT_NEGATIVE, high };
	return op == INSN_RSH ? (struct range){ NOT_NEGATIVE, 32 - n } : (struct range){ 31, 31 };
}

/* An operation on @n arguments from R(@reg) on, which need not be negative. */
static struct range joint(const struct types *t, uint32_t pc, u8 op, uint32_t reg, uint32_t n)
{
	struct range r = range_of(t, pc, reg), other;

	for (; --n;) {
		other = range_of(t, pc, ++reg);
		if (op == INSN_AND && (r.low < 0) != (other.low < 0)) {
			r = r.low < 0 ? r : other;
		} else if (r.low < 0 && other.low < 0) {
			r.high = (op == INSN_AND) == (other.high < r.high) ? other.high : r.high;
		} else {
			r = (struct range){ 31, 31 };
		}
	}
	return r;
}

struct range bits_range(const struct types *t, uint32_t pc, int intrinsic)
{
	uint32_t reg = a_of(t->p->code[pc]) + 1, n = expected_arguments(t, pc);
	int64_t k;
	u8 op;

	find_op(intrinsic, &op);
	if (!op)
		return range_of(t, pc, reg);
	if (intrinsic == INTRINSIC_bit_bnot || n > REGISTERS)
		return (struct range){ 31, 31 };
	if (!is_shift(op))
		return joint(t, pc, op, reg, n);
	if (!rk_is_constant(t, pc, reg + 1, &k))
		return (struct range){ 31, 31 };
	return shifted(range_of(t, pc, reg), op, k & 31);
}

bool is_bits_intrinsic(const struct compiler *c, int intrinsic)
{
	return bits_takes(intrinsic, b_of(call_here(c)) - 1);
}

/* r1 = r1 op R(@reg); the operand's high bits do not affect the result. */
static void operate(struct compiler *c, u8 op, u32 reg, u32 slow)
{
	s64 k;

	if (rk_is_constant(&c->types, c->pc, reg, &k)) {
		k = is_shift(op) ? k & 31 : k;
		return emit_insn(c->e, INSN_ALU | op, 1, 0, 0, (s32)k);
	}
	load_integer(c, 2, reg, slow);
	if (is_shift(op))
		emit_alu_imm(c->e, INSN_AND, 2, 31);
	emit_insn(c->e, INSN_ALU | op | INSN_X, 1, 2, 0, 0);
}

void bits_compute(struct compiler *c, u32 a, u32 n, int intrinsic, u32 slow)
{
	u32 reg;
	u8 op;

	find_op(intrinsic, &op);
	load_integer(c, 1, a + 1, slow);
	if (intrinsic == INTRINSIC_bit_bnot)
		emit_insn(c->e, INSN_ALU | op, 1, 0, 0, -1);
	for (reg = a + 2; reg <= a + n; reg++)
		operate(c, op, reg, slow);
	if (bits_range(&c->types, c->pc, intrinsic).low >= 0)
		emit_insn(c->e, INSN_ALU64 | INSN_MOV | INSN_X, 1, 1, 32, 0);
}

void compile_bits(struct compiler *c, u32 i, int intrinsic, u32 back)
{
	u32 a = a_of(i), slow = cold_for_integer(c, back);

	check_function(c, a, intrinsic, slow);
	bits_compute(c, a, b_of(i) - 1, intrinsic, slow);
	store_result(c, i, false, back);
}
