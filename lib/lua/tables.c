// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Compiles accesses to tables (see compile.h): elements of array parts, and fields at their
 * expected nodes; for all others a helper searches.
 */
#include <linux/syscript_image_batch.h>
#include <stddef.h>

#include "compile.h"

static u32 insn_at(const struct compiler *c)
{
	return c->p->code[c->pc];
}

/* A constant index within reach of an access's offset, or 0. */
static s32 near_index(const struct compiler *c, u32 key)
{
	s64 k = key & RK_K ? (s64)c->p->k[key & ~RK_K].bits : 0;

	return k > 0 && k < 1024 ? k : 0;
}

/*
 * Makes the element RK(@key) of the table R(@table) accessible at register @to plus the returned
 * offset if it is in the array part; otherwise goes to @slow. r1 is the table, unless it is @to,
 * which leaves one of the two masked addresses for the frame.
 */
static s32 load_element(struct compiler *c, u8 to, u32 table, u32 key, u32 slow)
{
	s32 k = near_index(c, key);

	if (!k)
		load_integer(c, 2, key, slow);
	check_tag(c, table, T_TABLE, TAG_TABLE, slow);
	load_object(c, 1, table);
	emit_load(c->e, INSN_W, 3, 1, TABLE_SIZEARRAY);
	if (k) {
		emit_branch_imm(c->e, INSN_JLT, 3, k, slow);
		emit_load(c->e, INSN_DW, to, 1, TABLE_ARRAY);
		return (k - 1) * VALUE_SIZE;
	}
	emit_alu_imm(c->e, INSN_SUB, 2, 1);
	emit_branch(c->e, INSN_JGE, 2, 3, slow);
	emit_alu_imm(c->e, INSN_LSH, 2, 4);
	if (to == 2)
		emit_load(c->e, INSN_DW, 3, 1, TABLE_ARRAY);
	else
		emit_load(c->e, INSN_DW, to, 1, TABLE_ARRAY);
	emit_alu(c->e, INSN_ADD, to, to == 2 ? 3 : 2);
	return 0;
}

/* -- Values ------------------------------------------------------------------- */

static u8 types_of_value(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk);
}

/* r4, r5 = the value and the tag of RK(@rk). */
static void load_value(struct compiler *c, u32 rk)
{
	struct value k;

	if (!(rk & RK_K)) {
		emit_load(c->e, INSN_DW, 4, REG_BASE, slot(c, rk));
		emit_load(c->e, INSN_W, 5, REG_BASE, slot_tag(c, rk));
		return;
	}
	k = c->p->k[rk & ~RK_K];
	if (k.tag == TAG_STRING)
		emit_address(c->e, 4, k.bits - (uintptr_t)c->runtime->arena);
	else
		emit_constant(c->e, 4, k.bits);
	emit_constant(c->e, 5, k.tag);
}

/*
 * Goes to @slow if the collector must be told of the value: the table in r1 is black, and the
 * value is an object.  Where a script makes garbage, tables are black most of the time.
 */
static void check_barrier(struct compiler *c, u32 rk, u32 slow)
{
	u32 done;

	if (!(types_of_value(c, rk) & ~(T_NUMBERS | T_NIL | T_BOOLEAN)))
		return;
	emit_load(c->e, INSN_B, 0, 1, OBJECT_MARKED);
	if (rk & RK_K)
		return emit_branch_imm(c->e, INSN_JSET, 0, OBJECT_BLACK, slow);
	done = emit_label(c->e);
	emit_alu_imm(c->e, INSN_AND, 0, OBJECT_BLACK);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, done);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, rk));
	emit_branch_imm(c->e, INSN_JGE, 0, TAG_STRING, slow);
	emit_land(c->e, done);
}

/* -- Fields ------------------------------------------------------------------- */

/* Bits of a hash that fit a constant operand. */
#define HASH_BITS	0x7fff

static bool is_name(const struct compiler *c, u32 rk)
{
	return rk & RK_K && c->p->k[rk & ~RK_K].tag == TAG_STRING;
}

/* The name that this instruction looks up, a string. */
static u64 name_of(const struct compiler *c)
{
	u32 i = insn_at(c), k = op_of(i) == OP_SETTABLE ? b_of(i) : c_of(i);

	return c->p->k[op_of(i) == OP_GETGLOBAL ? bx_of(i) : k & ~RK_K].bits;
}

static void load_name(struct compiler *c, u8 reg)
{
	emit_address(c->e, reg, name_of(c) - (uintptr_t)c->runtime->arena);
}

/* Loads the table that has the field into @reg. */
static void load_table(struct compiler *c, u8 reg, u32 slow)
{
	u32 i = insn_at(c), table = op_of(i) == OP_SETTABLE ? a_of(i) : b_of(i);

	if (op_of(i) == OP_GETGLOBAL) {
		load_closure(c, reg);
		emit_load(c->e, INSN_DW, reg, reg, CLOSURE_ENV);
	} else {
		check_tag(c, table, T_TABLE, TAG_TABLE, slow);
		load_object(c, reg, table);
	}
}

/* The node of the table that had the field when the script was compiled, or -1. */
static s32 expected_node(const struct compiler *c)
{
	u32 i = insn_at(c), table = op_of(i) == OP_SETTABLE ? a_of(i) : b_of(i);
	u64 origin;

	if (op_of(i) == OP_GETGLOBAL)
		origin = runtime_value(c->runtime, c->runtime->state + STATE_GLOBALS).bits;
	else
		origin = fact_at(&c->types, c->pc, table)->origin;
	return runtime_node(c->runtime, origin, name_of(c));
}

void load_nodes(struct compiler *c, u32 n, u32 miss)
{
	if (n) {
		emit_load(c->e, INSN_W, 2, 1, TABLE_NODEMASK);
		emit_branch_imm(c->e, INSN_JLT, 2, n, miss);
	}
	emit_load(c->e, INSN_DW, 3, 1, TABLE_NODE);
}

void check_key(struct compiler *c, s32 at, u32 miss)
{
	emit_load(c->e, INSN_DW, 0, 3, at + NODE_KEY);
	emit_branch(c->e, INSN_JNE, 0, 2, miss);
	emit_load(c->e, INSN_W, 0, 3, at + NODE_KEY_TAG);
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_STRING, miss);
}

/*
 * r3 plus the returned offset = the node of the table in r1 that probably has the field: node @n
 * or, if that is negative, the first node for the name's hash. Keeps r1.
 */
static s32 find_node(struct compiler *c, s32 n, u32 miss)
{
	u32 hash = runtime_word(c->runtime, name_of(c) + STRING_HASH, 4) & HASH_BITS;

	if (n >= 0) {
		load_nodes(c, n, miss);
		return n * NODE_SIZE;
	}
	emit_load(c->e, INSN_W, 2, 1, TABLE_NODEMASK);
	emit_load(c->e, INSN_DW, 3, 1, TABLE_NODE);
	emit_alu_imm(c->e, INSN_AND, 2, hash);
	emit_alu_imm(c->e, INSN_MUL, 2, NODE_SIZE);
	emit_alu(c->e, INSN_ADD, 3, 2);
	return 0;
}

/* Goes to @miss unless the node at r3 + @at has the name in r2; then r4 is its value's tag. */
static void check_node(struct compiler *c, s32 at, u32 miss, u32 slow)
{
	check_key(c, at, miss);
	emit_load(c->e, INSN_W, 4, 3, at + VALUE_TAG);
	emit_branch_imm(c->e, INSN_JEQ, 4, TAG_NIL, slow);
}

/* R(@to) = r5, with the tag in r4. */
static void take_value(struct compiler *c, u32 to)
{
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, to), 5);
	emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, to), 4);
	set_cached(c, to);
}

/*
 * Stores to an existing element of the table in r1, at @reg + @at: then no metatable is
 * consulted.
 */
static void set_element(struct compiler *c, u8 reg, s32 at, u32 slow)
{
	u32 rk = c_of(insn_at(c));

	check_barrier(c, rk, slow);
	load_value(c, rk);
	emit_store(c->e, INSN_DW, reg, at, 4);
	emit_store(c->e, INSN_W, reg, at + VALUE_TAG, 5);
}

/* Uses the field that was found, as the instruction requires. */
static void use_field(struct compiler *c, s32 at, u32 slow)
{
	u32 i = insn_at(c);

	if (op_of(i) == OP_SETTABLE)
		return set_element(c, 3, at, slow);
	if (op_of(i) == OP_SELF) {
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, a_of(i) + 1), 1);
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a_of(i) + 1), TAG_TABLE);
	}
	emit_load(c->e, INSN_DW, 5, 3, at);
	take_value(c, a_of(i));
}

/* Has the runtime find the field of the table in r1. */
static void call_field(struct compiler *c, u32 slow)
{
	u32 i = insn_at(c);

	load_name(c, 2);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_field]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_mov(c->e, 3, 0);
	emit_load(c->e, INSN_W, 4, 3, VALUE_TAG);
	if (op_of(i) == OP_SETTABLE || op_of(i) == OP_SELF)
		load_object(c, 1, op_of(i) == OP_SETTABLE ? a_of(i) : b_of(i));
	use_field(c, 0, slow);
}

/* The field is not in the expected node. */
static void emit_missed(struct compiler *c, const struct cold *cold)
{
	call_field(c, cold->target);
	emit_jump(c->e, cold->back);
}

/* As check_node(), of the nodes after the one in r3. */
static void check_next_nodes(struct compiler *c, u32 slow)
{
	u32 next = emit_label(c->e);

	emit_land(c->e, next);
	emit_load(c->e, INSN_DW, 3, 3, NODE_NEXT);
	emit_branch_imm(c->e, INSN_JEQ, 3, 0, slow);
	check_node(c, 0, next, slow);
}

/* The field is not in the first node for its hash, r3: searches the nodes after it. */
static void emit_next_node(struct compiler *c, const struct cold *cold)
{
	check_next_nodes(c, cold->target);
	use_field(c, 0, cold->target);
	emit_jump(c->e, cold->back);
}

static void find_inline(struct compiler *c, u32 back, u32 slow)
{
	s32 n = expected_node(c), at;
	u32 miss = cold_path_to(c, n < 0 ? emit_next_node : emit_missed, back, slow);

	at = find_node(c, n, miss);
	load_name(c, 2);
	check_node(c, at, miss, slow);
	use_field(c, at, slow);
}

/* Inline only in loops without calls, because it takes 40 instructions. */
static void compile_field(struct compiler *c, u32 helper)
{
	u32 back = emit_label(c->e), slow = cold_helper(c, helper, back);

	load_table(c, 1, slow);
	if (c->in_loop[c->pc])
		find_inline(c, back, slow);
	else
		call_field(c, slow);
	emit_land(c->e, back);
}

/* r3 = the address of the value for the string in r2 in the table in r1, which may be added. */
static void call_added(struct compiler *c, u32 slow)
{
	emit_call(c->e, c->runtime->exports.helpers[HELPER_added]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_mov(c->e, 3, 0);
}

/* Sets a field of a table that this function made, where it is mostly new. */
static void set_new_field(struct compiler *c)
{
	u32 back = emit_label(c->e), slow = cold_helper(c, HELPER_settable, back);

	load_table(c, 1, slow);
	load_name(c, 2);
	call_added(c, slow);
	load_value(c, c_of(insn_at(c)));
	emit_store(c->e, INSN_DW, 3, 0, 4);
	emit_store(c->e, INSN_W, 3, VALUE_TAG, 5);
	emit_land(c->e, back);
}

static bool may_be_table(const struct compiler *c, u32 reg)
{
	return fact_at(&c->types, c->pc, reg)->types & T_TABLE;
}

void compile_getglobal(struct compiler *c)
{
	compile_field(c, HELPER_getglobal);
}

/* The value is not the string, or not the frame, that the code expects. */
static void emit_self(struct compiler *c, const struct cold *cold)
{
	u32 slow = cold_helper(c, HELPER_self, cold->back);

	if (may_be_table(c, b_of(insn_at(c)))) {
		load_table(c, 1, slow);
		call_field(c, slow);
		emit_jump(c->e, cold->back);
	} else {
		emit_jump(c->e, slow);
	}
}

/* The method @closure of an object with the tag @tag. */
static void store_self(struct compiler *c, u64 closure, u32 tag)
{
	u32 i = insn_at(c), a = a_of(i);

	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, b_of(i)));
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a + 1), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a + 1), tag);
	emit_address(c->e, 1, closure - (uintptr_t)c->runtime->arena);
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_FUNCTION);
}

/* A method of strings: a function of their library. */
static bool compile_self_of_string(struct compiler *c)
{
	u32 i = insn_at(c), back = emit_label(c->e);
	struct value v;

	if (!types_library(&c->types, c->pc, fact_at(&c->types, c->pc, 0), &v))
		return false;
	check_tag(c, b_of(i), T_STRING, TAG_STRING, cold_path(c, emit_self, 0, back));
	check_libraries(c);
	store_self(c, v.bits, TAG_STRING);
	emit_land(c->e, back);
	return true;
}

/* A method of frames, whose views are the only light userdata, and keep their methods. */
static bool compile_self_of_view(struct compiler *c)
{
	u64 method = types_view_method(&c->types, c->pc, fact_at(&c->types, c->pc, 0));
	u32 back = emit_label(c->e);

	if (!method)
		return false;
	check_tag(c, b_of(insn_at(c)), T_OTHER, TAG_POINTER, cold_path(c, emit_self, 0, back));
	store_self(c, method, TAG_POINTER);
	emit_land(c->e, back);
	return true;
}

void compile_self(struct compiler *c)
{
	u32 i = insn_at(c);

	if (compile_self_of_view(c) || compile_self_of_string(c))
		return;
	if (!is_name(c, c_of(i)) || !may_be_table(c, b_of(i)))
		return call_helper(c, HELPER_self, c->pc);
	compile_field(c, HELPER_self);
}

/* -- Elements ----------------------------------------------------------------- */

static bool is_index(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk) & T_INTEGER;
}

static void emit_next_text(struct compiler *c, const struct cold *cold)
{
	check_next_nodes(c, cold->target);
	emit_jump(c->e, cold->back);
}

/*
 * r3, r4 = the address of the element with the string key R(@key) in the table R(@table), which r1
 * is, and its tag; goes to @absent if there is none, or if it is nil.
 */
static void find_by_text(struct compiler *c, u32 table, u32 key, u32 absent, u32 slow)
{
	u32 found = emit_label(c->e);

	check_tag(c, table, T_TABLE, TAG_TABLE, slow);
	load_object(c, 1, table);
	emit_load(c->e, INSN_DW, 2, REG_BASE, slot(c, key));
	emit_load(c->e, INSN_W, 3, 2, STRING_HASH);
	emit_load(c->e, INSN_W, 4, 1, TABLE_NODEMASK);
	emit_alu(c->e, INSN_AND, 3, 4);
	emit_alu_imm(c->e, INSN_MUL, 3, NODE_SIZE);
	emit_load(c->e, INSN_DW, 4, 1, TABLE_NODE);
	emit_alu(c->e, INSN_ADD, 3, 4);
	check_node(c, 0, cold_path_to(c, emit_next_text, found, absent), absent);
	emit_land(c->e, found);
}

/* The table has no such field: the value is nil, unless there is a metatable. */
static void emit_absent(struct compiler *c, const struct cold *cold)
{
	u32 slow = cold_helper(c, HELPER_gettable, cold->back);

	load_object(c, 1, b_of(insn_at(c)));
	emit_load(c->e, INSN_DW, 0, 1, TABLE_METATABLE);
	emit_branch_imm(c->e, INSN_JNE, 0, 0, slow);
	emit_constant(c->e, 4, TAG_NIL);
	emit_constant(c->e, 5, 0);
	emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, a_of(insn_at(c))), 4);
	emit_jump(c->e, cold->back);
}

static void get_by_text(struct compiler *c, u32 i, u32 back, u32 slow)
{
	find_by_text(c, b_of(i), c_of(i), cold_path(c, emit_absent, 0, back), slow);
	emit_load(c->e, INSN_DW, 5, 3, 0);
	take_value(c, a_of(i));
}

/* The table has no such field: it may be added. */
static void emit_added(struct compiler *c, const struct cold *cold)
{
	u32 i = insn_at(c);

	load_object(c, 1, a_of(i));
	emit_load(c->e, INSN_DW, 2, REG_BASE, slot(c, b_of(i)));
	call_added(c, cold->target);
	emit_jump(c->e, cold->back);
}

/* R(a)[R(b)] = RK(c), with a string key.  The slow path stores to watched tables. */
static void set_by_text(struct compiler *c, u32 i, u32 slow)
{
	u32 added = emit_label(c->e);

	find_by_text(c, a_of(i), b_of(i), cold_path_to(c, emit_added, added, slow), slow);
	emit_load(c->e, INSN_B, 0, 1, OBJECT_MARKED);
	emit_branch_imm(c->e, INSN_JSET, 0, OBJECT_WATCHED, slow);
	check_barrier(c, c_of(i), slow);
	emit_land(c->e, added);
	load_value(c, c_of(i));
	emit_store(c->e, INSN_DW, 3, 0, 4);
	emit_store(c->e, INSN_W, 3, VALUE_TAG, 5);
}

/* Slow path of an index that is a string. */
static void emit_by_text(struct compiler *c, const struct cold *cold)
{
	u32 i = insn_at(c);

	if (op_of(i) == OP_GETTABLE)
		get_by_text(c, i, cold->back, cold->target);
	else
		set_by_text(c, i, cold->target);
	emit_jump(c->e, cold->back);
}

/* Is the key RK(@key) certainly a string, not constant? */
static bool is_text(const struct compiler *c, u32 key)
{
	return !(key & RK_K) && fact_at(&c->types, c->pc, key)->types == T_STRING;
}

/* Goes to code for a string if the key RK(@key) may be one, and is. */
static void check_text(struct compiler *c, u32 key, u32 back, u32 slow)
{
	if (key & RK_K || !(fact_at(&c->types, c->pc, key)->types & T_STRING))
		return;
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, key));
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_STRING,
			cold_path_to(c, emit_by_text, back, slow));
}

/*
 * r5 = the view of frame r2, from 1, of the port in r1, which is looked at now. Goes to @other,
 * with both, unless it is the port that was last indexed, and has the frame in the arena.
 */
static void load_view(struct compiler *c, u32 other)
{
	emit_address(c->e, 3, c->runtime->seen - (uintptr_t)c->runtime->arena);
	emit_load(c->e, INSN_DW, 4, 3, SEEN_OBJECT);
	emit_branch(c->e, INSN_JNE, 1, 4, other);
	emit_load(c->e, INSN_DW, 4, 3, SEEN_PORT);
	emit_load(c->e, INSN_W, 5, 4, PORT_READY);
	emit_mov(c->e, 0, 2);
	emit_alu_imm(c->e, INSN_SUB, 0, 1);
	emit_branch(c->e, INSN_JGE, 0, 5, other);
	emit_load(c->e, INSN_DW, 5, 4, PORT_VIEWS);
	emit_alu(c->e, INSN_OR, 5, 0);
	emit_alu_imm(c->e, INSN_MUL, 0, sizeof(struct image_batch_frame));
	emit_alu(c->e, INSN_ADD, 4, 0);
	emit_load(c->e, INSN_DW, 0, 4, offsetof(struct image_batch_frame, at));
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, other);
	emit_store(c->e, INSN_DW, 3, SEEN_VIEW, 5);
	emit_store(c->e, INSN_DW, 3, SEEN_FRAME, 4);
}

/* The indexed value may be a port, whose elements are views of frames. */
static void emit_view(struct compiler *c, const struct cold *cold)
{
	u32 i = insn_at(c), slow = cold_helper(c, HELPER_gettable, cold->back);
	u32 other = emit_label(c->e), found = emit_label(c->e);

	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, b_of(i)));
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_USERDATA, slow);
	load_integer(c, 2, c_of(i), slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, b_of(i)));
	load_view(c, other);
	emit_land(c->e, found);
	emit_constant(c->e, 4, TAG_POINTER);
	take_value(c, a_of(i));
	emit_jump(c->e, cold->back);
	emit_land(c->e, other);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_view]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	emit_mov(c->e, 5, 0);
	emit_jump(c->e, found);
}

void compile_gettable(struct compiler *c)
{
	u32 i = insn_at(c), back, slow;
	s32 at;

	if (!may_be_table(c, b_of(i)))
		return call_helper(c, HELPER_gettable, c->pc);
	if (is_name(c, c_of(i)))
		return compile_field(c, HELPER_gettable);
	back = emit_label(c->e);
	slow = cold_helper(c, HELPER_gettable, back);
	if (is_text(c, c_of(i))) {
		get_by_text(c, i, back, slow);
		return emit_land(c->e, back);
	}
	if (!is_index(c, c_of(i)))
		return call_helper(c, HELPER_gettable, c->pc);
	check_text(c, c_of(i), back, slow);
	if (c->p->views[a_of(i)] && !c->caller)
		slow = cold_path(c, emit_view, 0, back);
	at = load_element(c, 1, b_of(i), c_of(i), slow);
	emit_load(c->e, INSN_W, 4, 1, at + VALUE_TAG);
	/* There may be a metatable. */
	emit_branch_imm(c->e, INSN_JEQ, 4, TAG_NIL, slow);
	emit_load(c->e, INSN_DW, 5, 1, at);
	take_value(c, a_of(i));
	emit_land(c->e, back);
}

/* By the runtime, which sees whether it is in a table that is watched. */
static void set_slowly(struct compiler *c)
{
	u32 back = emit_label(c->e);

	emit_jump(c->e, cold_helper(c, HELPER_settable, back));
	emit_land(c->e, back);
}

/* The element of the table in r1 is nil: it can be set unless there is a metatable. */
static void emit_new_element(struct compiler *c, const struct cold *cold)
{
	emit_load(c->e, INSN_DW, 0, 1, TABLE_METATABLE);
	emit_branch_imm(c->e, INSN_JNE, 0, 0, cold->target);
	emit_jump(c->e, cold->back);
}

void compile_settable(struct compiler *c)
{
	u32 i = insn_at(c), back, slow, set;
	s32 at;

	if (!may_be_table(c, a_of(i)))
		return call_helper(c, HELPER_settable, c->pc);
	if (is_name(c, b_of(i)) && runtime_library_name(c->runtime, c->p->k[b_of(i) & ~RK_K]))
		return set_slowly(c);
	if (is_name(c, b_of(i)))
		return fact_at(&c->types, c->pc, a_of(i))->origin == NEW_TABLE ?
		       set_new_field(c) : compile_field(c, HELPER_settable);
	back = emit_label(c->e);
	slow = cold_helper(c, HELPER_settable, back);
	if (is_text(c, b_of(i))) {
		set_by_text(c, i, slow);
		return emit_land(c->e, back);
	}
	if (!is_index(c, b_of(i)))
		return call_helper(c, HELPER_settable, c->pc);
	check_text(c, b_of(i), back, slow);
	at = load_element(c, 2, a_of(i), b_of(i), slow);
	emit_load(c->e, INSN_W, 0, 2, at + VALUE_TAG);
	set = emit_label(c->e);
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_NIL, cold_path_to(c, emit_new_element, set, slow));
	emit_land(c->e, set);
	set_element(c, 2, at, slow);
	emit_land(c->e, back);
}
