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

void compile_bits(struct compiler *c, u32 i, int intrinsic, u32 back)
{
	u32 a = a_of(i), slow = cold_for_integer(c, back), n;
	u8 op;

	find_op(intrinsic, &op);
	check_function(c, a, intrinsic, slow);
	load_integer(c, 1, a + 1, slow);
	if (intrinsic == INTRINSIC_bit_bnot)
		emit_insn(c->e, INSN_ALU | op, 1, 0, 0, -1);
	for (n = 2; n < b_of(i); n++)
		operate(c, op, a + n, slow);
	emit_alu_imm(c->e, INSN_LSH, 1, 32);
	emit_alu_imm(c->e, INSN_ARSH, 1, 32);
	store_result(c, i, false, back);
}
