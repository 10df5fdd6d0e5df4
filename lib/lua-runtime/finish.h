/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * C functions that go on after their frames on the C stack are gone.
 *
 * What a C function or a metamethod calls runs on the C stack, which is small.  Where it is
 * used up, luaD_call() leaves it: it throws LUA_LEAVE to where the run began, and the call is
 * made from there (luaD_go_on()).  All frames on Lua's own stacks stay, those of coroutines that
 * wait for others, too.  When a function returns whose caller has been left, the caller goes on:
 * an instruction by luaV_finish(), a C function by its go_on().  So recursion is bounded by
 * Lua's stack alone.  A yield leaves the C stack in the same way, up to the resume.
 *
 * A C function that is not listed here cannot be left: calls inside of it use the rest of the
 * C stack, and then fail.
 */
#ifndef LUA_RUNTIME_FINISH_H
#define LUA_RUNTIME_FINISH_H

#include "lua.h"
#include "lauxlib.h"

struct CallInfo;

/* Status of a throw, after those of lua.h: the C stack is left. */
#define LUA_LEAVE	(LUA_ERRERR + 1)

/* Nested calls on the C stack after which it is left; what cannot be left has the rest. */
#define LEAVE_DEPTH	(LUAI_MAXCCALLS / 2)

#define FINISH_YIELDS	1	/* coroutine.yield() may leave it: as in LuaJIT */
#define FINISH_CATCHES	2	/* errors */
#define FINISH_HANDLER	4	/* for which its first argument is a handler */

/**
 * struct finish - a C function that can be left
 * @go_on: what it called has returned, with its results on top; or, for FINISH_CATCHES,
 *         failed, with the error there.  Returns how many results of its own are on top
 * @kept:  the argument, from 1, that is the address of its struct kept (a light userdata); 0
 *         if all that it needs is on Lua's stack.  For go_on() the argument is a userdata with
 *         a copy
 */
struct finish {
	lua_CFunction f;
	int (*go_on)(lua_State *L, int failed);
	int kept, flags;
};

/**
 * struct kept - what a C function keeps on the C stack begins with this
 * @size:   its size in bytes
 * @buffer: NULL, or its last member: only what is in there is copied
 */
struct kept {
	size_t size;
	const luaL_Buffer *buffer;
};

/* The copy that go_on() finds, in argument @arg, back in @to; whose own buffer is @buffer. */
static void finish_restore(lua_State *L, int arg, struct kept *to, luaL_Buffer *buffer);

/* What the function of @ci does, or NULL: it cannot be left. */
static const struct finish *finish_of(const struct CallInfo *ci);

#endif /* LUA_RUNTIME_FINISH_H */
