// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements the calls, returns and frames of compile.h. */
#include <stdlib.h>

#include "compile.h"

/* The runtime returns more results than this. */
#define RETURNS_MAX	6

/* Tail calls nest only while this much of the C stack is left for other calls. */
#define TAIL_ROOM	(64 << 10)

static u32 insn_at(const struct compiler *c)
{
	return c->p->code[c->pc];
}

static void leave_with(struct compiler *c, u32 status)
{
	emit_constant(c->e, 0, status);
	emit_exit(c->e);
}

/* -- Frames -------------------------------------------------------------------------------- */

/* r2 to r4 still hold the function's arguments. */
static void emit_enter(struct compiler *c, const struct cold *cold)
{
	u32 interpret = emit_label(c->e);

	emit_mov(c->e, 1, REG_L);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_enter]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, interpret);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	emit_jump(c->e, cold->back);
	emit_land(c->e, interpret);
	leave_with(c, COMPILED_FRAME);
}

/* r3 arguments were passed: sets the other parameters to nil. */
static void emit_missing(struct compiler *c, const struct cold *cold)
{
	u32 n, given;

	for (n = 0; n < c->p->nparams; n++) {
		given = emit_label(c->e);
		emit_branch_imm(c->e, INSN_JSGT, 3, n, given);
		emit_store_imm(c->e, INSN_W, 2, slot_tag(c, n + 1), TAG_NIL);
		emit_land(c->e, given);
	}
	emit_jump(c->e, cold->back);
}

/* The most registers of the frame, including those of inlined functions. */
static u32 registers_of(const struct compiler *c)
{
	u32 most = c->p->nregs, pc, n;

	for (pc = 0; pc < c->p->ncode; pc++) {
		n = c->inlines[pc] ? a_of(c->p->code[pc]) + 1 + c->inlines[pc]->nregs : 0;
		most = n > most ? n : most;
	}
	return most;
}

/* Goes to @slow if the stack is full.  r5 becomes the caller's struct CallInfo. */
static void check_room(struct compiler *c, u32 slow)
{
	u32 need = (registers_of(c) + 2) * VALUE_SIZE;

	if (c->p->has_calls) {
		emit_mov(c->e, 0, INSN_R10);
		emit_load(c->e, INSN_DW, 5, REG_L, STATE_FLOOR);
		emit_branch(c->e, INSN_JLT, 0, 5, slow);
	}
	emit_load(c->e, INSN_DW, 0, REG_L, STATE_STACK_LAST);
	emit_alu(c->e, INSN_SUB, 0, 2);
	emit_branch_imm(c->e, INSN_JSLT, 0, need, slow);
	emit_load(c->e, INSN_DW, 5, REG_L, STATE_CI);
	emit_load(c->e, INSN_DW, 0, REG_L, STATE_END_CI);
	emit_branch(c->e, INSN_JEQ, 5, 0, slow);
}

static void check_arguments(struct compiler *c)
{
	u32 back = emit_label(c->e);

	if (c->p->nparams)
		emit_branch_imm(c->e, INSN_JSLT, 3, c->p->nparams,
				cold_path(c, emit_missing, 0, back));
	emit_land(c->e, back);
}

/* r5 is the caller's struct CallInfo. */
static void enter_frame(struct compiler *c)
{
	u32 r;

	emit_mov(c->e, REG_BASE, 2);
	emit_alu_imm(c->e, INSN_ADD, REG_BASE, VALUE_SIZE);
	emit_alu_imm(c->e, INSN_ADD, 5, CI_SIZE);
	emit_store(c->e, INSN_DW, REG_L, STATE_CI, 5);
	emit_store(c->e, INSN_DW, REG_L, STATE_BASE, REG_BASE);
	emit_store(c->e, INSN_DW, 5, CI_BASE, REG_BASE);
	emit_store(c->e, INSN_DW, 5, CI_FUNC, 2);
	emit_store(c->e, INSN_DW, 5, CI_NRESULTS, 4);
	emit_mov(c->e, 0, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 0, slot(c, c->p->nregs));
	emit_store(c->e, INSN_DW, 5, CI_TOP, 0);
	/* Earlier calls may have left pointers to freed memory there. */
	emit_constant(c->e, 0, TAG_NIL);
	for (r = c->p->nparams; r < c->p->nregs; r++)
		emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, r), 0);
}

/* Leaves at the function's beginning unless the parameters are as expected. */
static void check_expected(struct compiler *c)
{
	struct range range;
	u32 r, leave;

	for (r = 0; r < c->p->nparams; r++) {
		if (!types_expected(&c->types, r, &range))
			continue;
		leave = cold_leave(c);
		emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, r));
		emit_branch_imm(c->e, INSN_JNE, 0, TAG_NUMBER, leave);
		emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, r));
		check_within(c, 1, range, leave);
	}
}

void compile_begin(struct compiler *c)
{
	u32 body = emit_label(c->e), slow = cold_path(c, emit_enter, 0, body);

	emit_mov(c->e, REG_L, 5);
	if (c->p->is_vararg) {
		emit_jump(c->e, slow);
	} else {
		check_room(c, slow);
		check_arguments(c);
		enter_frame(c);
	}
	emit_land(c->e, body);
	check_expected(c);
}

/* -- Returns ----------------------------------------------------------------------------------- */

/*
 * The caller wants another number of results: all, or one that the runtime handles. r2 has the
 * number. Keeps r1.
 */
static void emit_return_slowly(struct compiler *c, const struct cold *cold)
{
	u32 i = c->p->code[cold->pc], slow = emit_label(c->e);

	if (cold->back) {
		emit_insn(c->e, INSN_ALU | INSN_ADD, 2, 0, 0, 1);
		emit_branch_imm(c->e, INSN_JNE, 2, 0, slow);
		emit_mov(c->e, 0, REG_BASE);
		emit_alu_imm(c->e, INSN_ADD, 0, slot(c, b_of(i) - 1) - VALUE_SIZE);
		emit_store(c->e, INSN_DW, REG_L, STATE_TOP, 0);
		emit_jump(c->e, cold->back);
	}
	emit_land(c->e, slow);
	emit_constant(c->e, 2, cold->pc);
	emit_jump(c->e, c->slow_return);
}

/* Removes the frame; r1 is its struct CallInfo. */
static void emit_epilogue(struct compiler *c)
{
	emit_land(c->e, c->epilogue);
	emit_load(c->e, INSN_DW, 2, 1, CI_BASE - CI_SIZE);
	emit_alu_imm(c->e, INSN_SUB, 1, CI_SIZE);
	emit_store(c->e, INSN_DW, REG_L, STATE_CI, 1);
	emit_store(c->e, INSN_DW, REG_L, STATE_BASE, 2);
	leave_with(c, COMPILED_DONE);
}

static bool is_last_return(const struct compiler *c)
{
	u32 pc;

	for (pc = c->pc + 1; pc < c->p->ncode; pc++)
		if (c->types.reached[pc] && op_of(c->p->code[pc]) == OP_RETURN)
			return false;
	return true;
}

/* The return of an inlined function, to the function that contains its code. */
static void return_inline(struct compiler *c, u32 i)
{
	u32 wanted = c_of(c->caller->p->code[c->call]) - 1, r;

	for (r = 0; r < wanted; r++) {
		if (r < b_of(i) - 1)
			copy_value(c, slot(c, r) - VALUE_SIZE, a_of(i) + r);
		else
			emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, r) - VALUE_SIZE,
				       TAG_NIL);
	}
	c->returns_cached = wanted && b_of(i) == 2 && is_cached(c, a_of(i)) && !c->returned;
	c->returned = true;
	if (!is_last_return(c)) {
		c->returns_cached = false;
		emit_jump(c->e, c->back);
	}
}

bool can_return(const struct compiler *c, u32 n)
{
	return n <= RETURNS_MAX && !c->p->has_closures && !c->p->is_vararg && !c->caller;
}

void check_wanted(struct compiler *c, u32 n, u32 fail)
{
	emit_load(c->e, INSN_DW, 1, REG_L, STATE_CI);
	emit_load(c->e, INSN_W, 2, 1, CI_NRESULTS);
	emit_branch_imm(c->e, INSN_JNE, 2, n, fail);
}

/*
 * Moves the @n values from R(@a) on to where results go: the called function's register and
 * those after it.  r1 is the struct CallInfo.
 */
static void move_values(struct compiler *c, u32 a, u32 n)
{
	u32 r;

	for (r = 0; r < n; r++) {
		emit_load(c->e, INSN_DW, 2, REG_BASE, slot(c, a + r));
		emit_load(c->e, INSN_W, 3, REG_BASE, slot_tag(c, a + r));
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, r) - VALUE_SIZE, 2);
		emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, r) - VALUE_SIZE, 3);
	}
}

void return_values(struct compiler *c, u32 a, u32 n)
{
	move_values(c, a, n);
	emit_load(c->e, INSN_DW, 1, REG_L, STATE_CI);
	emit_jump(c->e, c->epilogue);
}

/* Returns a few values, as many as the caller wants; there are no upvalues to close. */
void compile_return(struct compiler *c)
{
	u32 i = insn_at(c), back, n = b_of(i) - 1;

	if (c->caller)
		return return_inline(c, i);
	if (!can_return(c, n))
		return emit_jump(c->e, cold_path(c, emit_return_slowly, 0, 0));
	back = emit_label(c->e);
	check_wanted(c, n, cold_path(c, emit_return_slowly, 0, back));
	emit_land(c->e, back);
	move_values(c, a_of(i), n);
	if (is_last_return(c))
		emit_epilogue(c);
	else
		emit_jump(c->e, c->epilogue);
}

void emit_shared(struct compiler *c)
{
	if (emit_is_wanted(c->e, c->epilogue))
		emit_epilogue(c);
	if (emit_is_wanted(c->e, c->slow_return)) {
		emit_land(c->e, c->slow_return);
		emit_mov(c->e, 1, REG_L);
		emit_call(c->e, c->runtime->exports.helpers[HELPER_return]);
		leave_with(c, COMPILED_DONE);
	}
	if (emit_is_wanted(c->e, c->leave)) {
		emit_land(c->e, c->leave);
		emit_mov(c->e, 1, REG_L);
		emit_call(c->e, c->runtime->exports.helpers[HELPER_leave_at]);
		emit_jump(c->e, c->exit);
	}
	if (emit_is_wanted(c->e, c->exit)) {
		emit_land(c->e, c->exit);
		emit_exit(c->e);
	}
}

/* -- Calls -------------------------------------------------------------------- */

void count_arguments(struct compiler *c, u32 i)
{
	if (b_of(i))
		return emit_constant(c->e, 3, b_of(i) - 1);
	emit_load(c->e, INSN_DW, 3, REG_L, STATE_TOP);
	emit_alu(c->e, INSN_SUB, 3, 2);
	emit_alu_imm(c->e, INSN_SUB, 3, VALUE_SIZE);
	emit_alu_imm(c->e, INSN_RSH, 3, 4);
}

/* Sets r2 to r5 for a compiled function, and where the caller continues.  Keeps r1. */
void begin_call(struct compiler *c, u32 i)
{
	emit_load(c->e, INSN_DW, 5, REG_L, STATE_CI);
	emit_store_imm(c->e, INSN_DW, 5, CI_SAVEDPC, c->pc + 1);
	emit_mov(c->e, 5, REG_L);
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 2, slot(c, a_of(i)));
	count_arguments(c, i);
	emit_insn(c->e, INSN_ALU | INSN_MOV, 4, 0, 0, (s32)c_of(i) - 1);
}

/* r1 = the closure's id. */
static void load_id(struct compiler *c, u32 a, u32 slow)
{
	check_tag(c, a, T_FUNCTION, TAG_FUNCTION, slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a));
	emit_load(c->e, INSN_W, 1, 1, CLOSURE_ID);
}

/* Is the function at @closure one of the runtime? */
static bool is_of_runtime(const struct compiler *c, uint64_t closure)
{
	return runtime_word(c->runtime, closure + CLOSURE_IS_C, 1);
}

/* The compiled function that R(@a) probably holds, or 0. */
static u32 expected_number(const struct compiler *c, u32 a)
{
	uint64_t closure = function_at(&c->types, c->pc, a);
	const struct proto *p;
	u32 id;

	if (!closure || closure < (uintptr_t)c->runtime->arena)
		return 0;
	if (is_of_runtime(c, closure)) {
		id = runtime_word(c->runtime, closure + CLOSURE_ID, 4);
		return id < c->runtime->ntable ? id : 0;
	}
	p = runtime_proto(c->runtime, runtime_word(c->runtime, closure + CLOSURE_F, 8));
	return p ? p->number : 0;
}

/* r1 = the function to call, unless it is certainly the one with @number. */
static void check_callee(struct compiler *c, u32 a, u32 number, u32 slow)
{
	if (number && fact_at(&c->types, c->pc, a)->sure)
		return;
	load_id(c, a, slow);
	if (number) {
		emit_branch_imm(c->e, INSN_JNE, 1, number, slow);
	} else {
		emit_branch_imm(c->e, INSN_JEQ, 1, 0, slow);
		emit_branch_imm(c->e, INSN_JGE, 1, ID_SYSCALL, slow);
	}
}

/* A function of the runtime without a compiled form. */
static bool is_c_function(const struct compiler *c, u32 a)
{
	uint64_t closure = function_at(&c->types, c->pc, a);

	return runtime_word(c->runtime, closure + CLOSURE_IS_C, 1) &&
	       !runtime_word(c->runtime, closure + CLOSURE_ID, 4);
}

static void call_c(struct compiler *c)
{
	defer_flush(c);
	call_helper(c, HELPER_call, c->pc);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
}

static void call_compiled(struct compiler *c, u32 i, u32 back)
{
	u32 a = a_of(i), slow, finish, number = expected_number(c, a);

	defer_flush(c);
	slow = cold_path(c, emit_helper, HELPER_call, back);
	/* A compiled function did not return normally: r0 has the reason. */
	finish = cold_path(c, emit_helper, HELPER_finish, back);
	check_callee(c, a, number, slow);
	begin_call(c, i);
	if (number)
		emit_call(c->e, number);
	else
		emit_call_by(c->e, 1);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, finish);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
}

/* Moves the @n values from R(@a) on, a function and its arguments, to the place of the frame. */
static void replace_frame(struct compiler *c, u32 a, u32 n)
{
	move_values(c, a, n);
	emit_load(c->e, INSN_DW, 1, REG_L, STATE_CI);
	emit_load(c->e, INSN_DW, 4, 1, CI_NRESULTS);
	/* One more tail call, as error() counts levels. */
	emit_constant(c->e, 0, 1L << 32);
	emit_alu(c->e, INSN_ADD, 4, 0);
	emit_alu_imm(c->e, INSN_SUB, 1, CI_SIZE);
	emit_load(c->e, INSN_DW, 0, 1, CI_BASE);
	emit_store(c->e, INSN_DW, REG_L, STATE_CI, 1);
	emit_store(c->e, INSN_DW, REG_L, STATE_BASE, 0);
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_SUB, 2, VALUE_SIZE);
	emit_constant(c->e, 3, n - 1);
	emit_mov(c->e, 5, REG_L);
}

/*
 * Calls the function in place of the frame, and returns what it returns. The C stack grows, so
 * only its first part is used for this: then the driver makes the call, after all these returns.
 */
static bool call_in_place(struct compiler *c, u32 i, u32 back)
{
	u32 number = expected_number(c, a_of(i)), slow;

	if (!number || is_of_runtime(c, function_at(&c->types, c->pc, a_of(i))) || !b_of(i) ||
	    b_of(i) > RETURNS_MAX || !can_return(c, 0))
		return false;
	defer_flush(c);
	slow = cold_call(c, back);
	check_callee(c, a_of(i), number, slow);
	emit_mov(c->e, 0, INSN_R10);
	emit_load(c->e, INSN_DW, 5, REG_L, STATE_FLOOR);
	emit_alu(c->e, INSN_SUB, 0, 5);
	emit_branch_imm(c->e, INSN_JSLT, 0, TAIL_ROOM, slow);
	replace_frame(c, a_of(i), b_of(i));
	emit_call(c->e, number);
	emit_exit(c->e);
	return true;
}

/* The driver, which called this function, makes other tail calls, so the stack does not grow. */
static void compile_tailcall(struct compiler *c)
{
	u32 i = insn_at(c), back = emit_label(c->e);

	if (!compile_intrinsic_tail(c, back) && !call_in_place(c, i, back)) {
		call_helper(c, HELPER_tail, c->pc);
		emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	}
	emit_land(c->e, back);
}

/* Registers other than arguments begin as nil. */
static void defer_nils(struct compiler *c, u32 nargs)
{
	u32 first = c->shift - c->caller->shift, r;
	bool is_nil;

	for (r = 0; r < c->p->nregs; r++) {
		is_nil = r >= c->p->nparams || r >= nargs;
		c->has_deferred[r] |= is_nil || c->caller->has_deferred[first + r];
		if (is_nil)
			defer_value(c, r, (struct value){ .tag = TAG_NIL }, DEFER_ALWAYS);
	}
}

/* Compiles the called function inline. */
static void compile_inline(struct compiler *c, u32 i, u32 back)
{
	const struct fact *f = fact_at(&c->types, c->pc, a_of(i));
	struct compiler *inner = calloc(1, sizeof(*inner));

	if (!inner) {
		c->e->failed = true;
		return;
	}
	*inner = (struct compiler){
		.runtime = c->runtime, .p = c->inlines[c->pc], .e = c->e, .caller = c,
		.shift = c->shift + a_of(i) + 1, .call = c->pc, .back = back,
		.deferral = c->deferral, .next = c->inlined,
	};
	c->inlined = inner;
	types_inline(&c->types, c->pc, fact_at(&c->types, c->pc, 0), &inner->result);
	if (!types_infer_for(&inner->types, c->runtime, inner->p, f + 1, b_of(i) - 1) ||
	    !compile_prepare(inner)) {
		c->e->failed = true;
		return;
	}
	defer_nils(inner, b_of(i) - 1);
	compile_code(inner);
	defer_forget_from(c, inner->shift - 1);
	if (inner->returns_cached)
		set_cached(c, a_of(i));
}

void compile_call(struct compiler *c)
{
	u32 i = insn_at(c), back;

	if (op_of(i) == OP_TAILCALL)
		return compile_tailcall(c);
	back = emit_label(c->e);
	if (c->inlines[c->pc]) {
		compile_inline(c, i, back);
		return emit_land(c->e, back);
	}
	/* Passes the arguments to the function's registers. */
	c->deferral->cached = NOT_CACHED;
	if (compile_intrinsic(c, back))
		;
	else if (is_c_function(c, a_of(i)))
		call_c(c);
	else
		call_compiled(c, i, back);
	emit_land(c->e, back);
}
