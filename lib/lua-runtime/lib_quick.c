// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fast paths of functions of libraries, for compiled code: as those of frames' methods
 * (frames_quick.c). Unusual arguments, and messages that have to be imported again, go to the
 * functions in lib.c, net.c and Lua's own libraries.
 */

static inline bool quick_are_ints(const TValue *o, int n)
{
	while (n--)
		if (!quick_is_int(o + n))
			return false;
	return true;
}

/* -- Lua's own libraries ----------------------------------------------------------------------- */

/* Of types that type() calls by their Lua names. */
static TString *type_names[LUA_TFUNCTION + 1];

QUICK(type)
{
	int type = nargs > 0 ? ttype(func + 1) : LUA_TLIGHTUSERDATA;

	if (type > LUA_TFUNCTION || type == LUA_TLIGHTUSERDATA)
		return quick_not(L, func, nargs, nresults);
	setsvalue(L, func, type_names[type]);
	return quick_end(L, func, 1, nresults);
}

/* The results are moved towards the beginning: they take no more room than the arguments. */
QUICK(select)
{
	long n, i;

	if (nargs && ttisstring(func + 1) && svalue(func + 1)[0] == '#') {
		setnvalue(func, nargs - 1);
		return quick_end(L, func, 1, nresults);
	}
	if (!nargs || !quick_is_int(func + 1) || nvalue(func + 1) <= 0 ||
	    nvalue(func + 1) > INT_MAX)
		return quick_not(L, func, nargs, nresults);
	n = nvalue(func + 1) < nargs ? nargs - nvalue(func + 1) : 0;
	for (i = 0; i < n; i++)
		setobjs2s(L, func + i, func + 1 + nargs - n + i);
	return quick_end(L, func, (int)n, nresults);
}

/* A table without a metatable, which no compiled code relies on. */
QUICK(setmetatable)
{
	Table *t;

	if (nargs != 2 || !ttistable(func + 1) || !ttistable(func + 2))
		return quick_not(L, func, nargs, nresults);
	t = hvalue(func + 1);
	if (t->metatable || testbit(t->marked, WATCHEDBIT))
		return quick_not(L, func, nargs, nresults);
	t->metatable = hvalue(func + 2);
	luaC_objbarriert(L, t, t->metatable);
	sethvalue(L, func, t);
	return quick_end(L, func, 1, nresults);
}

/* Only as many values as the caller wants: there is room for these. */
QUICK(unpack)
{
	int wanted = (int)nresults, n, i;
	Table *t;

	if (nargs != 1 || !ttistable(func + 1) || wanted < 0)
		return quick_not(L, func, nargs, nresults);
	t = hvalue(func + 1);
	n = luaH_getn(t);
	if (n > wanted)
		n = wanted;
	for (i = 0; i < n; i++)
		setobj2s(L, func + i, luaH_getnum(t, i + 1));
	return quick_end(L, func, n, nresults);
}

static inline long quick_extreme(lua_State *L, StkId func, long nargs, unsigned long nresults,
				 bool is_max)
{
	long i, best;

	if (!nargs || !quick_are_ints(func + 1, (int)nargs))
		return quick_not(L, func, nargs, nresults);
	best = nvalue(func + 1);
	for (i = 2; i <= nargs; i++)
		if (is_max ? nvalue(func + i) > best : nvalue(func + i) < best)
			best = nvalue(func + i);
	setnvalue(func, best);
	return quick_end(L, func, 1, nresults);
}

QUICK(max)
{
	return quick_extreme(L, func, nargs, nresults, true);
}

QUICK(min)
{
	return quick_extreme(L, func, nargs, nresults, false);
}

QUICK(text_len)
{
	if (nargs != 1 || !ttisstring(func + 1))
		return quick_not(L, func, nargs, nresults);
	setnvalue(func, tsvalue(func + 1)->len);
	return quick_end(L, func, 1, nresults);
}

static void set_quick_lua(lua_State *L)
{
	static const struct quick base[] = {
		{ "type", quick_type }, { "select", quick_select },
		{ "setmetatable", quick_setmetatable }, { "unpack", quick_unpack },
	};
	static const struct quick math[] = { { "max", quick_max }, { "min", quick_min } };
	static const struct quick text[] = { { "len", quick_text_len } };
	int type;

	for (type = 0; type <= LUA_TFUNCTION; type++) {
		type_names[type] = luaS_new(L, lua_typename(L, type));
		luaS_fix(type_names[type]);
	}
	lua_pushvalue(L, LUA_GLOBALSINDEX);
	set_quick_forms(L, base, ARRAY_SIZE(base));
	lua_getglobal(L, "math");
	set_quick_forms(L, math, ARRAY_SIZE(math));
	lua_getglobal(L, "string");
	set_quick_forms(L, text, ARRAY_SIZE(text));
	lua_pop(L, 3);
}

/* -- util ---------------------------------------------------------------------------------------- */

static inline bool quick_kind(const TValue *o, struct kind *kind)
{
	return ttisstring(o) && tsvalue(o)->len == 2 && find_kind(svalue(o), kind);
}

/* util.peek(addr, kind): compiled code has kinds that are constants inline. */
QUICK(peek)
{
	struct kind kind;
	long v = 0;

	if (nargs != 2 || !quick_is_int(func + 1) || !quick_kind(func + 2, &kind) ||
	    !is_own(nvalue(func + 1), kind.size))
		return quick_not(L, func, nargs, nresults);
	v = load((const char *)nvalue(func + 1), kind);
	/* Others are objects. */
	if (!num_is_int(v) || (v < 0 && !kind.is_signed))
		return quick_not(L, func, nargs, nresults);
	setnvalue(func, v);
	return quick_end(L, func, 1, nresults);
}

static void set_quick_util(lua_State *L)
{
	static const struct quick quick[] = { { "peek", quick_peek } };

	set_quick_forms(L, quick, ARRAY_SIZE(quick));
}

/* -- net ----------------------------------------------------------------------------------------- */

/* The imported messages, or NULL. */
static inline const struct messages *quick_messages(const TValue *o)
{
	const struct messages *messages;

	if (!ttisuserdata(o) || uvalue(o)->metatable != messages_meta)
		return NULL;
	messages = (const struct messages *)(rawuvalue(o) + 1);
	return messages->engine == runtime->engine ? messages : NULL;
}

/* Makes the call with the result at @func. */
static long quick_batch(lua_State *L, StkId func, unsigned long nresults, long op,
			struct image_batch_messages *call)
{
	setnvalue(func, runtime_batch(op, call));
	return quick_end(L, func, 1, nresults);
}

/* net.recv(fd, messages, n, flags) */
QUICK(recv)
{
	struct image_batch_messages call = { 0 };
	const struct messages *messages = NULL;

	if (nargs == 4 && quick_is_int(func + 1) && quick_are_ints(func + 3, 2))
		messages = quick_messages(func + 2);
	if (!messages || (unsigned long)nvalue(func + 3) > messages->n)
		return quick_not(L, func, nargs, nresults);
	set_socket(&call, nvalue(func + 1), nvalue(func + 4));
	call.n = (unsigned int)nvalue(func + 3);
	call.messages = messages->number;
	return quick_batch(L, func, nresults, IMAGE_BATCH_RECEIVE, &call);
}

/* net.send(fd, addr, n, flags [, messages]) */
QUICK(send)
{
	struct image_batch_messages call = { 0 };
	const struct messages *to = nargs == 5 ? quick_messages(func + 5) : NULL;

	if ((nargs != 4 && !to) || !quick_are_ints(func + 1, 4) ||
	    (unsigned long)nvalue(func + 3) > (to ? to->n : MMSG_MAX))
		return quick_not(L, func, nargs, nresults);
	set_socket(&call, nvalue(func + 1), nvalue(func + 4));
	call.addr = nvalue(func + 2);
	call.n = (unsigned int)nvalue(func + 3);
	call.messages = to ? to->number : 0;
	return quick_batch(L, func, nresults, IMAGE_BATCH_SEND, &call);
}

static void set_quick_net(lua_State *L)
{
	static const struct quick quick[] = { { "recv", quick_recv }, { "send", quick_send } };

	set_quick_forms(L, quick, ARRAY_SIZE(quick));
}
