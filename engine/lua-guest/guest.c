// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Lua as one compound: this file is all of it, since an image is made of one.
 */
#define LUA_CORE
#define LUA_LIB

#include "cosy.h"

#include "support.c"

#include "lobject.c"
#include "lapi.c"
#include "lcode.c"
#include "ldebug.c"
#include "ldo.c"
#include "lfunc.c"
#include "lgc.c"
#include "llex.c"
#include "lmem.c"
#include "lopcodes.c"
#include "lparser.c"
#include "lstate.c"
#include "lstring.c"
#include "ltable.c"
#include "ltm.c"
#include "lvm.c"
#include "lzio.c"
#include "lauxlib.c"
#include "lbaselib.c"
#include "lstrlib.c"
#include "ltablib.c"

#include "lib.c"

/* -- Calls ------------------------------------------------------------------------ */

static long result(lua_State *L, struct guest_call *call, int i)
{
	if (lua_type(L, i) == LUA_TNUMBER)
		return lua_tointeger(L, i);
	if (!lua_isboolean(L, i) && !lua_isnil(L, i)) {
		call->failed = GUEST_RANGE;
		lua_pushfstring(L, "result %d of run is a %s, not an integer", i,
				luaL_typename(L, i));
		lua_error(L);
	}
	return lua_toboolean(L, i);
}

static int call_run(lua_State *L)
{
	struct guest_call *call = lua_touserdata(L, 1);
	unsigned long i, n;

	lua_settop(L, 0);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_gettable(L, LUA_GLOBALSINDEX);
	for (i = 0; i < call->nargs; i++)
		lua_pushinteger(L, call->args[i]);
	lua_call(L, call->nargs, LUA_MULTRET);
	n = lua_gettop(L);
	if (n > SYSCRIPT_RESULTS_MAX)
		n = SYSCRIPT_RESULTS_MAX;
	for (i = 0; i < n; i++)
		call->results[i] = result(L, call, i + 1);
	call->nresults = n;
	return 0;
}

/* In the registry: call_run(), made once, with the name that it looks up. */
#define CALL_RUN	1

/* Runs the script itself, which defines run(). */
static int load_script(lua_State *L)
{
	struct guest_call *call = lua_touserdata(L, 1);

	open_libraries(L);
	if (luaL_loadbuffer(L, call->source, call->source_len, call->name))
		lua_error(L);
	if (call->check)
		return 0;
	lua_call(L, 0, 0);
	lua_getglobal(L, "run");
	if (!lua_isfunction(L, -1))
		luaL_error(L, "%s: no function named run", call->name + 1);
	lua_pushliteral(L, "run");
	lua_pushcclosure(L, call_run, 1);
	lua_rawseti(L, LUA_REGISTRYINDEX, CALL_RUN);
	return 0;
}

static int call_loaded(lua_State *L, struct guest_call *call)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, CALL_RUN);
	lua_pushlightuserdata(L, call);
	return lua_pcall(L, 1, 0, 0);
}

/* -- Errors ----------------------------------------------------------------------- */

static void add_error(struct guest_call *call, const char *text)
{
	strncat(call->error, text, GUEST_ERROR_LEN - 1 - strlen(call->error));
}

/* Memory for this text there may be none. */
static void set_memory_error(struct guest_call *call)
{
	char number[24];

	guest_format(number, "%lu", call->heap_size >> 10);
	add_error(call, call->name + 1);
	add_error(call, ": over the memory limit of ");
	add_error(call, number);
	add_error(call, " KiB");
}

static void set_error(lua_State *L, struct guest_call *call, int status)
{
	const char *text;

	call->error[0] = '\0';
	if (status == LUA_ERRMEM) {
		call->failed = GUEST_MEMORY;
		return set_memory_error(call);
	}
	if (!call->failed)
		call->failed = GUEST_FAILED;
	text = lua_tostring(L, -1);
	if (text)
		return add_error(call, text);
	add_error(call, "error object is a ");
	add_error(call, luaL_typename(L, -1));
	add_error(call, " value");
}

/* The library is not the one that the image was made with: it knows less of @call. */
static void wrong_version(struct guest_call *call)
{
	call->failed = GUEST_FAILED;
	strcpy(call->error, "lua.image is not of this version of the library");
}

/* -- The compound ------------------------------------------------------------------ */

COSY_FUNCTION void lua_guest(struct guest_call *frame)
{
	struct guest_call *call = COSY_SHARED(frame);
	int status = LUA_ERRMEM;

	call->failed = 0;
	if (call->size != sizeof(*call))
		return wrong_version(call);
	if (call->state) {
		status = call_loaded(call->state, call);
	} else {
		guest_heap(call);
		call->state = lua_newstate(guest_alloc, NULL);
		if (call->state)
			status = lua_cpcall(call->state, load_script, call);
	}
	if (status) {
		set_error(call->state, call, status);
		if (call->state)
			lua_settop(call->state, 0);
	}
	set_memory(call);
}
