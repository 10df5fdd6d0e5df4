// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Implements finish.h: the continuations of Lua's own C functions that call back into Lua. */

static int pcall_on(lua_State *L, int failed)
{
	lua_pushboolean(L, !failed);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/* Shifts the handler up to make room for the status. */
static int xpcall_on(lua_State *L, int failed)
{
	setbvalue(L->base, !failed);
	return lua_gettop(L);
}

static int tostring_on(lua_State *L, int failed)
{
	return 1;
}

static int load_script(lua_State *L);
static int script_on(lua_State *L, int failed);
static int print(lua_State *L);
static int print_on(lua_State *L, int failed);
static int format_on(lua_State *L, int failed);
static int table_move(lua_State *L);
static int move_on(lua_State *L, int failed);

static const struct finish finishes[] = {
	{ luaB_pcall, pcall_on, 0, FINISH_YIELDS | FINISH_CATCHES },
	{ luaB_xpcall, xpcall_on, 0, FINISH_YIELDS | FINISH_CATCHES | FINISH_HANDLER },
	{ luaB_tostring, tostring_on, 0, FINISH_YIELDS },
	{ luaB_coresume, coresume_on },
	{ luaB_auxwrap, auxwrap_on },
	{ str_gsub, gsub_on, GSUB_KEPT },
	{ str_format, format_on, FORMAT_KEPT },
	{ sort, sort_on, SORT_KEPT },
	{ foreach, foreach_on, 0, FINISH_YIELDS },
	{ foreachi, foreachi_on, 0, FINISH_YIELDS },
	{ table_move, move_on, 0, FINISH_YIELDS },
	{ print, print_on },
	{ load_script, script_on },
};

static const struct finish *finish_of(const CallInfo *ci)
{
	lua_CFunction f = ci_func(ci)->c.f;
	size_t i;

	for (i = 0; i < sizeof(finishes) / sizeof(finishes[0]); i++)
		if (finishes[i].f == f)
			return &finishes[i];
	return NULL;
}

static void finish_restore(lua_State *L, int arg, struct kept *to, luaL_Buffer *buffer)
{
	const struct kept *from = lua_touserdata(L, arg);

	memcpy(to, from, lua_objlen(L, arg));
	if (buffer) {
		buffer->p = (char *)to + lua_objlen(L, arg);
		to->buffer = buffer;
	}
	lua_pushlightuserdata(L, to);
	lua_replace(L, arg);
}
