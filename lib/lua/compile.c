// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements compile.h for all instructions except calls, table accesses and arithmetic. */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

static u32 insn_at(const struct compiler *c)
{
	return c->p->code[c->pc];
}

static void say_origin(const struct compiler *c)
{
	emit_origin(c->e, c->p->address - (uintptr_t)c->runtime->arena, c->pc);
}

/* -- Slow paths ----------------------------------------------------------------------- */

u32 cold_path(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 helper,
	      u32 back)
{
	struct cold *more;

	if (c->ncolds == c->cold_room) {
		more = realloc(c->colds, (c->cold_room * 2 + 64) * sizeof(*more));
		if (!more) {
			c->e->failed = true;
			return 0;
		}
		c->colds = more;
		c->cold_room = c->cold_room * 2 + 64;
	}
	c->colds[c->ncolds] = (struct cold){
		.emit = emit, .label = emit_label(c->e), .back = back, .pc = c->pc,
		.helper = helper, .deferral = *c->deferral,
	};
	return c->colds[c->ncolds++].label;
}

u32 cold_path_to(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 back,
		 u32 target)
{
	u32 label = cold_path(c, emit, 0, back);

	if (c->ncolds)
		c->colds[c->ncolds - 1].target = target;
	return label;
}

void call_helper(struct compiler *c, u32 helper, u32 pc)
{
	/* It would execute the caller's instruction: an inlined function has no frame. */
	if (c->caller)
		c->e->failed = true;
	defer_flush(c);
	emit_mov(c->e, 1, REG_L);
	emit_constant(c->e, 2, pc);
	emit_call(c->e, c->runtime->exports.helpers[helper]);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
}

static void emit_leave(struct compiler *c, const struct cold *cold)
{
	emit_constant(c->e, 2, cold->pc);
	emit_jump(c->e, c->leave);
}

/* At the end of a slow path: reloads the value that the following code expects in r5 and r4. */
static void load_cached(struct compiler *c, s32 at)
{
	emit_load(c->e, INSN_DW, 5, REG_BASE, at);
	emit_load(c->e, INSN_W, 4, REG_BASE, at + VALUE_TAG);
}

static void emit_resume(struct compiler *c, const struct cold *cold)
{
	emit_constant(c->e, 3, cold->pc);
	emit_jump(c->e, c->resume);
}

/*
 * The common end of all slow paths of an inlined function: makes its frame, as of the call, and
 * continues in the interpreter at the instruction in r3.
 */
static void emit_shared_resume(struct compiler *c)
{
	struct compiler *to = c->caller;
	u32 i = to->p->code[c->call], wrong = emit_label(c->e);
	s32 at = slot(to, a_of(i));

	emit_origin(c->e, to->p->address - (uintptr_t)c->runtime->arena, c->call);
	emit_land(c->e, c->resume);
	emit_load(c->e, INSN_DW, 5, REG_L, STATE_CI);
	emit_store_imm(c->e, INSN_DW, 5, CI_SAVEDPC, c->call + 1);
	emit_mov(c->e, 1, REG_L);
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 2, at);
	emit_constant(c->e, 4, c_of(i) - 1);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_resume]);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, to->exit);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	if (c->returns_cached)
		load_cached(c, at);
	if (c_of(i) == 1 || (c->result != T_INTEGER && c->result != T_BOOLEAN))
		return emit_jump(c->e, c->back);
	emit_load(c->e, INSN_W, 0, REG_BASE, at + VALUE_TAG);
	emit_branch_imm(c->e, INSN_JNE, 0, c->result == T_INTEGER ? TAG_NUMBER : TAG_BOOLEAN,
			wrong);
	if (c->result == T_INTEGER) {
		emit_load(c->e, INSN_DW, 1, REG_BASE, at);
		check_integer(c, 1, wrong);
	}
	emit_jump(c->e, c->back);
	emit_land(c->e, wrong);
	emit_constant(c->e, 2, c->call + 1);
	emit_jump(c->e, to->leave);
}

u32 cold_leave(struct compiler *c)
{
	return cold_path(c, c->caller ? emit_resume : emit_leave, 0, 0);
}

/* Does the code after the helper expect the result in r5 and r4 as well? */
static bool helper_caches(u32 helper)
{
	return helper == HELPER_gettable || helper == HELPER_getglobal || helper == HELPER_self;
}

/* Offsets of words in the frame by which a slow path passes arguments to shared code. */
#define HELPED_PC	(-8)
#define HELPED_SLOT	(-16)

void emit_helper(struct compiler *c, const struct cold *cold)
{
	u32 a = a_of(c->p->code[cold->pc]);

	if (c->p->has_calls) {
		emit_constant(c->e, 2, cold->pc);
		if (helper_caches(cold->helper))
			emit_constant(c->e, 3, slot(c, a));
		return emit_jump(c->e, c->helped[cold->helper]);
	}
	call_helper(c, cold->helper, cold->pc);
	if (helper_caches(cold->helper))
		load_cached(c, slot(c, a));
	emit_jump(c->e, cold->back);
}

/* Jumps to the end of the instruction whose pc is in r2. */
static void go_back(struct compiler *c, u32 helper)
{
	const struct cold *last = NULL, *cold;

	for (cold = c->colds; cold < c->colds + c->ncolds; cold++) {
		if (cold->emit != emit_helper || cold->helper != helper || !cold->wanted)
			continue;
		if (last)
			emit_branch_imm(c->e, INSN_JEQ, 2, last->pc, last->back);
		last = cold;
	}
	if (last)
		emit_jump(c->e, last->back);
}

/*
 * The code that all slow paths with this helper share, entered with the pc in r2. It saves space,
 * but has to find its way back by the pc.
 */
static void emit_shared_helper(struct compiler *c, u32 helper)
{
	emit_origin(c->e, SHARED_PROTO, 0);
	emit_land(c->e, c->helped[helper]);
	emit_store(c->e, INSN_DW, INSN_R10, HELPED_PC, 2);
	if (helper_caches(helper))
		emit_store(c->e, INSN_DW, INSN_R10, HELPED_SLOT, 3);
	if (helper == HELPER_finish)
		emit_mov(c->e, 3, 0);
	emit_mov(c->e, 1, REG_L);
	emit_call(c->e, c->runtime->exports.helpers[helper]);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	if (helper == HELPER_call || helper == HELPER_finish)
		emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	emit_load(c->e, INSN_DW, 2, INSN_R10, HELPED_PC);
	if (helper_caches(helper)) {
		emit_load(c->e, INSN_DW, 3, INSN_R10, HELPED_SLOT);
		emit_alu(c->e, INSN_ADD, 3, REG_BASE);
		emit_load(c->e, INSN_DW, 5, 3, 0);
		emit_load(c->e, INSN_W, 4, 3, VALUE_TAG);
	}
	go_back(c, helper);
}

u32 cold_helper(struct compiler *c, u32 helper, u32 back)
{
	return cold_path(c, c->caller ? emit_resume : emit_helper, helper, back);
}

/* -- Values ------------------------------------------------------------------------------- */

static u8 types_of_register(const struct compiler *c, u32 reg)
{
	return fact_at(&c->types, c->pc, reg)->types;
}

void check_within(struct compiler *c, u8 reg, struct range range, u32 fail)
{
	u32 rest = 63 - (range.low > range.high ? range.low : range.high);

	emit_mov(c->e, 0, reg);
	if (range.low < 0) {
		emit_alu_imm(c->e, INSN_RSH, 0, range.high);
		return emit_branch_imm(c->e, INSN_JNE, 0, 0, fail);
	}
	emit_alu_imm(c->e, INSN_LSH, 0, rest);
	emit_alu_imm(c->e, INSN_ARSH, 0, rest);
	emit_branch(c->e, INSN_JNE, 0, reg, fail);
}

void check_integer(struct compiler *c, u8 reg, u32 fail)
{
	check_within(c, reg, RANGE_OF_INTEGERS, fail);
}

void check_tag(struct compiler *c, u32 reg, u8 types, u32 tag, u32 fail)
{
	if (!(types_of_register(c, reg) & ~types))
		return;
	if (is_cached(c, reg))
		return emit_branch_imm(c->e, INSN_JNE, 4, tag, fail);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, reg));
	emit_branch_imm(c->e, INSN_JNE, 0, tag, fail);
}

static void load_register(struct compiler *c, u8 reg, u32 from)
{
	if (is_cached(c, from))
		emit_mov(c->e, reg, 5);
	else
		emit_load(c->e, INSN_DW, reg, REG_BASE, slot(c, from));
}

void load_integer(struct compiler *c, u8 reg, u32 rk, u32 fail)
{
	s64 k;

	if (rk_is_constant(&c->types, c->pc, rk, &k) || rk & RK_K)
		return emit_constant(c->e, reg, k);
	if (c->loop)
		return loop_load(c->loop, reg, rk);
	check_tag(c, rk, T_NUMBERS, TAG_NUMBER, fail);
	load_register(c, reg, rk);
	if (types_of_register(c, rk) & T_NUMBER)
		check_integer(c, reg, fail);
}

bool has_tag(const struct compiler *c, u32 reg, u8 types)
{
	return !(types_of_register(c, reg) & ~types) && !c->has_deferred[reg];
}

void load_object(struct compiler *c, u8 reg, u32 from)
{
	const struct fact *f = fact_at(&c->types, c->pc, from);

	if (defer_has(c, from))
		emit_address(c->e, reg, f->origin - (uintptr_t)c->runtime->arena);
	else
		emit_load(c->e, INSN_DW, reg, REG_BASE, slot(c, from));
}

void store_integer(struct compiler *c, u32 to, u8 reg)
{
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, to), reg);
	if (!has_tag(c, to, T_NUMBERS))
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, to), TAG_NUMBER);
}

/* -- Moves ---------------------------------------------------------------------------------- */

static const struct {
	u8 types, tag;
} tags[] = {
	{ T_NIL, TAG_NIL }, { T_BOOLEAN, TAG_BOOLEAN }, { T_NUMBERS, TAG_NUMBER },
	{ T_STRING, TAG_STRING }, { T_TABLE, TAG_TABLE }, { T_FUNCTION, TAG_FUNCTION },
};

/* The index in @tags of the only tag that values of these types have, or -1. */
static int tag_of(u8 types)
{
	size_t i;

	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (!(types & ~tags[i].types))
			return i;
	return -1;
}

static void copy_tagged(struct compiler *c, s32 to, u32 from, u8 there)
{
	u8 types = types_of_register(c, from);
	int n = tag_of(types);

	if (is_cached(c, from) && n < 0) {
		emit_store(c->e, INSN_DW, REG_BASE, to, 5);
		return emit_store(c->e, INSN_W, REG_BASE, to + VALUE_TAG, 4);
	}
	if (types != T_NIL) {
		emit_load(c->e, INSN_DW, 0, REG_BASE, slot(c, from));
		emit_store(c->e, INSN_DW, REG_BASE, to, 0);
	}
	if (n < 0) {
		emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, from));
		emit_store(c->e, INSN_W, REG_BASE, to + VALUE_TAG, 0);
	} else if (there & ~tags[n].types) {
		emit_store_imm(c->e, INSN_W, REG_BASE, to + VALUE_TAG, tags[n].tag);
	}
}

void copy_value(struct compiler *c, s32 to, u32 from)
{
	copy_tagged(c, to, from, T_ANY);
}

static void compile_move(struct compiler *c, u32 to, u32 from)
{
	u8 types = types_of_register(c, from);

	if (types & T_INTEGER && types != T_INTEGER && op_of(insn_at(c)) == OP_MOVE &&
	    types_takes_integer(&c->types, c->pc, fact_at(&c->types, c->pc, 0))) {
		load_integer(c, 1, from, cold_leave(c));
		return store_integer(c, to, 1);
	}
	copy_tagged(c, slot(c, to), from,
		    c->has_deferred[to] ? T_ANY : types_of_register(c, to));
}

static void compile_loadk(struct compiler *c, u32 to, struct value k)
{
	if (k.tag == TAG_NUMBER) {
		emit_constant(c->e, 0, k.bits);
		return store_integer(c, to, 0);
	}
	emit_address(c->e, 0, k.bits - (uintptr_t)c->runtime->arena);
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, to), 0);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, to), k.tag);
}

static void store_boolean(struct compiler *c, u32 to, u32 value)
{
	emit_store_imm(c->e, INSN_W, REG_BASE, slot(c, to), value);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, to), TAG_BOOLEAN);
}

static void compile_loadnil(struct compiler *c, u32 from, u32 to)
{
	for (; from <= to; from++)
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, from), TAG_NIL);
}

/* -- Upvalues ----------------------------------------------------------------- */

void load_closure(struct compiler *c, u8 reg)
{
	if (!c->p->is_vararg)
		return emit_load(c->e, INSN_DW, reg, REG_BASE, slot(c, 0) - VALUE_SIZE);
	emit_load(c->e, INSN_DW, reg, REG_L, STATE_CI);
	emit_load(c->e, INSN_DW, reg, reg, CI_FUNC);
	emit_load(c->e, INSN_DW, reg, reg, 0);
}

/* @reg = the address of upvalue @up's value. */
static void load_upvalue(struct compiler *c, u8 reg, u32 up)
{
	load_closure(c, reg);
	emit_load(c->e, INSN_DW, reg, reg, CLOSURE_UPVALUES + 8 * up);
	emit_load(c->e, INSN_DW, reg, reg, UPVAL_V);
}

/* R(@to) = @v, the constant value of an upvalue. */
static void load_fixed(struct compiler *c, u32 to, struct value v)
{
	switch (v.tag) {
	case TAG_NIL:
		return compile_loadnil(c, to, to);
	case TAG_BOOLEAN:
		return store_boolean(c, to, v.bits & 1);
	default:
		return compile_loadk(c, to, v);
	}
}

void check_libraries(struct compiler *c)
{
	emit_address(c->e, 0, c->runtime->replaced - (uintptr_t)c->runtime->arena);
	emit_load(c->e, INSN_W, 0, 0, 0);
	emit_branch_imm(c->e, INSN_JNE, 0, 0, cold_leave(c));
}

/* R(A) = a library's function, if it is certain. */
static bool compile_library(struct compiler *c, u32 i)
{
	struct value v;

	if (!types_library(&c->types, c->pc, fact_at(&c->types, c->pc, 0), &v))
		return false;
	check_libraries(c);
	load_fixed(c, a_of(i), v);
	return true;
}

static void compile_getupval(struct compiler *c, u32 to, u32 up)
{
	struct value v;
	u32 leave;

	if (upvalue_is_fixed(c->runtime, c->p, up, &v))
		return load_fixed(c, to, v);
	load_upvalue(c, 1, up);
	if (upvalue_is_integer(c->runtime, c->p, up)) {
		leave = cold_leave(c);
		emit_load(c->e, INSN_W, 0, 1, VALUE_TAG);
		emit_branch_imm(c->e, INSN_JNE, 0, TAG_NUMBER, leave);
		emit_load(c->e, INSN_DW, 2, 1, 0);
		check_integer(c, 2, leave);
		return store_integer(c, to, 2);
	}
	emit_load(c->e, INSN_DW, 2, 1, 0);
	emit_load(c->e, INSN_W, 0, 1, VALUE_TAG);
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, to), 2);
	emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, to), 0);
}

/* The upvalue is black: the collector must be told of an object. r3 is the value's tag. */
static void emit_black_upvalue(struct compiler *c, const struct cold *cold)
{
	emit_branch_imm(c->e, INSN_JGE, 3, TAG_STRING, cold->target);
	emit_jump(c->e, cold->back);
}

static void compile_setupval(struct compiler *c, u32 from, u32 up)
{
	u32 set = emit_label(c->e), back = emit_label(c->e);
	u32 slow = cold_helper(c, HELPER_setupval, back);

	emit_load(c->e, INSN_W, 3, REG_BASE, slot_tag(c, from));
	load_closure(c, 1);
	emit_load(c->e, INSN_DW, 1, 1, CLOSURE_UPVALUES + 8 * up);
	if (types_of_register(c, from) & ~(T_NUMBERS | T_NIL | T_BOOLEAN)) {
		emit_load(c->e, INSN_B, 0, 1, OBJECT_MARKED);
		emit_branch_imm(c->e, INSN_JSET, 0, OBJECT_BLACK,
				cold_path_to(c, emit_black_upvalue, set, slow));
	}
	emit_land(c->e, set);
	emit_load(c->e, INSN_DW, 1, 1, UPVAL_V);
	emit_load(c->e, INSN_DW, 2, REG_BASE, slot(c, from));
	emit_store(c->e, INSN_DW, 1, 0, 2);
	emit_store(c->e, INSN_W, 1, VALUE_TAG, 3);
	emit_land(c->e, back);
}

/* -- Operators --------------------------------------------------------------- */

static void compile_not(struct compiler *c, u32 to, u32 from)
{
	u32 is_false = emit_label(c->e), done = emit_label(c->e), is_true = emit_label(c->e);

	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, from));
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_NIL, is_false);
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_BOOLEAN, is_true);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot(c, from));
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, is_false);
	emit_land(c->e, is_true);
	store_boolean(c, to, 0);
	emit_jump(c->e, done);
	emit_land(c->e, is_false);
	store_boolean(c, to, 1);
	emit_land(c->e, done);
}

static void compile_len(struct compiler *c, u32 to, u32 from)
{
	u32 back, slow;

	if (!(types_of_register(c, from) & T_STRING))
		return call_helper(c, HELPER_len, c->pc);
	back = emit_label(c->e);
	slow = cold_helper(c, HELPER_len, back);
	check_tag(c, from, T_STRING, TAG_STRING, slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, from));
	emit_load(c->e, INSN_DW, 1, 1, STRING_LEN);
	store_integer(c, to, 1);
	emit_land(c->e, back);
}

/* -- Jumps -------------------------------------------------------------------- */

static u32 target_of(const struct compiler *c, u32 pc)
{
	return c->labels[pc + 1 + sbx_of(c->p->code[pc])];
}

/* Skips the JMP after a test, which is compiled together with the test. */
static void compile_else(struct compiler *c)
{
	if (c->types.reached[c->pc + 1])
		emit_jump(c->e, c->labels[c->pc + 2]);
}

/* After a test: jumps to @label, unless the code at @label follows. */
static void jump_on(struct compiler *c, u32 label)
{
	if (op_of(insn_at(c)) != OP_TEST || label != c->labels[c->pc + 2] ||
	    c->types.reached[c->pc + 1])
		emit_jump(c->e, label);
}

/* Jumps if the value of R(@reg) is false, or if it is true. */
static void emit_test(struct compiler *c, u32 reg, u32 if_false, u32 if_true)
{
	u8 types = types_of_register(c, reg);

	if (!(types & (T_NIL | T_BOOLEAN)))
		return jump_on(c, if_true);
	if (types == T_NIL)
		return jump_on(c, if_false);
	if (types != T_BOOLEAN) {
		emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, reg));
		if (types & T_NIL)
			emit_branch_imm(c->e, INSN_JEQ, 0, TAG_NIL, if_false);
		if (!(types & T_BOOLEAN))
			return emit_jump(c->e, if_true);
		if (types & ~(T_NIL | T_BOOLEAN))
			emit_branch_imm(c->e, INSN_JNE, 0, TAG_BOOLEAN, if_true);
	}
	emit_load(c->e, INSN_W, 0, REG_BASE, slot(c, reg));
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, if_false);
	emit_jump(c->e, if_true);
}

static void compile_test(struct compiler *c, u32 i)
{
	u32 to = target_of(c, c->pc + 1), next = c->labels[c->pc + 2];

	emit_test(c, a_of(i), c_of(i) ? next : to, c_of(i) ? to : next);
}

static void compile_testset(struct compiler *c, u32 i)
{
	u32 set = emit_label(c->e), next = c->labels[c->pc + 2];

	emit_test(c, b_of(i), c_of(i) ? next : set, c_of(i) ? set : next);
	emit_land(c->e, set);
	compile_move(c, a_of(i), b_of(i));
	emit_jump(c->e, target_of(c, c->pc + 1));
}

/*
 * An integer of 64 bits compares like a number, but the code that follows may take the operand for
 * a number (refine_ordered(), types_equal()). So the interpreter takes over.
 */
static void leave_at_int64(struct compiler *c, u32 rk, u32 other)
{
	if (rk & RK_K || types_of_rk(&c->types, c->pc, other) & ~T_NUMBERS ||
	    !(types_of_rk(&c->types, c->pc, rk) & T_OTHER))
		return;
	emit_load(c->e, INSN_W, 1, REG_BASE, slot_tag(c, rk));
	emit_branch_imm(c->e, INSN_JEQ, 1, TAG_USERDATA, cold_leave(c));
}

/* Has the runtime compare; r0 is the result. */
static void call_compare(struct compiler *c, u32 i)
{
	call_helper(c, HELPER_compare, c->pc);
	leave_at_int64(c, b_of(i), c_of(i));
	leave_at_int64(c, c_of(i), b_of(i));
	emit_branch_imm(c->e, INSN_JEQ, 0, a_of(i), target_of(c, c->pc + 1));
}

static void emit_compared(struct compiler *c, const struct cold *cold)
{
	call_compare(c, c->p->code[cold->pc]);
	emit_jump(c->e, cold->back);
}

static u32 cold_compare(struct compiler *c)
{
	return cold_path(c, c->caller ? emit_resume : emit_compared, 0, c->labels[c->pc + 2]);
}

static void compile_compare_slow(struct compiler *c, u32 i)
{
	call_compare(c, i);
	compile_else(c);
}

u8 compare_op(enum op op, bool holds)
{
	switch (op) {
	case OP_EQ:
		return holds ? INSN_JEQ : INSN_JNE;
	case OP_LT:
		return holds ? INSN_JSLT : INSN_JSGE;
	default:
		return holds ? INSN_JSLE : INSN_JSGT;
	}
}

/* The comparison to use when the operands are exchanged. */
static u8 exchanged(u8 op)
{
	switch (op) {
	case INSN_JSLT: return INSN_JSGT;
	case INSN_JSGE: return INSN_JSLE;
	case INSN_JSLE: return INSN_JSGE;
	case INSN_JSGT: return INSN_JSLT;
	default: return op;
	}
}

static bool may_be_integer(const struct compiler *c, u32 rk)
{
	return types_of_rk(&c->types, c->pc, rk) & T_INTEGER;
}

/* Is the operand an integer that fits an instruction? */
static bool is_immediate(const struct compiler *c, u32 rk, s64 *k)
{
	return rk_is_constant(&c->types, c->pc, rk, k) && *k == (s32)*k;
}

static void compile_compare_integers(struct compiler *c, u32 i)
{
	u32 slow = cold_compare(c), to = target_of(c, c->pc + 1), rb = b_of(i), rc = c_of(i);
	u8 op = compare_op(op_of(i), a_of(i));
	s64 k;

	if (is_immediate(c, rb, &k)) {
		load_integer(c, 1, rc, slow);
		emit_branch_imm(c->e, exchanged(op), 1, k, to);
	} else if (is_immediate(c, rc, &k)) {
		load_integer(c, 1, rb, slow);
		emit_branch_imm(c->e, op, 1, k, to);
	} else {
		load_integer(c, 1, rb, slow);
		load_integer(c, 2, rc, slow);
		emit_branch(c->e, op, 1, 2, to);
	}
	compile_else(c);
}

/* Compares with nil, true, false or a string. */
static void compile_equals_constant(struct compiler *c, u32 i, u32 reg, struct value k)
{
	u32 equal = a_of(i) ? target_of(c, c->pc + 1) : c->labels[c->pc + 2];
	u32 other = a_of(i) ? c->labels[c->pc + 2] : target_of(c, c->pc + 1);

	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, reg));
	emit_branch_imm(c->e, INSN_JNE, 0, k.tag, other);
	if (k.tag == TAG_BOOLEAN) {
		emit_load(c->e, INSN_W, 0, REG_BASE, slot(c, reg));
		emit_branch_imm(c->e, INSN_JNE, 0, k.bits & 1, other);
	} else if (k.tag == TAG_STRING) {
		emit_load(c->e, INSN_DW, 0, REG_BASE, slot(c, reg));
		emit_address(c->e, 1, k.bits - (uintptr_t)c->runtime->arena);
		emit_branch(c->e, INSN_JNE, 0, 1, other);
	}
	emit_jump(c->e, equal);
}

/* Is one operand of the OP_EQ an integer, *@k, and the other a register? */
static bool equals_integer(const struct compiler *c, u32 i, u32 *reg, s64 *k)
{
	bool first = is_immediate(c, b_of(i), k);

	if (op_of(i) != OP_EQ || (!first && !is_immediate(c, c_of(i), k)))
		return false;
	*reg = first ? c_of(i) : b_of(i);
	return !(*reg & RK_K) && types_of_register(c, *reg) != T_INTEGER;
}

/*
 * R(B) or R(C) of an OP_EQ is no number, and the other operand is one: they can be equal only if
 * it is an integer of 64 bits. The code that follows would take it for a number (types_equal()),
 * so the interpreter takes over.
 */
static void emit_equals_number(struct compiler *c, const struct cold *cold)
{
	u32 reg;
	s64 k;

	equals_integer(c, c->p->code[cold->pc], &reg, &k);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, reg));
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_USERDATA, cold->target);
	if (c->caller)
		return emit_resume(c, cold);
	call_helper(c, HELPER_compare, cold->pc);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, cold->target);
	emit_leave(c, cold);
}

/* Compares with an integer: an equal value is the same word, except -0. */
static void compile_equals_integer(struct compiler *c, u32 i, u32 reg, s64 k)
{
	u32 to = target_of(c, c->pc + 1), next = c->labels[c->pc + 2];
	u32 equal = a_of(i) ? to : next, other = a_of(i) ? next : to, fail = other;

	if (types_of_register(c, reg) & T_OTHER)
		fail = cold_path_to(c, emit_equals_number, 0, other);
	check_tag(c, reg, T_NUMBERS, TAG_NUMBER, fail);
	load_register(c, 1, reg);
	if (k) {
		emit_branch_imm(c->e, a_of(i) ? INSN_JEQ : INSN_JNE, 1, k, to);
	} else {
		emit_branch_imm(c->e, INSN_JEQ, 1, 0, equal);
		emit_constant(c->e, 0, MINUS_ZERO);
		emit_branch(c->e, a_of(i) ? INSN_JEQ : INSN_JNE, 1, 0, to);
	}
	compile_else(c);
}

static bool is_plain_constant(const struct compiler *c, u32 rk)
{
	u32 tag = rk & RK_K ? c->p->k[rk & ~RK_K].tag : TAG_NUMBER;

	return tag != TAG_NUMBER && tag != TAG_USERDATA;
}

static void compile_compare(struct compiler *c, u32 i)
{
	u32 rb = b_of(i), rc = c_of(i), reg;
	s64 k;

	if (op_of(i) == OP_EQ && is_plain_constant(c, rc) && !(rb & RK_K))
		return compile_equals_constant(c, i, rb, c->p->k[rc & ~RK_K]);
	if (op_of(i) == OP_EQ && is_plain_constant(c, rb) && !(rc & RK_K))
		return compile_equals_constant(c, i, rc, c->p->k[rb & ~RK_K]);
	if (equals_integer(c, i, &reg, &k))
		return compile_equals_integer(c, i, reg, k);
	if (may_be_integer(c, rb) && may_be_integer(c, rc))
		return compile_compare_integers(c, i);
	compile_compare_slow(c, i);
}

/* -- Loops -------------------------------------------------------------------- */

/* The interpreter runs loops over values other than integers, and the code after them. */
static void compile_forprep(struct compiler *c, u32 i)
{
	u32 a = a_of(i), leave = cold_leave(c);
	u32 to = target_of(c, c->pc);
	s64 step;

	load_integer(c, 1, a, leave);
	if (types_of_register(c, a + 1) != T_INTEGER)
		load_integer(c, 2, a + 1, leave);
	if (for_step(&c->types, c->pc, &step)) {
		emit_alu_imm(c->e, INSN_SUB, 1, step);
	} else {
		load_integer(c, 2, a + 2, leave);
		/* The interpreter handles a step of 0. */
		emit_branch_imm(c->e, INSN_JEQ, 2, 0, leave);
		emit_alu(c->e, INSN_SUB, 1, 2);
	}
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 1);
	if (!has_tag(c, a + 3, T_NUMBERS))
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a + 3), TAG_NUMBER);
	emit_jump(c->e, to);
}

u32 loop_prep(const struct compiler *c, u32 pc)
{
	u32 start = pc + 1 + sbx_of(c->p->code[pc]), i;

	if (!start || start > pc)
		return ~0U;
	i = c->p->code[start - 1];
	if (op_of(i) != OP_FORPREP || start + sbx_of(i) != pc || a_of(i) != a_of(c->p->code[pc]))
		return ~0U;
	return start - 1;
}

static void compile_forloop(struct compiler *c, u32 i)
{
	u32 a = a_of(i), prep = loop_prep(c, c->pc);
	u32 again = c->fast[c->pc] ? cold_path(c, loop_emit, 0, 0) : target_of(c, c->pc);
	u32 done = emit_label(c->e), down = emit_label(c->e), go_on = emit_label(c->e);
	s64 step;

	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a));
	emit_load(c->e, INSN_DW, 2, REG_BASE, slot(c, a + 1));
	if (prep != ~0U && for_step(&c->types, prep, &step)) {
		emit_alu_imm(c->e, INSN_ADD, 1, step);
		emit_branch(c->e, step > 0 ? INSN_JSGT : INSN_JSLT, 1, 2, done);
	} else {
		emit_load(c->e, INSN_DW, 3, REG_BASE, slot(c, a + 2));
		emit_alu(c->e, INSN_ADD, 1, 3);
		emit_branch_imm(c->e, INSN_JSLE, 3, 0, down);
		emit_branch(c->e, INSN_JSGT, 1, 2, done);
		emit_jump(c->e, go_on);
		emit_land(c->e, down);
		emit_branch(c->e, INSN_JSLT, 1, 2, done);
		emit_land(c->e, go_on);
	}
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 1);
	store_integer(c, a + 3, 1);
	emit_jump(c->e, again);
	emit_land(c->e, done);
}

static void emit_tforloop(struct compiler *c, const struct cold *cold)
{
	call_helper(c, HELPER_tforloop, cold->pc);
	emit_branch_imm(c->e, INSN_JNE, 0, 0, cold->target);
	emit_jump(c->e, cold->back);
}

static void compile_tforloop(struct compiler *c)
{
	u32 again = target_of(c, c->pc + 1), over = c->labels[c->pc + 2];
	u32 slow = cold_path_to(c, emit_tforloop, over, again);

	if (compile_gmatch_loop(c, slow, again, over))
		return;
	call_helper(c, HELPER_tforloop, c->pc);
	emit_branch_imm(c->e, INSN_JNE, 0, 0, again);
	compile_else(c);
}

/* -- A function --------------------------------------------------------------- */

static void compile_insn(struct compiler *c)
{
	static const u8 helpers[OPS] = {
		[OP_SETGLOBAL] = HELPER_setglobal, [OP_NEWTABLE] = HELPER_newtable,
		[OP_CONCAT] = HELPER_concat, [OP_SETLIST] = HELPER_setlist,
		[OP_CLOSE] = HELPER_close, [OP_CLOSURE] = HELPER_closure,
		[OP_VARARG] = HELPER_vararg,
	};
	u32 i = insn_at(c), a = a_of(i), b = b_of(i);

	switch (op_of(i)) {
	case OP_MOVE:
		return compile_move(c, a, b);
	case OP_LOADK:
		return compile_loadk(c, a, c->p->k[bx_of(i)]);
	case OP_LOADBOOL:
		store_boolean(c, a, b);
		if (c_of(i))
			emit_jump(c->e, c->labels[c->pc + 2]);
		return;
	case OP_LOADNIL:
		return compile_loadnil(c, a, b);
	case OP_GETUPVAL:
		return compile_getupval(c, a, b);
	case OP_SETUPVAL:
		return compile_setupval(c, a, b);
	case OP_GETGLOBAL:
		return compile_library(c, i) ? (void)0 : compile_getglobal(c);
	case OP_SELF:
		return compile_self(c);
	case OP_GETTABLE:
		return compile_library(c, i) ? (void)0 : compile_gettable(c);
	case OP_SETTABLE:
		return compile_settable(c);
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_POW: case OP_UNM:
		return compile_arith(c);
	case OP_NOT:
		return compile_not(c, a, b);
	case OP_LEN:
		return compile_len(c, a, b);
	case OP_JMP:
		return emit_jump(c->e, target_of(c, c->pc));
	case OP_EQ: case OP_LT: case OP_LE:
		return compile_compare(c, i);
	case OP_TEST:
		return compile_test(c, i);
	case OP_TESTSET:
		return compile_testset(c, i);
	case OP_CALL: case OP_TAILCALL:
		return compile_call(c);
	case OP_RETURN:
		return compile_return(c);
	case OP_FORLOOP:
		return compile_forloop(c, i);
	case OP_FORPREP:
		return compile_forprep(c, i);
	case OP_TFORLOOP:
		return compile_tforloop(c);
	default:
		return call_helper(c, helpers[op_of(i)], c->pc);
	}
}

void compile_code(struct compiler *c)
{
	for (c->pc = 0; c->pc < c->p->ncode; c->pc += 1 + proto_operands(c->p, c->pc)) {
		if (c->types.reached[c->pc])
			defer_before(c);
		emit_land(c->e, c->labels[c->pc]);
		if (c->types.target[c->pc])
			c->deferral->cached = NOT_CACHED;
		if (!c->types.reached[c->pc] || defer_insn(c))
			continue;
		c->deferral->fresh = false;
		say_origin(c);
		compile_insn(c);
		defer_after(c);
		if (!c->deferral->fresh)
			c->deferral->cached = NOT_CACHED;
	}
}

/* Compiles the slow paths that are used and not compiled yet; returns whether there were any. */
static bool compile_wanted(struct compiler *c)
{
	bool any = false;
	u32 i;

	for (i = 0; i < c->ncolds && !c->e->failed; i++) {
		struct cold cold = c->colds[i];

		if (!emit_is_wanted(c->e, cold.label))
			continue;
		c->colds[i].wanted = any = true;
		c->pc = cold.pc;
		c->deferral->cached = NOT_CACHED;
		say_origin(c);
		emit_land(c->e, cold.label);
		defer_store_all(c, &cold.deferral, 4);
		cold.emit(c, &cold);
	}
	return any;
}

/* Slow paths may add further slow paths, and use earlier ones. */
static void compile_colds(struct compiler *c)
{
	struct compiler *inner;
	u32 i;

	while (compile_wanted(c))
		;
	for (inner = c->inlined; inner; inner = inner->next)
		compile_colds(inner);
	if (c->caller && emit_is_wanted(c->e, c->resume))
		emit_shared_resume(c);
	for (i = 0; i < HELPERS_N; i++)
		if (emit_is_wanted(c->e, c->helped[i]))
			emit_shared_helper(c, i);
	if (!c->caller)
		emit_shared(c);
}

static bool make_labels(struct compiler *c)
{
	u32 pc, n;

	c->labels = calloc(c->p->ncode + 2, sizeof(*c->labels));
	for (pc = 0; c->labels && pc < c->p->ncode; pc++)
		c->labels[pc] = emit_label(c->e);
	c->leave = emit_label(c->e);
	c->exit = emit_label(c->e);
	c->epilogue = emit_label(c->e);
	c->slow_return = emit_label(c->e);
	c->resume = emit_label(c->e);
	for (n = 0; n < HELPERS_N; n++)
		c->helped[n] = emit_label(c->e);
	return c->labels;
}

/* Removes the code of a function that could not be compiled. */
static void forget(struct emit *e, struct emit_mark before)
{
	emit_rewind(e, before);
	e->nlabels = 0;
	e->failed = false;
}

static bool find_inlines(struct compiler *c)
{
	u32 pc;
	u8 result;

	c->inlines = calloc(c->p->ncode + 1, sizeof(*c->inlines));
	for (pc = 0; c->inlines && pc < c->p->ncode; pc += 1 + proto_operands(c->p, pc))
		if (c->types.reached[pc])
			c->inlines[pc] = types_inline(&c->types, pc, fact_at(&c->types, pc, 0),
						      &result);
	return c->inlines;
}

/* Does the code from @start to @end call neither functions nor the runtime? */
static bool is_tight(struct compiler *c, u32 start, u32 end)
{
	bool tight = true;

	for (c->pc = start; c->pc < end && tight; c->pc += 1 + proto_operands(c->p, c->pc))
		tight = !c->types.reached[c->pc] || defer_is_quiet(c);
	c->pc = 0;
	return tight;
}

static bool find_loops(struct compiler *c)
{
	u32 pc, i, start;

	c->in_loop = calloc(c->p->ncode + 1, sizeof(*c->in_loop));
	if (!c->in_loop)
		return false;
	if (c->caller)
		memset(c->in_loop, c->caller->in_loop[c->call], c->p->ncode);
	for (pc = 0; pc < c->p->ncode; pc += 1 + proto_operands(c->p, pc)) {
		i = c->p->code[pc];
		start = pc + 1 + sbx_of(i);
		if ((op_of(i) == OP_JMP || op_of(i) == OP_FORLOOP) && start <= pc &&
		    is_tight(c, start, pc))
			memset(c->in_loop + start, true, pc - start);
	}
	return true;
}

bool compile_prepare(struct compiler *c)
{
	return make_labels(c) && find_inlines(c) && find_loops(c) && loop_find(c) &&
	       defer_find(c);
}

static void release(struct compiler *c)
{
	struct compiler *inner;

	while (c->inlined) {
		inner = c->inlined;
		c->inlined = inner->next;
		release(inner);
		free(inner);
	}
	types_free(&c->types);
	free(c->labels);
	free(c->colds);
	free(c->inlines);
	free(c->in_loop);
	free(c->fast);
	free(c->defer_until);
}

/* Stack use is counted in frames, so each function that calls others needs a frame. */
static u32 frame_of(const struct compiler *c)
{
	u32 size = c->p->has_calls ? FRAME_SIZE : 0, slots = c->slots * 8;

	return slots > size ? (slots + 15) / 16 * 16 : size;
}

bool compile_proto(const struct runtime *runtime, const struct proto *p, struct emit *e,
		   u32 *frame)
{
	struct deferral deferral = { .cached = NOT_CACHED };
	struct compiler c = { .runtime = runtime, .p = p, .e = e, .deferral = &deferral };
	struct emit_mark before = emit_mark(e);
	bool done = types_infer(&c.types, runtime, p) && compile_prepare(&c);

	if (done) {
		compile_begin(&c);
		compile_code(&c);
		deferral = (struct deferral){ .cached = NOT_CACHED };
		compile_colds(&c);
		emit_resolve(e);
		done = !e->failed;
		*frame = frame_of(&c);
	}
	if (!done)
		forget(e, before);
	release(&c);
	return done;
}
