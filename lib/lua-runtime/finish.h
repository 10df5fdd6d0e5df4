/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Continuations of C functions.
 *
 * A Lua function that is called by a C function or a metamethod runs on the C stack, which is
 * small.  When it is used up, luaD_call() unwinds it: it throws LUA_LEAVE to the beginning of the
 * run, and makes the call from there (luaD_go_on()).  All frames on Lua's own stacks stay,
 * including those of coroutines that wait for others.  When a function returns whose caller's C
 * frame was unwound, the caller is continued: an instruction by luaV_finish(), a C function by
 * its go_on(). So recursion is bounded by Lua's stack alone.
 *
 * A yield unwinds the C stack in the same way, up to the resume.  A C function without a
 * continuation cannot be unwound: calls within it use the rest of the C stack, and then fail.
 */
#ifndef LUA_RUNTIME_FINISH_H
#define LUA_RUNTIME_FINISH_H

#include "lua.h"
#include "lauxlib.h"

struct CallInfo;

/* Status of a throw that unwinds the C stack; follows those of lua.h. */
#define LUA_LEAVE	(LUA_ERRERR + 1)

/*
 * Depth of nested calls on the C stack at which it is unwound; functions without a continuation
 * may use the rest.
 */
#define LEAVE_DEPTH	(LUAI_MAXCCALLS / 2)

#define FINISH_YIELDS	1	/* coroutine.yield() may unwind it, as in LuaJIT */
#define FINISH_CATCHES	2	/* catches errors */
#define FINISH_HANDLER	4	/* its first argument is an error handler */

/**
 * struct finish - a C function with a continuation
 * @go_on: continues when the function that it called has returned, with its results on top; or,
 *         for FINISH_CATCHES, has failed, with the error on top.  Returns the number of its own
 *         results on top
 * @kept:  the argument, from 1, that is the address of its struct kept (a light userdata); 0 if
 *         all its state is on Lua's stack.  For go_on() the argument is a userdata with a copy
 */
struct finish {
	lua_CFunction f;
	int (*go_on)(lua_State *L, int failed);
	int kept, flags;
};

/**
 * struct kept - header of the state that a C function has on the C stack
 * @size:   its size in bytes
 * @buffer: NULL, or the last member, a buffer of which only the used part is copied
 */
struct kept {
	size_t size;
	const luaL_Buffer *buffer;
};

/* Copies the state in argument @arg of go_on() back to @to, whose own buffer is @buffer. */
static void finish_restore(lua_State *L, int arg, struct kept *to, luaL_Buffer *buffer);

/* The continuation of @ci's function, or NULL: it cannot be unwound. */
static const struct finish *finish_of(const struct CallInfo *ci);

#endif /* LUA_RUNTIME_FINISH_H */
