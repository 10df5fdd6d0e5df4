// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * See compile.h.  Accesses to tables: elements of their array parts are done here, and
 * fields by a helper that only looks for them.
 */
#include "compile.h"

static u32 insn_at(const struct compiler *c)
{
	return c->p->code[c->pc];
}

/* A constant index that fits in the offset of an access, or 0. */
static s32 near_index(const struct compiler *c, u32 key)
{
	s64 k = key & RK_K ? (s64)c->p->k[key & ~RK_K].bits : 0;

	return k > 0 && k < 1024 ? k : 0;
}

/*
 * The element RK(@key) of the table R(@table) is at register @to and the returned offset,
 * if that is in the array part; else to @slow.  r1 is the table, unless it is @to: of two
 * masked addresses one can then be this frame's.
 */
static s32 load_element(struct compiler *c, u8 to, u32 table, u32 key, u32 slow)
{
	s32 k = near_index(c, key);

	if (!k)
		load_integer(c, 2, key, slow);
	check_tag(c, table, T_TABLE, TAG_TABLE, slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(table));
	emit_load(c->e, INSN_W, 3, 1, TABLE_SIZEARRAY);
	if (k) {
		emit_branch_imm(c->e, INSN_JLT, 3, k, slow);
		emit_load(c->e, INSN_DW, to, 1, TABLE_ARRAY);
		return slot(k - 1);
	}
	emit_alu_imm(c->e, INSN_SUB, 2, 1);
	emit_branch(c->e, INSN_JGE, 2, 3, slow);
	emit_alu_imm(c->e, INSN_LSH, 2, 4);
	emit_load(c->e, INSN_DW, 3, 1, TABLE_ARRAY);
	emit_alu(c->e, INSN_ADD, 3, 2);
	emit_mov(c->e, to, 3);
	return 0;
}

/* -- Fields ------------------------------------------------------------------- */

static bool is_name(const struct compiler *c, u32 rk)
{
	return rk & RK_K && c->p->k[rk & ~RK_K].tag == TAG_STRING;
}

/* r0 = the address of field @k of the table in r1; goes to @slow if there is none. */
static void find_field(struct compiler *c, u32 k, u32 slow)
{
	emit_address(c->e, 2, c->p->k[k].bits - (uintptr_t)c->runtime->arena);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_field]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
}

static void find_field_of(struct compiler *c, u32 table, u32 k, u32 slow)
{
	check_tag(c, table, T_TABLE, TAG_TABLE, slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(table));
	find_field(c, k, slow);
}

static void find_global(struct compiler *c, u32 k, u32 slow)
{
	load_closure(c, 1);
	emit_load(c->e, INSN_DW, 1, 1, CLOSURE_ENV);
	find_field(c, k, slow);
}

/* R(@to) = the value at the address in r0. */
static void take_field(struct compiler *c, u32 to)
{
	emit_load(c->e, INSN_DW, 1, 0, 0);
	emit_load(c->e, INSN_W, 2, 0, VALUE_TAG);
	emit_store(c->e, INSN_DW, REG_BASE, slot(to), 1);
	emit_store(c->e, INSN_W, REG_BASE, slot_tag(to), 2);
}

static bool may_be_table(const struct compiler *c, u32 reg)
{
	return fact_at(&c->types, c->pc, reg)->types & T_TABLE;
}

void compile_getglobal(struct compiler *c)
{
	u32 i = insn_at(c), back = emit_label(c->e);

	find_global(c, bx_of(i), cold_helper(c, HELPER_getglobal, back));
	take_field(c, a_of(i));
	emit_land(c->e, back);
}

void compile_self(struct compiler *c)
{
	u32 i = insn_at(c), back;

	if (!is_name(c, c_of(i)) || !may_be_table(c, b_of(i)))
		return call_helper(c, HELPER_self, c->pc);
	back = emit_label(c->e);
	find_field_of(c, b_of(i), c_of(i) & ~RK_K, cold_helper(c, HELPER_self, back));
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(b_of(i)));
	emit_store(c->e, INSN_DW, REG_BASE, slot(a_of(i) + 1), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(a_of(i) + 1), TAG_TABLE);
	take_field(c, a_of(i));
	emit_land(c->e, back);
}

static void get_field(struct compiler *c, u32 i)
{
	u32 back = emit_label(c->e);

	find_field_of(c, b_of(i), c_of(i) & ~RK_K, cold_helper(c, HELPER_gettable, back));
	take_field(c, a_of(i));
	emit_land(c->e, back);
}

/* -- Elements ----------------------------------------------------------------- */

static bool is_index(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk) & T_INTEGER;
}

void compile_gettable(struct compiler *c)
{
	u32 i = insn_at(c), back, slow;
	s32 at;

	if (!may_be_table(c, b_of(i)))
		return call_helper(c, HELPER_gettable, c->pc);
	if (is_name(c, c_of(i)))
		return get_field(c, i);
	if (!is_index(c, c_of(i)))
		return call_helper(c, HELPER_gettable, c->pc);
	back = emit_label(c->e);
	slow = cold_helper(c, HELPER_gettable, back);
	at = load_element(c, 1, b_of(i), c_of(i), slow);
	emit_load(c->e, INSN_W, 0, 1, at + VALUE_TAG);
	/* There may be a metatable. */
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_NIL, slow);
	emit_load(c->e, INSN_DW, 3, 1, at);
	emit_store(c->e, INSN_W, REG_BASE, slot_tag(a_of(i)), 0);
	emit_store(c->e, INSN_DW, REG_BASE, slot(a_of(i)), 3);
	emit_land(c->e, back);
}

static u8 types_of_value(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk);
}

/* r4, r5 = the value and the tag of RK(@rk). */
static void load_value(struct compiler *c, u32 rk)
{
	struct value k;

	if (!(rk & RK_K)) {
		emit_load(c->e, INSN_DW, 4, REG_BASE, slot(rk));
		emit_load(c->e, INSN_W, 5, REG_BASE, slot_tag(rk));
		return;
	}
	k = c->p->k[rk & ~RK_K];
	if (k.tag == TAG_STRING)
		emit_address(c->e, 4, k.bits - (uintptr_t)c->runtime->arena);
	else
		emit_constant(c->e, 4, k.bits);
	emit_constant(c->e, 5, k.tag);
}

/* Goes to @slow if the collector has marked the table in r1 and must be told of the value. */
static void check_barrier(struct compiler *c, u32 rk, u32 slow)
{
	if (!(types_of_value(c, rk) & ~(T_NUMBERS | T_NIL | T_BOOLEAN)))
		return;
	emit_load(c->e, INSN_B, 0, 1, OBJECT_MARKED);
	emit_branch_imm(c->e, INSN_JSET, 0, OBJECT_BLACK, slow);
}

/* An existing element: its metatable is not consulted. */
static void set_field(struct compiler *c, u32 i)
{
	u32 back = emit_label(c->e), slow = cold_helper(c, HELPER_settable, back);

	find_field_of(c, a_of(i), b_of(i) & ~RK_K, slow);
	emit_mov(c->e, 2, 0);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(a_of(i)));
	check_barrier(c, c_of(i), slow);
	load_value(c, c_of(i));
	emit_store(c->e, INSN_DW, 2, 0, 4);
	emit_store(c->e, INSN_W, 2, VALUE_TAG, 5);
	emit_land(c->e, back);
}

void compile_settable(struct compiler *c)
{
	u32 i = insn_at(c), back, slow;
	s32 at;

	if (!may_be_table(c, a_of(i)))
		return call_helper(c, HELPER_settable, c->pc);
	if (is_name(c, b_of(i)) && fact_at(&c->types, c->pc, a_of(i))->origin != NEW_TABLE)
		return set_field(c, i);
	if (!is_index(c, b_of(i)))
		return call_helper(c, HELPER_settable, c->pc);
	back = emit_label(c->e);
	slow = cold_helper(c, HELPER_settable, back);
	at = load_element(c, 2, a_of(i), b_of(i), slow);
	emit_load(c->e, INSN_W, 0, 2, at + VALUE_TAG);
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_NIL, slow);
	check_barrier(c, c_of(i), slow);
	load_value(c, c_of(i));
	emit_store(c->e, INSN_DW, 2, at, 4);
	emit_store(c->e, INSN_W, 2, at + VALUE_TAG, 5);
	emit_land(c->e, back);
}
