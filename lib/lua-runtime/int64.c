// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Integers of 64 bits between scripts and system calls: a Lua number holds integers up to 2^53;
 * larger ones are an opaque value ("int64").
 */
#define INT64	"int64"

static const long *int64_at(lua_State *L, int i)
{
	const long *v = lua_touserdata(L, i);
	bool is_one;

	if (!v || lua_type(L, i) != LUA_TUSERDATA || !lua_getmetatable(L, i))
		return NULL;
	luaL_getmetatable(L, INT64);
	is_one = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is_one ? v : NULL;
}

static void push_long(lua_State *L, long v)
{
	if (v >= -(1L << 53) && v <= 1L << 53)
		return lua_pushinteger(L, v);
	*(long *)lua_newuserdata(L, sizeof(v)) = v;
	luaL_getmetatable(L, INT64);
	lua_setmetatable(L, -2);
}

/* Is value @i an integer? */
static bool to_long(lua_State *L, int i, long *v)
{
	const TValue *o = index2adr(L, i);
	const long *large;

	if (ttisnumber(o)) {
		*v = nvalue(o);
		return num_is_int(*v) || num_is_integer(*v, v);
	}
	large = int64_at(L, i);
	if (large)
		*v = *large;
	return large;
}

/* The number for the error message of an argument that is no integer. */
static int no_integer(lua_State *L, long n)
{
	bool beyond = num_lt(num_of_long(1L << 53), n) || num_lt(n, num_of_long(-(1L << 53)));

	lua_pushnumber(L, n);
	return luaL_error(L, beyond ? "%s is beyond the integers that a number holds" :
				      "integer expected, got %s", lua_tostring(L, -1));
}

static long check_long(lua_State *L, int i)
{
	long v, n;

	if (to_long(L, i, &v))
		return v;
	n = luaL_checknumber(L, i);
	if (!num_is_integer(n, &v))
		no_integer(L, n);
	return v;
}

static int int64_eq(lua_State *L)
{
	const long *a = int64_at(L, 1), *b = int64_at(L, 2);

	lua_pushboolean(L, a && b && *a == *b);
	return 1;
}

static int int64_tostring(lua_State *L)
{
	const long *v = int64_at(L, 1);
	char text[24];

	if (!v)
		return luaL_typerror(L, 1, INT64);
	runtime_format(text, "%d", *v);
	lua_pushstring(L, text);
	return 1;
}

static void open_int64(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "__eq", int64_eq }, { "__tostring", int64_tostring }, { NULL, NULL },
	};

	luaL_newmetatable(L, INT64);
	luaL_register(L, NULL, methods);
	lua_pushliteral(L, INT64);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}
