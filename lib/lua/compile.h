/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * From a function of Lua's to one of an image: docs/design/lua-compiler.md.
 *
 * r6 is L and r7 L->base, the frame's first register.  All of Lua's registers are on its
 * stack, as the interpreter has them, whenever anything else can look: so it can go on
 * with a frame at any instruction.
 */
#ifndef LIB_LUA_COMPILE_H
#define LIB_LUA_COMPILE_H

#include "emit.h"
#include "opcodes.h"
#include "read.h"
#include "types.h"

#define REG_L		6
#define REG_BASE	7

/*
 * The stack of functions that call others is measured in frames, so that each has one.
 * The others do not check their depth, as they do not add to it.
 */
#define FRAME_SIZE	64

struct compiler;

/* Rarely executed code, which @emit puts after the function. */
struct cold {
	void (*emit)(struct compiler *c, const struct cold *cold);
	u32 label, back, pc;
	u32 helper, target;
};

struct compiler {
	const struct runtime *runtime;
	const struct proto *p;
	struct emit *e;
	struct types types;
	u32 pc;
	u32 *labels;		/* of instructions */
	/* Where all do that leave, with the pc in r2; that exit, with r0; that return. */
	u32 leave, exit, epilogue, slow_return;
	struct cold *colds;
	u32 ncolds, cold_room;
};

/* Adds the code of @p.  False if it has to be interpreted. */
bool compile_proto(const struct runtime *runtime, const struct proto *p, struct emit *e);

/* -- For the parts of the compiler ------------------------------------------------------ */

static inline s32 slot(u32 reg)
{
	return (s32)reg * VALUE_SIZE;
}

static inline s32 slot_tag(u32 reg)
{
	return slot(reg) + VALUE_TAG;
}

/* A label for code that @emit emits later; the code continues at @back. */
u32 cold_path(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 helper,
	      u32 back);

/* A label where the interpreter takes over, at this instruction. */
u32 cold_leave(struct compiler *c);
/* A label where a helper executes this instruction, and the next one follows. */
u32 cold_helper(struct compiler *c, u32 helper, u32 back);

/* Calls a helper with L and the pc; it may move the frame. */
void call_helper(struct compiler *c, u32 helper, u32 pc);

/* Goes to @fail unless @reg holds an integer of INTEGER_BITS.  Overwrites r0. */
void check_integer(struct compiler *c, u8 reg, u32 fail);
/* Loads the operand as an integer into @reg, or goes to @fail. */
void load_integer(struct compiler *c, u8 reg, u32 rk, u32 fail);
/* R(@to) = the integer in @reg. */
void store_integer(struct compiler *c, u32 to, u8 reg);
/* Goes to @fail unless R(@reg) has the tag @tag. */
void check_tag(struct compiler *c, u32 reg, u8 types, u32 tag, u32 fail);

void compile_call(struct compiler *c);
/* Compiles the call inline if it probably is of a function that can be. */
bool compile_intrinsic(struct compiler *c, u32 back);
/* Passes the arguments of call @i to a compiled function. */
void begin_call(struct compiler *c, u32 i);
/* Has the runtime make the call, then continues at @cold->back. */
void emit_call_slowly(struct compiler *c, const struct cold *cold);
void compile_return(struct compiler *c);
/* What several instructions share, after all of them. */
void emit_shared(struct compiler *c);
/* The running function's closure. */
void load_closure(struct compiler *c, u8 reg);
void compile_getglobal(struct compiler *c);
void compile_self(struct compiler *c);
void compile_gettable(struct compiler *c);
void compile_settable(struct compiler *c);
void compile_begin(struct compiler *c);

#endif /* LIB_LUA_COMPILE_H */
