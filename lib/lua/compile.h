/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Compiles a Lua function to a function of an image: docs/design/lua-compiler.md.
 *
 * r6 is L and r7 L->base, the frame's first register. Whenever other code can read Lua's
 * registers, they are all on Lua's stack, as the interpreter expects them. So the interpreter can
 * take over a frame at any instruction.
 */
#ifndef LIB_LUA_COMPILE_H
#define LIB_LUA_COMPILE_H

#include "emit.h"
#include "opcodes.h"
#include "bytecode.h"
#include "types.h"

#define REG_L		6
#define REG_BASE	7

/*
 * The stack of functions that call others is measured in frames, so each of them has a frame.
 * Other functions do not add to the depth, so they do not check it.
 */
#define FRAME_SIZE	64

struct compiler;
struct fast;

/**
 * struct deferred - a value that has not been stored
 * @place: its register, as an index in the frame
 * @by:    the compiler that deferred it; @until is the last instruction of its code that uses the
 *         value
 */
struct deferred {
	u32 place, until;
	const struct compiler *by;
	struct value value;
};

#define DEFERRED_MOST	16
#define DEFER_ALWAYS	(~0U)

/*
 * @cached: index of the register whose value and tag are in r5 and r4, too; or NOT_CACHED.
 *          @fresh: the current instruction has loaded it.
 */
struct deferral {
	u32 n, cached;
	bool fresh;
	struct deferred at[DEFERRED_MOST];
};

#define NOT_CACHED	(~0U)

/*
 * Rarely executed code, which @emit adds after the function. It first stores the values of
 * @deferral.
 */
struct cold {
	void (*emit)(struct compiler *c, const struct cold *cold);
	u32 label, back, pc;
	u32 helper, target;
	bool wanted;
	struct deferral deferral;
};

/**
 * struct compiler - the compilation of a function
 * @inlines: for each instruction, the function that is inlined in place of the call
 * @in_loop: for each instruction: it is in a loop without calls, or inlined into one
 * @fast:    for each instruction: it ends a loop with fast code (loop_fast.c), which uses @slots of
 *           the frame; @loop: such code is compiled now
 * @defer_until: for each instruction, the last instruction that uses its value, if the value is
 *               deferred
 * @has_deferred: for each register: some instruction defers its value
 * @deferral: values deferred at this instruction, the caller's included
 * @caller:  the function into which this one is inlined, at instruction @call; it continues at
 *           @back with a result of types @result
 * @returned: there was a return; @returns_cached: it was the only one, and its result is cached
 * @shift:   index of the first register in the frame
 * @open_end: the register after the results of the call at @open_pc, which returns all of its
 *            results
 * @inlined: inlined functions whose slow paths are still to be emitted, linked by @next
 */
struct compiler {
	const struct runtime *runtime;
	const struct proto *p;
	struct emit *e;
	struct types types;
	u32 pc;
	u32 *labels;		/* one for each instruction */
	/*
	 * Shared ends of slow paths: to leave, with the pc in r2; to exit, with r0; to return; to
	 * make a frame, with the pc in r3; to call a helper.
	 */
	u32 leave, exit, epilogue, slow_return;
	u32 resume, helped[HELPERS_N];
	struct cold *colds;
	u32 ncolds, cold_room;
	const struct proto **inlines;
	bool *in_loop, *fast;
	u32 slots;
	struct fast *loop;
	u32 *defer_until;
	bool has_deferred[REGISTERS];
	struct deferral *deferral;
	struct compiler *caller, *inlined, *next;
	u32 shift, call, back, open_pc, open_end;
	u8 result;
	bool returned, returns_cached;
};

/* Adds the code of @p, with the bytes of its frame. False if it has to be interpreted. */
bool compile_proto(const struct runtime *runtime, const struct proto *p, struct emit *e,
		   u32 *frame);

/* -- For the parts of the compiler ------------------------------------------------------ */

static inline s32 slot(const struct compiler *c, u32 reg)
{
	return (s32)(c->shift + reg) * VALUE_SIZE;
}

static inline s32 slot_tag(const struct compiler *c, u32 reg)
{
	return slot(c, reg) + VALUE_TAG;
}

static inline bool is_cached(const struct compiler *c, u32 reg)
{
	return c->deferral->cached == c->shift + reg;
}

/* r5 and r4 have the value and the tag of R(@reg), until the end of the next instruction. */
static inline void set_cached(struct compiler *c, u32 reg)
{
	c->deferral->cached = c->shift + reg;
	c->deferral->fresh = true;
}

/* A label for code that @emit emits later; the code continues at @back. */
u32 cold_path(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 helper,
	      u32 back);

/* As above, for code that may also continue at @target. */
u32 cold_path_to(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 back,
		 u32 target);

/* A label from which the interpreter takes over at this instruction. */
u32 cold_leave(struct compiler *c);
/* A label from which a helper executes this instruction, and the next one follows. */
u32 cold_helper(struct compiler *c, u32 helper, u32 back);

/* The opcode of the jump if the comparison holds, or if it does not. */
u8 compare_op(enum op op, bool holds);

/* Calls a helper with L and the pc; it may move the frame. */
void call_helper(struct compiler *c, u32 helper, u32 pc);

/* Goes to @fail unless the integer in @reg is in @range.  Overwrites r0. */
void check_within(struct compiler *c, u8 reg, struct range range, u32 fail);
/* As above, for integers of INTEGER_BITS. */
void check_integer(struct compiler *c, u8 reg, u32 fail);
/* Loads the operand as an integer into @reg, or goes to @fail. */
void load_integer(struct compiler *c, u8 reg, u32 rk, u32 fail);
/* Do the register's values always have a tag for @types, so that the tag need not be stored? */
bool has_tag(const struct compiler *c, u32 reg, u8 types);
/* R(@to) = the integer in @reg. */
void store_integer(struct compiler *c, u32 to, u8 reg);
/* Goes to @fail unless R(@reg) has the tag @tag. */
void check_tag(struct compiler *c, u32 reg, u8 types, u32 tag, u32 fail);

/* arith.c: arithmetic.  Compiles the instruction, or the chain that begins with it. */
void compile_arith(struct compiler *c);

/*
 * For the fast code of a loop: computes the chain of @n instructions, or, for 0, this product or
 * remainder, in r1. Returns its last instruction, or ~0U: an operand is no integer.
 */
u32 arith_in_loop(struct compiler *c, u32 n, u32 fail);

/* lazy_stores.c: finds the values to defer. */
bool defer_find(struct compiler *c);
/* Defers the value of this instruction if possible; then the instruction needs no code. */
bool defer_insn(struct compiler *c);
/*
 * Before and after each instruction: store the deferred values that it reads, and forget those
 * that it overwrites.
 */
void defer_before(struct compiler *c);
void defer_after(struct compiler *c);
/* Does the fast path of the instruction let no other code read Lua's registers? */
bool defer_is_quiet(const struct compiler *c);
void defer_value(struct compiler *c, u32 reg, struct value v, u32 until);
bool defer_has(const struct compiler *c, u32 reg);
/* Stores all deferred values; overwrites r0. */
void defer_flush(struct compiler *c);
void defer_store_all(struct compiler *c, const struct deferral *deferral, u8 spare);
/* Stores @v at index @place of the frame. */
void defer_store(struct compiler *c, u32 place, struct value v, u8 spare);
/* Does the instruction read the register? May be true for registers that it does not read. */
bool defer_reads(u32 i, u32 reg);
/*
 * Is the register written before it is read on every path from @pc? @number identifies the search
 * in @seen.
 */
bool defer_is_dead(const struct proto *p, u32 *seen, u32 number, u32 reg, u32 pc);
/* Forgets deferred values of registers from index @place on. */
void defer_forget_from(struct compiler *c, u32 place);

/* loop_fast.c: finds loops that can keep their values in machine registers. */
bool loop_find(struct compiler *c);
/* Emits the fast code of such a loop, which the loop's other code enters at the end of a pass. */
void loop_emit(struct compiler *c, const struct cold *cold);
/* In such code: loads the integer RK(@rk) into @reg; the instruction is refused if it is none. */
void loop_load(struct fast *f, u8 reg, u32 rk);
/* The OP_FORPREP of the loop that ends at @pc, or ~0U. */
u32 loop_prep(const struct compiler *c, u32 pc);

/* Emits the code of a function after its entry. */
void compile_code(struct compiler *c);
/* Prepares for compile_code(). False if out of memory. */
bool compile_prepare(struct compiler *c);
/* Loads the object in R(@from). */
void load_object(struct compiler *c, u8 reg, u32 from);
/* Copies a value with any tag from R(@from) to @to. */
void copy_value(struct compiler *c, s32 to, u32 from);

/* Is the instruction a call that compile_intrinsic() compiles inline? */
bool is_intrinsic(const struct compiler *c);
/* As above, and does its code not read R(@reg), an argument or the function? */
bool intrinsic_knows(const struct compiler *c, u32 reg);

/*
 * The system call that the call at @pc certainly makes, if the number of arguments is right, or
 * -1.
 */
long certain_syscall(const struct compiler *c, u32 pc);
/* The machine registers of its arguments. */
extern const u8 syscall_places[];

/*
 * The current call instruction; if its last arguments are all results of the call before it, with
 * the number of arguments that is expected.
 */
u32 call_here(const struct compiler *c);
/* The call instruction with @n results instead. */
static inline u32 with_results(u32 i, u32 n)
{
	return (i & ~(0x1ffU << 14)) | (n + 1) << 14;
}
/*
 * Notes that all results of the current call are the @n from R(A) on, for a next call that takes
 * them.
 */
void end_results(struct compiler *c, u32 n);

/* Goes to @slow unless the call has the expected number of arguments. */
void check_open(struct compiler *c, u32 slow);
/* As above, and unless its function, R(@a), is @intrinsic. */
void check_function(struct compiler *c, u32 a, u32 intrinsic, u32 slow);
/* Stores r1 as the call's only result. */
void store_result(struct compiler *c, u32 i, bool may_be_large, u32 back);
/* Sets the wanted results after the first @n to nil. */
void store_nils(struct compiler *c, u32 i, u32 n);

/*
 * Slow path of a call whose result is expected to be an integer (expected_result()): the runtime
 * makes the call, and if its result is not an integer, the interpreter takes over.
 */
void emit_for_integer(struct compiler *c, const struct cold *cold);
/* The label of a slow path where the runtime makes the current call, which may be a tail call. */
u32 cold_call(struct compiler *c, u32 back);
/* As above, of a call whose result is expected to be an integer. */
u32 cold_for_integer(struct compiler *c, u32 back);

/* bits.c: operations of the library "bit", like is_intrinsic() and compile_intrinsic(). */
bool is_bits_intrinsic(const struct compiler *c, int intrinsic);
void compile_bits(struct compiler *c, u32 i, int intrinsic, u32 back);
/* r1 = the result for the @n arguments after R(@a). */
void bits_compute(struct compiler *c, u32 a, u32 n, int intrinsic, u32 slow);

/* text.c: functions for text, likewise. */
bool is_text_intrinsic(const struct compiler *c, int intrinsic);
bool text_knows(const struct compiler *c, int intrinsic, u32 reg);
void compile_text(struct compiler *c, int intrinsic, u32 back);
/* Compiles a tail call, whose results the function returns.  False if it is not inline. */
bool compile_text_tail(struct compiler *c, int intrinsic, u32 back);
/* views.c: methods of frames, likewise. */
bool is_view_intrinsic(const struct compiler *c, int intrinsic);
bool view_knows(int intrinsic, u32 arg);
void compile_view_method(struct compiler *c, u32 i, int intrinsic, u32 back);
/*
 * A loop over string.gmatch(): its next time around, which goes to @again, or at its end to
 * @over; to @slow if it is another loop.  False: it cannot be expected to be one.
 */
bool compile_gmatch_loop(struct compiler *c, u32 slow, u32 again, u32 over);

/* Leaves if a function of a library has been replaced.  Overwrites r0. */
void check_libraries(struct compiler *c);

void compile_call(struct compiler *c);
/* Compiles the call inline if its function probably has an inline form. */
bool compile_intrinsic(struct compiler *c, u32 back);
/* As above, a tail call, whose results the function returns. */
bool compile_intrinsic_tail(struct compiler *c, u32 back);
/* r3 = the number of arguments of call @i, whose function is at the address in r2. */
void count_arguments(struct compiler *c, u32 i);
/* Passes the arguments of call @i to a compiled function. */
void begin_call(struct compiler *c, u32 i);
/* Has the runtime do the instruction, or the rest of a call, then continues at @cold->back. */
void emit_helper(struct compiler *c, const struct cold *cold);
void compile_return(struct compiler *c);
/* Can the function return @n values without the runtime?  Nothing is to be closed then. */
bool can_return(const struct compiler *c, u32 n);
/* r1 = the struct CallInfo; to @fail unless the caller wants @n values. */
void check_wanted(struct compiler *c, u32 n, u32 fail);
/* Returns the @n values from R(@a) on, which the caller wants. */
void return_values(struct compiler *c, u32 a, u32 n);
/* The function of the runtime that R(@a) probably holds, or -1. */
int expected_intrinsic(const struct compiler *c, u32 a);
/* Emits code that several instructions share, after all of them. */
void emit_shared(struct compiler *c);
/* The running function's closure. */
void load_closure(struct compiler *c, u8 reg);
void compile_getglobal(struct compiler *c);
void compile_self(struct compiler *c);
void compile_gettable(struct compiler *c);
void compile_settable(struct compiler *c);
/* r3 = the nodes of the table in r1; goes to @miss if there are too few for node @n. Keeps r1. */
void load_nodes(struct compiler *c, u32 n, u32 miss);
/* Goes to @miss unless the key of the node at r3 + @at is the string in r2. */
void check_key(struct compiler *c, s32 at, u32 miss);
void compile_begin(struct compiler *c);

#endif /* LIB_LUA_COMPILE_H */
