// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Compiles calls that are expected to be of text functions (see compile.h): inline, or by a
 * helper of the runtime that gets its arguments in registers and makes no frame. Constant
 * patterns become functions of the script's image: pattern.c.
 */
#include <string.h>

#include "compile.h"
#include "pattern.h"

static u32 insn_at(const struct compiler *c)
{
	return call_here(c);
}

/* -- Patterns ------------------------------------------------------------------------------- */

static u32 form_word(struct pattern_form form, u32 wanted)
{
	return wanted | form.count << 8 | form.positions << 16 |
	       (form.anchored ? FOUND_ANCHORED : 0);
}

/* The pattern of a call of match() or find(), with its form. */
static u32 called_pattern(const struct compiler *c, struct pattern_form *form)
{
	u64 text = types_constant_text(&c->types, c->pc, a_of(insn_at(c)) + 2);

	return text ? pattern_number(c->runtime, text, PATTERN, form) : 0;
}

/* r1 = r3 = the address of the string R(@reg)'s first character, r2 = its end. */
static void load_string(struct compiler *c, u32 reg)
{
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, reg));
	emit_load(c->e, INSN_DW, 2, 1, STRING_LEN);
	emit_alu_imm(c->e, INSN_ADD, 1, STRING_TEXT);
	emit_alu(c->e, INSN_ADD, 2, 1);
	emit_mov(c->e, 3, 1);
}

/* Advances r1 to the character at position r4. */
static void begin_at(struct compiler *c, u32 slow)
{
	emit_alu_imm(c->e, INSN_SUB, 4, 1);
	emit_mov(c->e, 0, 2);
	emit_alu(c->e, INSN_SUB, 0, 1);
	emit_branch(c->e, INSN_JGT, 4, 0, slow);
	emit_alu(c->e, INSN_ADD, 1, 4);
}

/*
 * Calls a helper with L, the address of R(@a), where the result goes, r3 and r4; it makes no
 * string, so that the collector does not run, which may move the frame.
 */
static void call_pure_helper(struct compiler *c, u32 a, u32 helper)
{
	emit_mov(c->e, 1, REG_L);
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 2, slot(c, a));
	emit_call(c->e, c->runtime->exports.helpers[helper]);
}

/* As above; it may move the frame. */
static void call_text_helper_for(struct compiler *c, u32 a, u32 helper)
{
	call_pure_helper(c, a, helper);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
}

/* As above, for the registers of the call. */
static void call_text_helper(struct compiler *c, u32 helper)
{
	call_text_helper_for(c, a_of(insn_at(c)), helper);
}

/* Matchers have no lines: if a limit ends the run in one, the frame's pc gives the line. */
static void store_pc(struct compiler *c)
{
	emit_load(c->e, INSN_DW, 5, REG_L, STATE_CI);
	emit_store_imm(c->e, INSN_DW, 5, CI_SAVEDPC, c->pc + 1);
}

/* Are positions all captures, and are some? Then a match makes no strings. */
static bool has_positions(struct pattern_form form)
{
	return form.count && form.positions == (1U << form.count) - 1;
}

/* Stores the positions of a match as the call's results; r0 is its end, or 0. */
static void store_positions(struct compiler *c, u32 i, struct pattern_form form)
{
	u32 a = a_of(i), none = emit_label(c->e), done = emit_label(c->e), n;

	emit_branch_imm(c->e, INSN_JEQ, 0, 0, none);
	emit_address(c->e, 1, c->runtime->found - (uintptr_t)c->runtime->arena);
	for (n = 0; n < form.count && n < (u32)c_of(i) - 1; n++) {
		emit_load(c->e, INSN_DW, 2, 1,
			  FOUND_CAPTURE + n * FOUND_CAPTURE_SIZE + FOUND_LEN);
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, a + n), 2);
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a + n), TAG_NUMBER);
	}
	store_nils(c, i, form.count);
	emit_jump(c->e, done);
	emit_land(c->e, none);
	store_nils(c, i, 0);
	emit_land(c->e, done);
}

static void compile_pattern(struct compiler *c, u32 i, u32 helper, u32 slow)
{
	u32 a = a_of(i), number;
	struct pattern_form form;

	number = called_pattern(c, &form);
	check_tag(c, a + 1, T_STRING, TAG_STRING, slow);
	if (b_of(i) == 4)
		load_integer(c, 4, a + 3, slow);
	load_string(c, a + 1);
	if (b_of(i) == 4)
		begin_at(c, slow);
	store_pc(c);
	emit_call(c->e, number);
	if (helper == HELPER_captures && c_of(i) && has_positions(form))
		return store_positions(c, i, form);
	emit_mov(c->e, 3, 0);
	emit_constant(c->e, 4, form_word(form, (c_of(i) - 1) & FOUND_ALL));
	call_text_helper(c, helper);
}

/* -- Loops over string.gmatch() --------------------------------------------------------------- */

/* The constant pattern of the loop that this OP_TFORLOOP ends, which was loaded before the loop. */
static u64 loop_pattern(const struct compiler *c)
{
	u32 a = a_of(insn_at(c)), pc, i;

	for (pc = 1; pc < c->pc; pc += 1 + proto_operands(c->p, pc)) {
		if (op_of(c->p->code[pc]) != OP_JMP || pc + 1 + sbx_of(c->p->code[pc]) != c->pc)
			continue;
		i = c->p->code[pc - 1];
		if (c->p->begins[pc - 1] && op_of(i) == OP_CALL && a_of(i) == a && b_of(i) == 3 &&
		    c_of(i) == 4)
			return types_constant_text(&c->types, pc - 1, a + 2);
	}
	return 0;
}

#define UPVALUE(n)	(CLOSURE_UPVALUES + (n) * VALUE_SIZE)

bool compile_gmatch_loop(struct compiler *c, u32 slow, u32 again, u32 over)
{
	u32 a = a_of(insn_at(c)), number;
	u64 text = loop_pattern(c);
	struct pattern_form form;

	number = text ? pattern_number(c->runtime, text, PATTERN_REPEATED, &form) : 0;
	if (!number)
		return false;
	check_tag(c, a, T_FUNCTION, TAG_FUNCTION, slow);
	emit_load(c->e, INSN_DW, 5, REG_BASE, slot(c, a));
	emit_load(c->e, INSN_DW, 0, 5, CLOSURE_F);
	emit_branch_imm(c->e, INSN_JNE, 0, c->runtime->exports.intrinsics[INTRINSIC_gmatch_aux],
			slow);
	emit_load(c->e, INSN_DW, 0, 5, UPVALUE(1));
	emit_address(c->e, 4, text - (uintptr_t)c->runtime->arena);
	emit_branch(c->e, INSN_JNE, 0, 4, slow);
	emit_load(c->e, INSN_DW, 1, 5, UPVALUE(0));
	emit_load(c->e, INSN_DW, 2, 1, STRING_LEN);
	emit_load(c->e, INSN_DW, 0, 5, UPVALUE(2));
	emit_branch(c->e, INSN_JGT, 0, 2, over);
	emit_alu_imm(c->e, INSN_ADD, 1, STRING_TEXT);
	emit_mov(c->e, 3, 1);
	emit_alu(c->e, INSN_ADD, 2, 1);
	emit_alu(c->e, INSN_ADD, 1, 0);
	store_pc(c);
	emit_call(c->e, number);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, over);
	emit_mov(c->e, 3, 0);
	emit_constant(c->e, 4, form_word(form, c_of(insn_at(c))));
	call_text_helper(c, HELPER_gmatched);
	emit_jump(c->e, again);
	return true;
}

/* -- Other functions -------------------------------------------------------------------------- */

static void compile_byte(struct compiler *c, u32 i, u32 back)
{
	u32 a = a_of(i), slow = cold_for_integer(c, back);

	check_function(c, a, INTRINSIC_str_byte, slow);
	check_tag(c, a + 1, T_STRING, TAG_STRING, slow);
	if (b_of(i) == 3)
		load_integer(c, 2, a + 2, slow);
	else
		emit_constant(c->e, 2, 1);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a + 1));
	emit_load(c->e, INSN_DW, 3, 1, STRING_LEN);
	emit_alu_imm(c->e, INSN_SUB, 2, 1);
	emit_branch(c->e, INSN_JGE, 2, 3, slow);
	emit_alu(c->e, INSN_ADD, 1, 2);
	emit_load(c->e, INSN_B, 1, 1, STRING_TEXT);
	store_result(c, i, false, back);
}

/* R(@to) = the string of the character r1; goes to @other if there is none yet. */
static void store_character(struct compiler *c, u32 to, u32 other)
{
	emit_address(c->e, 2, c->runtime->characters - (uintptr_t)c->runtime->arena);
	emit_alu_imm(c->e, INSN_LSH, 1, 2);
	emit_alu(c->e, INSN_ADD, 2, 1);
	emit_load(c->e, INSN_W, 1, 2, 0);
	emit_branch_imm(c->e, INSN_JEQ, 1, 0, other);
	emit_address(c->e, 2, 0);
	emit_alu(c->e, INSN_ADD, 1, 2);
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, to), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, to), TAG_STRING);
}

/* The character at r3, if r4 is the same position; otherwise goes on, with both. */
static void compile_character(struct compiler *c, u32 a, u32 done)
{
	u32 other = emit_label(c->e);

	emit_branch(c->e, INSN_JNE, 3, 4, other);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a + 1));
	emit_load(c->e, INSN_DW, 2, 1, STRING_LEN);
	emit_mov(c->e, 0, 3);
	emit_alu_imm(c->e, INSN_SUB, 0, 1);
	emit_branch(c->e, INSN_JGE, 0, 2, other);
	emit_alu(c->e, INSN_ADD, 1, 0);
	emit_load(c->e, INSN_B, 1, 1, STRING_TEXT);
	store_character(c, a, other);
	emit_jump(c->e, done);
	emit_land(c->e, other);
}

static void compile_sub(struct compiler *c, u32 i, u32 slow)
{
	u32 a = a_of(i), done = emit_label(c->e);

	check_tag(c, a + 1, T_STRING, TAG_STRING, slow);
	load_integer(c, 3, a + 2, slow);
	if (b_of(i) == 4)
		load_integer(c, 4, a + 3, slow);
	else
		emit_constant(c->e, 4, -1);
	if (b_of(i) == 4)
		compile_character(c, a, done);
	call_text_helper(c, HELPER_sub);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_land(c->e, done);
	store_nils(c, i, 1);
}

static void compile_char(struct compiler *c, u32 i, u32 slow)
{
	u32 a = a_of(i), done = emit_label(c->e), other = emit_label(c->e);

	if (b_of(i) == 2) {
		load_integer(c, 1, a + 1, slow);
		emit_branch_imm(c->e, INSN_JGT, 1, 255, other);
		store_character(c, a, other);
		emit_jump(c->e, done);
	}
	emit_land(c->e, other);
	emit_constant(c->e, 3, b_of(i) - 1);
	call_text_helper(c, HELPER_chars);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_land(c->e, done);
	store_nils(c, i, 1);
}

/* The only argument is all results of an earlier call, so check that there is exactly one. */
static void check_argument(struct compiler *c, u32 i, u32 slow)
{
	if (b_of(i))
		return;
	emit_mov(c->e, 1, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 1, slot(c, a_of(i) + 2));
	emit_load(c->e, INSN_DW, 0, REG_L, STATE_TOP);
	emit_branch(c->e, INSN_JNE, 0, 1, slow);
}

/* Calls a helper, which returns 0 if it cannot do the function's work. */
static void compile_by_helper(struct compiler *c, u32 i, u32 helper, u32 slow)
{
	call_text_helper(c, helper);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	store_nils(c, i, 1);
}

/* string.byte() with two positions. */
static void compile_bytes(struct compiler *c, u32 i, u32 slow)
{
	check_tag(c, a_of(i) + 1, T_STRING, TAG_STRING, slow);
	load_integer(c, 3, a_of(i) + 2, slow);
	load_integer(c, 4, a_of(i) + 3, slow);
	emit_constant(c->e, 5, c_of(i) - 1);
	call_text_helper(c, HELPER_bytes);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

/* string.find(s, what, from, true) */
static void compile_find_plain(struct compiler *c, u32 i, u32 slow)
{
	check_tag(c, a_of(i) + 1, T_STRING, TAG_STRING, slow);
	load_integer(c, 3, a_of(i) + 3, slow);
	emit_constant(c->e, 4, c_of(i) - 1);
	call_text_helper(c, HELPER_found_plain);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

static void compile_gsub(struct compiler *c, u32 i, u32 slow)
{
	struct pattern_form form;
	u32 number = called_pattern(c, &form);

	check_tag(c, a_of(i) + 1, T_STRING, TAG_STRING, slow);
	store_pc(c);
	emit_constant(c->e, 3, number);
	emit_constant(c->e, 4, form_word(form, (c_of(i) - 1) & FOUND_ALL));
	call_text_helper(c, HELPER_gsub);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

static void compile_floor(struct compiler *c, u32 i, u32 slow)
{
	load_integer(c, 1, a_of(i) + 1, slow);
	store_result(c, i, false, 0);
}

static void compile_format(struct compiler *c, u32 i, u32 slow)
{
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 2, slot(c, a_of(i)));
	count_arguments(c, i);
	compile_by_helper(c, i, HELPER_format, slow);
}

static void compile_insert(struct compiler *c, u32 slow)
{
	call_text_helper(c, HELPER_inserted);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

/* Calls a helper that gets the number of arguments. */
static void compile_counted(struct compiler *c, u32 i, u32 helper, u32 slow)
{
	emit_constant(c->e, 3, b_of(i) - 1);
	compile_by_helper(c, i, helper, slow);
}

/* r3 and r4 = the address and the length that a function of util has as first arguments. */
static void load_range(struct compiler *c, u32 i, u32 slow)
{
	load_integer(c, 3, a_of(i) + 1, slow);
	load_integer(c, 4, a_of(i) + 2, slow);
	emit_branch_imm(c->e, INSN_JSLT, 4, 0, slow);
}

static void compile_str_in(struct compiler *c, u32 i, u32 slow)
{
	load_range(c, i, slow);
	compile_by_helper(c, i, HELPER_str_in, slow);
}

static void compile_str_out(struct compiler *c, u32 i, u32 slow)
{
	load_integer(c, 3, a_of(i) + 2, slow);
	compile_by_helper(c, i, HELPER_str_out, slow);
}

static void compile_number(struct compiler *c, u32 i, u32 slow)
{
	load_range(c, i, slow);
	emit_constant(c->e, 5, c_of(i) - 1);
	call_pure_helper(c, a_of(i), HELPER_read_number);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

/* The helpers that search for so many constant bytes; 0: any set. */
static const u32 finders[] = {
	HELPER_find_byte, HELPER_found_one, HELPER_found_two, HELPER_found_three,
};

#define FEW	3

/*
 * The bytes of the constant set that util.find() gets, the first in the lowest bits, and their
 * number; 0: it is not constant, or has more than FEW.
 */
static u32 constant_bytes(const struct compiler *c, u32 *bytes)
{
	u32 reg = a_of(insn_at(c)) + 3, i;
	u64 text = types_constant_text(&c->types, c->pc, reg), n;
	s64 k;

	*bytes = 0;
	if (rk_is_constant(&c->types, c->pc, reg, &k)) {
		*bytes = k;
		return k >= 0 && k <= 255;
	}
	n = text ? runtime_word(c->runtime, text + STRING_LEN, 8) : 0;
	if (n > FEW)
		return 0;
	for (i = 0; i < n; i++)
		*bytes |= (u32)runtime_word(c->runtime, text + STRING_TEXT + i, 1) << 8 * i;
	return n;
}

/* There is no position in r0: no byte was found, or the function has to be called. */
static void emit_not_found(struct compiler *c, const struct cold *cold)
{
	emit_branch_imm(c->e, INSN_JNE, 0, POSITION_NONE, cold->target);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a_of(insn_at(c))), TAG_NIL);
	emit_jump(c->e, cold->back);
}

static void compile_find_byte(struct compiler *c, u32 i, u32 slow)
{
	u32 a = a_of(i), stored = emit_label(c->e), bytes, n = constant_bytes(c, &bytes);

	load_range(c, i, slow);
	if (n)
		emit_constant(c->e, 5, bytes);
	call_pure_helper(c, a, finders[n]);
	emit_branch_imm(c->e, INSN_JSLT, 0, 0, cold_path_to(c, emit_not_found, stored, slow));
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 0);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_NUMBER);
	emit_land(c->e, stored);
	store_nils(c, i, 1);
}

/* -- Selection --------------------------------------------------------------------------------- */

/* The helper for functions with one argument, or -1. */
static int helper_of(int intrinsic)
{
	switch (intrinsic) {
	case INTRINSIC_luaB_tonumber:
		return HELPER_tonumber;
	case INTRINSIC_luaB_tostring:
		return HELPER_tostring;
	case INTRINSIC_str_lower:
		return HELPER_lowered;
	case INTRINSIC_str_upper:
		return HELPER_uppered;
	default:
		return -1;
	}
}

/* Does the call have as many arguments as the code here expects? */
static bool has_arguments(const struct compiler *c, int intrinsic)
{
	u32 b = b_of(insn_at(c)), n = b - 1;
	struct pattern_form form;

	switch (intrinsic) {
	case INTRINSIC_str_byte:
		return n >= 1 && n <= 3;
	case INTRINSIC_str_sub:
		return n == 2 || n == 3;
	case INTRINSIC_str_find:
		if (n == 4)
			return true;
		/* Fall through. */
	case INTRINSIC_str_match:
		return (n == 2 || n == 3) && called_pattern(c, &form);
	case INTRINSIC_str_gsub:
		return n == 3 && called_pattern(c, &form);
	case INTRINSIC_str_format:
		return n;
	case INTRINSIC_str_char:
		return n < 32;
	case INTRINSIC_tinsert:
		return n == 2;
	case INTRINSIC_luaB_tonumber:
		return b <= 3 && n;
	case INTRINSIC_math_floor:
		return n == 1;
	case INTRINSIC_tconcat:
		return n >= 1 && n <= 4;
	case INTRINSIC_util_str_in: case INTRINSIC_util_str_out: case INTRINSIC_util_number:
		return n == 2;
	case INTRINSIC_util_find:
		return n == 3;
	default:
		return helper_of(intrinsic) >= 0 && b <= 2 && n;
	}
}

/* The number of the function's results, unless it has none or finds nothing. */
static u32 results_of(const struct compiler *c, int intrinsic)
{
	struct pattern_form form;

	if (intrinsic == INTRINSIC_str_gsub)
		return 2;
	if (intrinsic != INTRINSIC_str_match && intrinsic != INTRINSIC_str_find)
		return 1;
	if (b_of(insn_at(c)) == 5)
		return 2;
	called_pattern(c, &form);
	return intrinsic == INTRINSIC_str_find ? 2 + form.count : form.count ?: 1;
}

bool is_text_intrinsic(const struct compiler *c, int intrinsic)
{
	u32 i = insn_at(c), wanted = c_of(i) - 1;

	if (!has_arguments(c, intrinsic))
		return false;
	if (intrinsic == INTRINSIC_tinsert)
		return c_of(i) == 1;
	/* All results are wanted: the frame must have room for them. */
	if (intrinsic == INTRINSIC_str_byte)
		return b_of(i) == 4 ? c_of(i) > 1 && wanted < 32 : c_of(i) <= 2;
	if (intrinsic == INTRINSIC_util_number || (intrinsic == INTRINSIC_str_find && b_of(i) == 5))
		return c_of(i) && wanted && wanted < 32;
	if (!c_of(i))
		return a_of(i) + results_of(c, intrinsic) <= c->p->nregs;
	return wanted < 32;
}

bool text_knows(const struct compiler *c, int intrinsic, u32 reg)
{
	u32 a = a_of(insn_at(c)), bytes;
	s64 k;

	switch (intrinsic) {
	case INTRINSIC_util_find:
		return reg == a + 3 && constant_bytes(c, &bytes);
	case INTRINSIC_str_find:
		if (b_of(insn_at(c)) == 5)
			return false;
		/* Fall through. */
	case INTRINSIC_str_match:
		return reg == a + 2 ||
		       (reg == a + 3 && rk_is_constant(&c->types, c->pc, reg, &k));
	case INTRINSIC_str_byte: case INTRINSIC_str_sub:
		return reg > a + 1 && rk_is_constant(&c->types, c->pc, reg, &k);
	default:
		return false;
	}
}

/* Compiles the call with the wanted results; goes to @slow if the function has to be called. */
static void compile_expected(struct compiler *c, int intrinsic, u32 i, u32 slow)
{
	check_function(c, a_of(i), intrinsic, slow);
	switch (intrinsic) {
	case INTRINSIC_str_sub:
		return compile_sub(c, i, slow);
	case INTRINSIC_str_match:
		return compile_pattern(c, i, HELPER_captures, slow);
	case INTRINSIC_str_find:
		return b_of(i) == 5 ? compile_find_plain(c, i, slow) :
				      compile_pattern(c, i, HELPER_found, slow);
	case INTRINSIC_str_byte:
		return compile_bytes(c, i, slow);
	case INTRINSIC_str_gsub:
		return compile_gsub(c, i, slow);
	case INTRINSIC_str_format:
		return compile_format(c, i, slow);
	case INTRINSIC_math_floor:
		return compile_floor(c, i, slow);
	case INTRINSIC_tconcat:
		return compile_counted(c, i, HELPER_concatenated, slow);
	case INTRINSIC_str_char:
		return compile_char(c, i, slow);
	case INTRINSIC_tinsert:
		return compile_insert(c, slow);
	case INTRINSIC_util_str_in:
		return compile_str_in(c, i, slow);
	case INTRINSIC_util_str_out:
		return compile_str_out(c, i, slow);
	case INTRINSIC_util_find:
		return compile_find_byte(c, i, slow);
	case INTRINSIC_util_number:
		return compile_number(c, i, slow);
	default:
		check_argument(c, i, slow);
		return compile_counted(c, b_of(i) ? i : i | 2U << 23, helper_of(intrinsic), slow);
	}
}

/*
 * Is the result of the call of util.str_in() only the argument of the next call, which is certainly
 * one of string.lower() with one result?
 */
static bool is_lowered(const struct compiler *c, u32 i)
{
	u32 next = c->p->code[c->pc + 1], a = a_of(next);

	return !c_of(i) && op_of(next) == OP_CALL && !b_of(next) && c_of(next) == 2 &&
	       a + 1 == a_of(i) && fact_at(&c->types, c->pc + 1, a)->sure &&
	       intrinsic_of(c->runtime, function_at(&c->types, c->pc + 1, a)) ==
		       INTRINSIC_str_lower;
}

/*
 * Makes both calls at once, so that there is only one string. If that fails, the calls are made one
 * after the other; as this code skips the second one, no value may be deferred.
 */
static void compile_lowered_in(struct compiler *c, u32 i, u32 back)
{
	u32 slow;

	defer_flush(c);
	slow = cold_path(c, emit_helper, HELPER_call, back);
	check_function(c, a_of(i), INTRINSIC_util_str_in, slow);
	load_range(c, i, slow);
	call_text_helper_for(c, a_of(i) - 1, HELPER_lowered_in);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_jump(c->e, c->labels[c->pc + 2]);
	c->open_pc = c->pc;
	c->open_end = a_of(i) + 1;
}

void compile_text(struct compiler *c, int intrinsic, u32 back)
{
	u32 i = insn_at(c), slow;

	if (intrinsic == INTRINSIC_util_str_in && is_lowered(c, i))
		return compile_lowered_in(c, i, back);
	if (intrinsic == INTRINSIC_str_byte && b_of(i) != 4) {
		compile_byte(c, c_of(i) ? i : with_results(i, 1), back);
		return c_of(i) ? (void)0 : end_results(c, 1);
	}
	slow = intrinsic == INTRINSIC_math_floor ? cold_for_integer(c, back) :
						   cold_path(c, emit_helper, HELPER_call, back);
	if (c_of(i) || results_of(c, intrinsic) != 1 || intrinsic == INTRINSIC_str_match)
		return compile_expected(c, intrinsic, i, slow);
	compile_expected(c, intrinsic, with_results(i, 1), slow);
	end_results(c, 1);
}

bool compile_text_tail(struct compiler *c, int intrinsic, u32 back)
{
	u32 i = insn_at(c), n, slow;

	if (intrinsic == INTRINSIC_str_byte || intrinsic == INTRINSIC_tinsert ||
	    intrinsic == INTRINSIC_util_number || !has_arguments(c, intrinsic))
		return false;
	n = results_of(c, intrinsic);
	if (!can_return(c, n) || a_of(i) + n > c->p->nregs)
		return false;
	slow = cold_call(c, back);
	check_wanted(c, n, slow);
	compile_expected(c, intrinsic, with_results(i, n), slow);
	return_values(c, a_of(i), n);
	return true;
}
