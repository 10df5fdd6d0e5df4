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

/* Code that is seldom run, after the function: @emit makes it. */
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

/* A label for code that is emitted later by @emit; it goes back to @back. */
u32 cold_path(struct compiler *c, void (*emit)(struct compiler *, const struct cold *), u32 helper,
	      u32 back);

/* Where the interpreter takes over at this instruction. */
u32 cold_leave(struct compiler *c);
/* Where a helper does this instruction, and the next one follows. */
u32 cold_helper(struct compiler *c, u32 helper, u32 back);

/* Calls a helper with L and the pc; the frame may have moved. */
void call_helper(struct compiler *c, u32 helper, u32 pc);

/* Goes to @fail unless @reg, r0 being spare, holds an integer of INTEGER_BITS. */
void check_integer(struct compiler *c, u8 reg, u32 fail);
/* The operand as an integer in @reg, or to @fail. */
void load_integer(struct compiler *c, u8 reg, u32 rk, u32 fail);
/* R(@to) = the integer in @reg. */
void store_integer(struct compiler *c, u32 to, u8 reg);
/* Goes to @fail unless R(@reg) has one tag of @tag's. */
void check_tag(struct compiler *c, u32 reg, u8 types, u32 tag, u32 fail);

void compile_call(struct compiler *c);
/* If a function of the runtime's is expected that can be done here. */
bool compile_intrinsic(struct compiler *c, u32 back);
/* The arguments of a compiled function for the call @i. */
void begin_call(struct compiler *c, u32 i);
/* The runtime's way to call, and to go on at @cold->back. */
void emit_call_slowly(struct compiler *c, const struct cold *cold);
void compile_return(struct compiler *c);
/* The running function's closure. */
void load_closure(struct compiler *c, u8 reg);
void compile_getglobal(struct compiler *c);
void compile_self(struct compiler *c);
void compile_gettable(struct compiler *c);
void compile_settable(struct compiler *c);
void compile_begin(struct compiler *c);

#endif /* LIB_LUA_COMPILE_H */
