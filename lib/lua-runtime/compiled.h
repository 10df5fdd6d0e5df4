/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions of scripts that the library has compiled to machine code (layout.h), as seen by Lua's
 * own files, which are patched to call them.
 */
#ifndef LUA_RUNTIME_COMPILED_H
#define LUA_RUNTIME_COMPILED_H

#include "lobject.h"
#include "lstate.h"

/* No compiled function is called when the C stack pointer is below this. */
static HOT unsigned long compiled_floor = ~0UL;

/* Is the value at @func a function with a compiled form, and is there room to run it? */
static int compiled_can(lua_State *L, const TValue *func);

/* As luaD_precall(): PCRC if the call is over, PCRLUA if the interpreter has to continue. */
static int compiled_call(lua_State *L, StkId func, int nresults);

/* As above for a tail call, which replaces the calling frame. */
static int compiled_tailcall(lua_State *L, StkId func);

/* Was L->ci begun by a compiled function? */
static int compiled_begun(lua_State *L);

/* Converts @ci->savedpc to the interpreter's form. */
static void compiled_pc(CallInfo *ci);

/* Converts all frames, for an error or a yield. */
static void compiled_leave(lua_State *L);

#endif /* LUA_RUNTIME_COMPILED_H */
