// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fast paths of the methods that servers call for each frame, for compiled code (layout.h):
 * without a call frame on Lua's stack and without moving L->top.  Unusual cases go to the methods
 * in frames.c: other arguments, a frame that has gone or was not fetched yet, an error.
 */

/* The slow path: calls the method as a C function. */
static __attribute__((noinline)) long quick_not(lua_State *L, StkId func, long nargs,
						unsigned long nresults)
{
	compiled_pc(L->ci);
	L->savedpc = L->ci->savedpc;
	L->top = func + 1 + nargs;
	return go_on(L, luaD_precall(L, func, (int)nresults));
}

/* Returns @n results, which begin at @func. */
static inline long quick_end(lua_State *L, StkId func, int n, unsigned long nresults)
{
	int wanted = (int)nresults;

	if (wanted == LUA_MULTRET)
		L->top = func + n;
	for (; n < wanted; n++)
		setnilvalue(func + n);
	return COMPILED_DONE;
}

/* Most methods are called on the view that the one before was called on. */
static __attribute__((noinline)) struct image_batch_frame *quick_other(const TValue *o)
{
	struct view view;

	if (!ttislightuserdata(o) || !frames_seen.view)
		return NULL;
	view = view_of(o);
	return is_batch(&view) && see_frame(view.port, view.place, (unsigned long)pvalue(o)) ?
	       frames_seen.frame : NULL;
}

/* The frame of the view, or NULL. */
static inline struct image_batch_frame *quick_frame(const TValue *o)
{
	if (ttislightuserdata(o) && (unsigned long)pvalue(o) == frames_seen.view)
		return frames_seen.frame;
	return quick_other(o);
}

static inline bool quick_is_int(const TValue *o)
{
	return ttisnumber(o) && num_is_int(nvalue(o));
}

/* The bytes at offset @o, or NULL. */
static inline char *quick_bytes(const TValue *frame, const TValue *o, unsigned long n)
{
	const struct image_batch_frame *found = quick_frame(frame);

	return found && quick_is_int(o) ? bytes_at(found, nvalue(o), n) : NULL;
}

#define QUICK(name)	\
	static long quick_##name(void *unused, StkId func, long nargs, unsigned long nresults, \
				 lua_State *L)

QUICK(len)
{
	const struct image_batch_frame *frame = nargs == 1 ? quick_frame(func + 1) : NULL;

	if (!frame)
		return quick_not(L, func, nargs, nresults);
	setnvalue(func, frame->len);
	return quick_end(L, func, 1, nresults);
}

QUICK(u1)
{
	const char *p = nargs == 2 ? quick_bytes(func + 1, func + 2, 1) : NULL;

	if (!p)
		return quick_not(L, func, nargs, nresults);
	setnvalue(func, *(const unsigned char *)p);
	return quick_end(L, func, 1, nresults);
}

QUICK(u2)
{
	const char *p = nargs == 2 ? quick_bytes(func + 1, func + 2, 2) : NULL;
	uint16_t v;

	if (!p)
		return quick_not(L, func, nargs, nresults);
	memcpy(&v, p, sizeof(v));
	setnvalue(func, __builtin_bswap16(v));
	return quick_end(L, func, 1, nresults);
}

QUICK(u4)
{
	const char *p = nargs == 2 ? quick_bytes(func + 1, func + 2, 4) : NULL;
	uint32_t v;

	if (!p)
		return quick_not(L, func, nargs, nresults);
	memcpy(&v, p, sizeof(v));
	setnvalue(func, __builtin_bswap32(v));
	return quick_end(L, func, 1, nresults);
}

QUICK(udp)
{
	struct image_batch_frame *frame = nargs == 1 ? quick_frame(func + 1) : NULL;

	if (!frame || frame->changed || !frame->found)
		return quick_not(L, func, nargs, nresults);
	frame->udp = frame->found;
	frame->payload_len = frame->found_len;
	setnvalue(func, frame->udp + UDP_LEN);
	setnvalue(func + 1, frame->payload_len);
	return quick_end(L, func, 2, nresults);
}

QUICK(ports)
{
	const struct image_batch_frame *frame = nargs == 1 ? quick_frame(func + 1) : NULL;
	unsigned int both;

	if (!frame || !frame->udp)
		return quick_not(L, func, nargs, nresults);
	memcpy(&both, (const char *)frame->at + frame->udp, sizeof(both));
	both = __builtin_bswap32(both);
	setnvalue(func, both >> 16);
	setnvalue(func + 1, both & 0xffff);
	return quick_end(L, func, 2, nresults);
}

QUICK(find)
{
	const struct image_batch_frame *frame = nargs == 3 ? quick_frame(func + 1) : NULL;
	const char *p = frame ? quick_bytes(func + 1, func + 3, 0) : NULL, *found;

	if (!p || !quick_is_int(func + 2) || (unsigned long)nvalue(func + 2) > 255)
		return quick_not(L, func, nargs, nresults);
	found = memchr(p, (int)nvalue(func + 2), (const char *)frame->at + frame->len - p);
	if (found)
		setnvalue(func, found - (const char *)frame->at)
	else
		setnilvalue(func);
	return quick_end(L, func, 1, nresults);
}

QUICK(equals)
{
	const struct image_batch_frame *frame = nargs == 3 ? quick_frame(func + 1) : NULL;
	const char *p;
	size_t n;

	if (!frame || !quick_is_int(func + 2) || !ttisstring(func + 3))
		return quick_not(L, func, nargs, nresults);
	n = tsvalue(func + 3)->len;
	p = bytes_at(frame, nvalue(func + 2), n);
	setbvalue(func, p && !memcmp(p, svalue(func + 3), n));
	return quick_end(L, func, 1, nresults);
}

QUICK(str)
{
	const char *p = nargs == 3 && quick_is_int(func + 3) ?
			quick_bytes(func + 1, func + 2, nvalue(func + 3)) : NULL;
	ptrdiff_t place = savestack(L, func);
	TString *s;

	if (!p)
		return quick_not(L, func, nargs, nresults);
	/* For the collector, and the finalisers that it may call. */
	compiled_pc(L->ci);
	L->savedpc = L->ci->savedpc;
	L->top = func + 1 + nargs;
	luaC_checkGC(L);
	s = luaS_newlstr(L, p, nvalue(restorestack(L, place) + 3));
	func = restorestack(L, place);
	setsvalue2s(L, func, s);
	return quick_end(L, func, 1, nresults);
}

QUICK(put)
{
	struct image_batch_frame *frame = nargs == 3 ? quick_frame(func + 1) : NULL;
	unsigned long off, n;

	if (!frame || !quick_is_int(func + 2) || !ttisstring(func + 3))
		return quick_not(L, func, nargs, nresults);
	off = nvalue(func + 2);
	n = tsvalue(func + 3)->len;
	if (off > frame->len || n > frame->room || off + n > frame->room)
		return quick_not(L, func, nargs, nresults);
	memcpy((char *)frame->at + off, svalue(func + 3), n);
	frame->changed = 1;
	if (off + n > frame->len)
		frame->len = off + n;
	return quick_end(L, func, 0, nresults);
}

QUICK(reply)
{
	struct image_batch_frame *frame = nargs == 2 ? quick_frame(func + 1) : NULL;

	if (!frame || !quick_is_int(func + 2) ||
	    !compiled_replied(frame, nvalue(func + 2), (unsigned long)pvalue(func + 1)))
		return quick_not(L, func, nargs, nresults);
	setbvalue(func, 1);
	return quick_end(L, func, 1, nresults);
}

/* The compiled form of a function of a library. */
struct quick {
	const char *name;
	compiled *f;
};

/* Gives functions in the table on the stack's top their compiled forms. */
static void set_quick_forms(lua_State *L, const struct quick *quick, int n)
{
	for (; n--; quick++) {
		lua_getfield(L, -1, quick->name);
		clvalue(L->top - 1)->c.id = (long)quick->f;
		lua_pop(L, 1);
	}
}

static void set_quick(lua_State *L)
{
	static const struct quick quick[] = {
		{ "len", quick_len }, { "u1", quick_u1 }, { "u2", quick_u2 }, { "u4", quick_u4 },
		{ "udp", quick_udp }, { "ports", quick_ports }, { "find", quick_find },
		{ "equals", quick_equals }, { "str", quick_str }, { "put", quick_put },
		{ "reply", quick_reply },
	};

	set_quick_forms(L, quick, ARRAY_SIZE(quick));
}
