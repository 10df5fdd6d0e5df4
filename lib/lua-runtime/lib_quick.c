// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fast paths of functions of libraries, for compiled code: as those of frames' methods
 * (frames_quick.c). Unusual arguments, and messages that have to be imported again, go to the
 * functions in lib.c and net.c.
 */

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

static inline bool quick_are_ints(const TValue *o, int n)
{
	while (n--)
		if (!quick_is_int(o + n))
			return false;
	return true;
}

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

/* net.send(fd, addr, n, flags) */
QUICK(send)
{
	struct image_batch_messages call = { 0 };

	if (nargs != 4 || !quick_are_ints(func + 1, 4) ||
	    (unsigned long)nvalue(func + 3) > MMSG_MAX)
		return quick_not(L, func, nargs, nresults);
	set_socket(&call, nvalue(func + 1), nvalue(func + 4));
	call.addr = nvalue(func + 2);
	call.n = (unsigned int)nvalue(func + 3);
	return quick_batch(L, func, nresults, IMAGE_BATCH_SEND, &call);
}

static void set_quick_net(lua_State *L)
{
	static const struct quick quick[] = { { "recv", quick_recv }, { "send", quick_send } };

	set_quick_forms(L, quick, ARRAY_SIZE(quick));
}
