// SPDX-License-Identifier: GPL-2.0 OR MIT
/* string.format() with LuaJIT's options, results and errors, which differ from Lua 5.1's. */

static void add_quoted(luaL_Buffer *b, const char *s, size_t len)
{
	char text[8];
	unsigned char c;

	luaL_addchar(b, '"');
	for (; len--; s++) {
		c = *s;
		if (c == '"' || c == '\\' || c == '\n')
			luaL_addchar(b, '\\');
		if (c == '\n' || (c >= 32 && c != 127)) {
			luaL_addchar(b, c);
			continue;
		}
		runtime_format(text, is_digit(s[1]) ? "%03d" : "%d", c);
		luaL_addchar(b, '\\');
		luaL_addlstring(b, text, strlen(text));
	}
	luaL_addchar(b, '"');
}

/* tostring() without metatables. */
static void push_plain_text(lua_State *L, int i)
{
	switch (lua_type(L, i)) {
	case LUA_TNIL:
		return lua_pushliteral(L, "nil");
	case LUA_TBOOLEAN:
		return lua_pushstring(L, lua_toboolean(L, i) ? "true" : "false");
	}
	lua_pushfstring(L, "%s: %p", luaL_typename(L, i), lua_topointer(L, i));
}

/* Replaces the argument by the result of __tostring(). */
static void call_tostring(lua_State *L, int arg)
{
	if (lua_type(L, arg) != LUA_TSTRING && luaL_callmeta(L, arg, "__tostring"))
		lua_replace(L, arg);
}

/* Replaces the argument by its text. */
static const char *text_argument(lua_State *L, int arg, size_t *len)
{
	if (!lua_isstring(L, arg)) {
		push_plain_text(L, arg);
		lua_replace(L, arg);
	}
	return lua_tolstring(L, arg, len);
}

static void add_text(lua_State *L, luaL_Buffer *b, const struct format *f, int arg)
{
	size_t len;
	const char *s = text_argument(L, arg, &len);
	long fill;

	if (f->conversion == 'q')
		return add_quoted(b, s, len);
	if (f->precision >= 0 && len > (size_t)f->precision)
		len = f->precision;
	fill = f->width - (long)len;
	for (; !f->left && fill > 0; fill--)
		luaL_addchar(b, ' ');
	luaL_addlstring(b, s, len);
	for (; fill > 0; fill--)
		luaL_addchar(b, ' ');
}

static long integer_argument(lua_State *L, const struct format *f, int arg)
{
	const TValue *o = index2adr(L, arg);
	long n;

	if (int64_kind(o))
		return (long)*int64_bits(o);
	n = luaL_checknumber(L, arg);
	if (f->conversion == 'd' || f->conversion == 'i' || !num_le(num_of_ulong(1UL << 63), n))
		return num_to_long(n);
	return num_to_long(num_sub(n, num_scale(1, 64)));
}

static void add_item(lua_State *L, luaL_Buffer *b, struct format *f, int arg)
{
	char item[ITEM_MAX], *end, c;

	switch (f->conversion) {
	case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
		end = put_integer(item, f, integer_argument(L, f, arg));
		break;
	case 'c':
		c = (char)luaL_checkint(L, arg);
		end = put_padded(item, f, "", &c, 1, 0);
		break;
	case 'p':
		runtime_format(item, "%p", (long)(lua_type(L, arg) == LUA_TSTRING ?
						  lua_tostring(L, arg) : lua_topointer(L, arg)));
		end = item + strlen(item);
		break;
	case 's': case 'q':
		call_tostring(L, arg);
		return add_text(L, b, f, arg);
	default:
		end = put_double(item, f, num_bits(luaL_checknumber(L, arg)));
	}
	luaL_addlstring(b, item, end - item);
}

static int bad_format(lua_State *L, const char *from, const char *at)
{
	if ((unsigned char)*at >= 32)
		at++;
	lua_pushlstring(L, from, at - from);
	return luaL_error(L, "invalid option '%s' to 'format'", lua_tostring(L, -1));
}

/* Index of the argument that has the address of a struct formatting. */
#define FORMAT_KEPT	1

/**
 * struct formatting - state of string.format(), for its continuation: finish.h
 * @at:  the text after the current option
 * @end: the end of the format
 * @arg: index of the option's argument
 * @n:   number of arguments, which the format follows on the stack
 */
struct formatting {
	struct kept kept;
	const char *at, *end;
	int arg, n;
	struct format f;
	luaL_Buffer b;
};

static int format_rest(lua_State *L, struct formatting *g)
{
	const char *s = g->at, *after;

	while (s < g->end) {
		if (*s != '%' || s[1] == '%') {
			s += *s == '%';
			luaL_addchar(&g->b, *s);
			s++;
			continue;
		}
		after = parse_format(&g->f, s + 1);
		if (!*after || !strchr("aAcdeEfFgGiopqsuxX", *after))
			return bad_format(L, s, after);
		if (++g->arg > g->n)
			luaL_argerror(L, g->arg, "value expected");
		s = g->at = after + 1;
		add_item(L, &g->b, &g->f, g->arg);
	}
	luaL_pushresult(&g->b);
	return 1;
}

static int format_on(lua_State *L, int failed)
{
	struct formatting g;

	(void)failed;
	finish_restore(L, FORMAT_KEPT, &g.kept, &g.b);
	lua_replace(L, g.arg);
	add_text(L, &g.b, &g.f, g.arg);
	return format_rest(L, &g);
}

static int str_format(lua_State *L)
{
	struct formatting g;
	size_t len;

	g.at = luaL_checklstring(L, 1, &len);
	g.end = g.at + len;
	g.arg = 1;
	g.n = lua_gettop(L);
	lua_pushvalue(L, 1);
	lua_pushlightuserdata(L, &g);
	lua_replace(L, FORMAT_KEPT);
	luaL_buffinit(L, &g.b);
	g.kept.buffer = &g.b;
	return format_rest(L, &g);
}
