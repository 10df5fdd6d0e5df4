/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions of scripts that were compiled from outside: layout.h describes them.  For
 * Lua's own files.
 */
#ifndef LUA_RUNTIME_COMPILED_H
#define LUA_RUNTIME_COMPILED_H

#include "lobject.h"
#include "lstate.h"

/* No compiled function is called where the C stack is below this. */
static HOT unsigned long compiled_floor = ~0UL;

/* Is the value at @func a function with a compiled form, and is there room to run it? */
static int compiled_can(lua_State *L, const TValue *func);

/* As luaD_precall(): PCRC if the call is over, PCRLUA if the interpreter has to go on. */
static int compiled_call(lua_State *L, StkId func, int nresults);

/* The same in place of the frame that calls it. */
static int compiled_tailcall(lua_State *L, StkId func);

/* Has a compiled function begun with L->ci? */
static int compiled_begun(lua_State *L);

/* Sets @ci->savedpc as the interpreter has it. */
static void compiled_pc(CallInfo *ci);

/* The same for all frames. */
static void compiled_leave(lua_State *L);

#endif /* LUA_RUNTIME_COMPILED_H */
