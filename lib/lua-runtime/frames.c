// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * net.frames() for the confined engine, with the same interface as for LuaJIT
 * (engine/luajit/lib_frames.c).
 *
 * The engine holds the frames (enum image_batch, FRAMES_*); the arena has copies: when a script
 * first accesses a frame, all frames of the receive are fetched.  Frames to send are listed in
 * the sending port, with the addresses of their bytes, and passed to the engine with the next
 * flush or receive.
 *
 * A port lives as long as the script.  A view, the script's reference to a frame, is a light
 * userdata that encodes the numbers of port, frame and batch; scripts have no other light
 * userdata.  So a view costs no allocation, equals other views of the same frame, and is
 * recognised as stale after the next receive.
 */
#include "../../core/net/frame.c"
#include "../../core/net/frames.h"
#include "../../core/net/frames_text.h"

#define SAME(field, other)	\
	_Static_assert(offsetof(struct image_batch_frame, field) == \
		       offsetof(struct frame, other), #field)
SAME(at, data);
SAME(len, len);
SAME(room, room);
SAME(vlan, vlan);
SAME(sum, sum);
SAME(sum_start, sum_start);
SAME(sum_at, sum_at);
SAME(udp, udp);
SAME(payload_len, payload_len);
#undef SAME
_Static_assert(sizeof(struct image_batch_frame) == sizeof(struct frame), "as_frame()");

/**
 * struct port - a packet socket in a script
 * @views: the value of the first frame's view
 * @ready: @n if @fetched, otherwise 0
 * @index: its index in ports[]
 * @number: its number in the engine
 * @engine: the engine that assigned @number; another one has to open the port again
 * @fd, @take, @all: arguments for opening it again
 * @batch: the batch of the frames in @in
 * @n: number of frames, which are in @in if @fetched
 * @nout: number of frames in @out, not passed to the engine yet
 * @waiting: number of frames queued in the engine
 * @bytes: number of bytes that a fetch copies
 * @buffer: receives them; @size bytes
 * @more: separate memory of frames that have grown, by index; @more_size bytes
 */
struct port {
	struct image_batch_frame in[FRAMES_MAX];
	unsigned long views;
	unsigned int ready, index;
	struct image_batch_out out[FRAMES_MAX];
	char *more[FRAMES_MAX];
	unsigned int more_size[FRAMES_MAX];
	unsigned int number, take, all;
	int fd;
	unsigned int n, nout, waiting;
	bool fetched;
	unsigned long engine, batch, bytes;
	char *buffer;
	unsigned long size;
};

/* The fields of a view's value, in bits.  All together they fit in a pointer, and are never 0. */
#define VIEW_PLACE	6
#define VIEW_PORT	4	/* from 1, so that no view is 0 */

_Static_assert(FRAMES_MAX <= 1 << VIEW_PLACE && FRAMES_PORTS < 1 << VIEW_PORT, "struct view");

struct view {
	struct port *port;
	unsigned long batch;
	unsigned int place;
};

static struct port *ports[FRAMES_PORTS];

/* @port_meta, @port_methods: created when a script first calls net.frames() */
static HOT Table *port_meta, *port_methods, *frame_methods;

/*
 * @view: 0: a new run, and learn() has not been called; 1: it has been called; above 1: also the
 *	view that a method was last called on
 * @frame: that view's frame, valid only while @view is above 1
 * @object, @port: the port that was last indexed, as the script has it; NULL while @view is 0
 *
 * Compiled functions read and write them (layout.h).
 */
static HOT struct {
	unsigned long view;
	struct image_batch_frame *frame;
	const Udata *object;
	struct port *port;
} frames_seen;

/* -- The engine ------------------------------------------------------------------ */

static long port_batch(struct port *port, long op, struct image_batch_port *call)
{
	long ret;

	frames_seen.view = 1;
	call->port = port->number;
	call->out = (unsigned long)port->out;
	call->n = port->nout;
	port->nout = 0;
	ret = runtime_batch(op, call);
	port->waiting = call->waiting;
	return ret;
}

static void commit(struct port *port)
{
	struct image_batch_port call = { 0 };

	if (port->nout)
		port_batch(port, IMAGE_BATCH_FRAMES_QUEUE, &call);
}

/* Passes on other ports' queued frames, which this port may have received. */
static void commit_others(const struct port *but)
{
	int i;

	for (i = 0; i < FRAMES_PORTS; i++)
		if (ports[i] && ports[i] != but)
			commit(ports[i]);
}

/* To be called when @n, @fetched or @batch has changed. */
static void settle(struct port *port)
{
	port->ready = port->fetched ? port->n : 0;
	port->views = (port->batch << VIEW_PORT | (port->index + 1)) << VIEW_PLACE;
}

/* Sets the port's number in the engine, from a result that may be -errno. */
static void number_port(struct port *port, long number)
{
	port->engine = runtime->engine;
	port->number = number > 0 ? number : 0;
}

/* Called when a run starts: frames that were not kept, and all that were queued, are gone. */
static void learn(struct port *port)
{
	struct image_batch_open again = { port->fd, port->take, port->all };
	struct image_batch_port call = { 0 };

	port->nout = 0;
	if (port->engine != runtime->engine)
		number_port(port, runtime_batch(IMAGE_BATCH_FRAMES_OPEN, &again));
	if (!port_batch(port, IMAGE_BATCH_FRAMES_STATE, &call) && call.batch == port->batch)
		return;
	port->batch = call.batch;
	port->n = 0;
	port->fetched = true;
	settle(port);
}

static __attribute__((noinline)) void learn_all(void)
{
	int i;

	frames_seen.view = 1;
	for (i = 0; i < FRAMES_PORTS; i++)
		if (ports[i])
			learn(ports[i]);
}

static inline void know(void)
{
	if (!frames_seen.view)
		learn_all();
}

/* -- Memory ------------------------------------------------------------------------ */

static char *get_memory(lua_State *L, unsigned long size)
{
	char *p = runtime_alloc(NULL, NULL, 0, size);

	if (!p) {
		lua_gc(L, LUA_GCCOLLECT, 0);
		p = runtime_alloc(NULL, NULL, 0, size);
	}
	if (!p)
		luaD_throw(L, LUA_ERRMEM);
	return p;
}

/* Makes *@p, of *@has bytes, at least @size bytes large; its contents are lost. */
static void make_memory(lua_State *L, char **p, unsigned long *has, unsigned long size)
{
	if (size <= *has)
		return;
	size = BLOCK << order_of(size);
	if (*p)
		runtime_alloc(NULL, *p, *has, 0);
	*p = NULL;
	*has = 0;
	*p = get_memory(L, size);
	*has = size;
}

static __attribute__((noinline)) void fetch(lua_State *L, struct port *port)
{
	struct image_batch_fetch call = { .port = port->number };

	make_memory(L, &port->buffer, &port->size, port->bytes);
	call.records = (unsigned long)port->in;
	call.bytes = (unsigned long)port->buffer;
	call.size = port->size;
	if (runtime_batch(IMAGE_BATCH_FRAMES_FETCH, &call) != (long)port->n)
		port->n = 0;
	port->fetched = true;
	settle(port);
}

/* Moves the frame's bytes to separate memory of at least @size bytes. */
static void move_frame(lua_State *L, struct port *port, unsigned int place, unsigned long size)
{
	struct image_batch_frame *frame = &port->in[place];
	unsigned long has = port->more_size[place];
	char *old = port->more[place], *p = old;

	if ((unsigned long)old == frame->at || size > has) {
		size = BLOCK << order_of(size);
		p = get_memory(L, size);
	}
	memcpy(p, (const void *)frame->at, frame->len);
	if (p != old) {
		if (old)
			runtime_alloc(NULL, old, has, 0);
		port->more[place] = p;
		port->more_size[place] = size;
	}
	frame->at = (unsigned long)p;
	frame->slot = port->more_size[place] > FRAME_MAX ? FRAME_MAX : port->more_size[place];
}

/* False if the engine has no room for so many bytes. */
static __attribute__((noinline)) bool grow(lua_State *L, struct port *port, unsigned int place,
					   unsigned int size)
{
	struct image_batch_frame *frame = &port->in[place];
	struct image_batch_place call = { port->number, place, size };

	if (runtime_batch(IMAGE_BATCH_FRAMES_GROW, &call))
		return false;
	if (size > frame->slot)
		move_frame(L, port, place, size);
	frame->room = call.room < frame->slot ? call.room : frame->slot;
	return true;
}

/* -- Views --------------------------------------------------------------------------- */

static inline struct view view_from(unsigned long v)
{
	unsigned int index = (v >> VIEW_PLACE & ((1 << VIEW_PORT) - 1)) - 1;

	return (struct view){ ports[index % FRAMES_PORTS], v >> (VIEW_PLACE + VIEW_PORT),
			      v & ((1 << VIEW_PLACE) - 1) };
}

static inline struct view view_of(const TValue *o)
{
	return view_from((unsigned long)pvalue(o));
}

/* Is the view of the port's present batch?  Compares the bits that fit in a view. */
static inline bool is_batch(const struct view *view)
{
	return view->batch == view->port->batch << (VIEW_PLACE + VIEW_PORT) >>
			      (VIEW_PLACE + VIEW_PORT);
}

/* Stores @view and its frame in frames_seen.  False if the frame is not in the arena. */
static inline bool see_frame(struct port *port, unsigned int place, unsigned long view)
{
	struct image_batch_frame *frame = &port->in[place];

	if (place >= port->n || !port->fetched || !frame->at)
		return false;
	frames_seen.view = view;
	frames_seen.frame = frame;
	return true;
}

static struct view view_at(lua_State *L, int i)
{
	const TValue *o = L->base + i - 1;

	if (o >= L->top || !ttislightuserdata(o))
		luaL_typerror(L, i, "frame");
	return view_of(o);
}

static struct port *port_at(lua_State *L, int i)
{
	const TValue *o = L->base + i - 1;

	if (o >= L->top || !ttisuserdata(o) || uvalue(o)->metatable != port_meta)
		luaL_typerror(L, i, "port");
	know();
	return ports[*(unsigned int *)(rawuvalue(o) + 1)];
}

static struct frame *as_frame(struct image_batch_frame *frame)
{
	return (struct frame *)frame;
}

/* The frame of the view in argument 1; raises an error if the frame is gone. */
static inline struct image_batch_frame *frame_of(lua_State *L, const struct view *view)
{
	struct port *port = view->port;
	struct image_batch_frame *frame = &port->in[view->place];

	know();
	if (is_batch(view) && view->place < port->n) {
		if (!port->fetched)
			fetch(L, port);
		if (view->place < port->n && frame->at)
			return frame;
	}
	luaL_error(L, "no frame here: it was sent, or dropped by a later receive");
	return NULL;
}

static struct image_batch_frame *this_frame(lua_State *L)
{
	const struct view view = view_at(L, 1);

	return frame_of(L, &view);
}

/* Stores a view of frame @place, from 1, of port @owner at @to. */
static inline void set_view(StkId to, const TValue *owner, long place)
{
	unsigned int index = *(const unsigned int *)(rawuvalue(owner) + 1);

	setpvalue(to, (void *)(ports[index]->views | (place - 1)));
}

static void push_view(lua_State *L, long place)
{
	set_view(L->top, L->base, place);
	L->top++;
}

/* Is the value a port, and @key the index of a frame?  Then compiled code needs no call. */
static inline bool is_frame_at(const TValue *o, const TValue *key)
{
	return ttisuserdata(o) && port_meta && uvalue(o)->metatable == port_meta &&
	       ttisnumber(key) && (unsigned long)nvalue(key) - 1 < FRAMES_MAX && frames_seen.view;
}

/* Scripts can replace the methods of neither. */
static inline Table *methods_of(const TValue *o)
{
	if (ttislightuserdata(o))
		return frame_methods;
	return ttisuserdata(o) && port_meta && uvalue(o)->metatable == port_meta ? port_methods :
										   NULL;
}

/* The method @name of a view or a port; NULL if the value is neither, or has no such method. */
static inline const TValue *method_of(const TValue *o, const TValue *name)
{
	Table *methods = methods_of(o);
	const TValue *method;

	if (!methods)
		return NULL;
	method = luaH_getstr(methods, rawtsvalue(name));
	return ttisnil(method) ? NULL : method;
}

/* -- Bytes ----------------------------------------------------------------------------- */

static int outside(lua_State *L, const struct image_batch_frame *frame)
{
	return luaL_error(L, "not within the frame's %d bytes", frame->len);
}

static int no_room(lua_State *L)
{
	return luaL_error(L, "no room: a frame has up to %d bytes, and its socket's buffer a limit",
			  FRAME_MAX);
}

/* The address of @n bytes at @off, or NULL. */
static inline char *bytes_at(const struct image_batch_frame *frame, unsigned long off,
			     unsigned long n)
{
	return off <= frame->len && n <= frame->len - off ? (char *)frame->at + off : NULL;
}

/* The address of @n bytes at @off, which may end after the frame: its length is extended. */
static char *extend(lua_State *L, unsigned long off, unsigned long n)
{
	const struct view view = view_at(L, 1);
	struct image_batch_frame *frame = frame_of(L, &view);

	if (off > FRAME_MAX || n > FRAME_MAX ||
	    (off + n > frame->room && (off + n > FRAME_MAX ||
				       !grow(L, view.port, view.place, off + n))))
		no_room(L);
	frame->changed = 1;
	if (off + n > frame->len) {
		if (off > frame->len)
			memset((char *)frame->at + frame->len, 0, off - frame->len);
		frame->len = off + n;
	}
	return (char *)frame->at + off;
}

static int frame_len(lua_State *L)
{
	lua_pushinteger(L, this_frame(L)->len);
	return 1;
}

static const char *bytes_of(lua_State *L, unsigned long off, unsigned long n)
{
	struct image_batch_frame *frame = this_frame(L);
	const char *p = bytes_at(frame, off, n);

	if (!p)
		outside(L, frame);
	return p;
}

static int frame_load(lua_State *L, struct kind kind)
{
	unsigned long off = check_long(L, 2);
	const char *p = bytes_of(L, off, kind.size);
	long v = load(p, kind);

	if (v > 1L << 53 || v < -(1L << 53) || (v < 0 && !kind.is_signed))
		return luaL_error(L, "value at %d does not fit a number", off);
	lua_pushinteger(L, v);
	return 1;
}

/* frame:peek(off [, kind]) -> value, as util.peek() */
static int frame_peek(lua_State *L)
{
	view_at(L, 1);
	return frame_load(L, check_kind(L, 3));
}

/* frame:u1(off), u2, u4 -> value, in the byte order of the network */
static int frame_u1(lua_State *L)
{
	lua_pushinteger(L, *(const unsigned char *)bytes_of(L, check_long(L, 2), 1));
	return 1;
}

static int frame_u2(lua_State *L)
{
	uint16_t v;

	memcpy(&v, bytes_of(L, check_long(L, 2), sizeof(v)), sizeof(v));
	lua_pushinteger(L, __builtin_bswap16(v));
	return 1;
}

static int frame_u4(lua_State *L)
{
	uint32_t v;

	memcpy(&v, bytes_of(L, check_long(L, 2), sizeof(v)), sizeof(v));
	lua_pushinteger(L, __builtin_bswap32(v));
	return 1;
}

static int frame_store(lua_State *L, struct kind kind, int arg)
{
	struct image_batch_frame *frame = this_frame(L);
	char *p = bytes_at(frame, check_long(L, 2), kind.size);
	long v;

	if (!to_long(L, arg, &v) && !num_is_integer(luaL_checknumber(L, arg), &v))
		luaL_argerror(L, arg, "number out of range");
	luaL_argcheck(L, fits(v, kind) && (arg > 3 || v >= 0), arg, "number out of range");
	if (!p)
		return outside(L, frame);
	store(p, v, kind);
	frame->changed = 1;
	return 0;
}

/* frame:poke(off, kind, value), as util.poke() */
static int frame_poke(lua_State *L)
{
	view_at(L, 1);
	return frame_store(L, check_kind(L, 3), 4);
}

/* frame:put1(off, value), put2, put4 */
static int frame_put1(lua_State *L)
{
	return frame_store(L, (struct kind){ 1, false, false }, 3);
}

static int frame_put2(lua_State *L)
{
	return frame_store(L, (struct kind){ 2, false, true }, 3);
}

static int frame_put4(lua_State *L)
{
	return frame_store(L, (struct kind){ 4, false, true }, 3);
}

/* frame:copyout(off, n, addr) */
static int frame_copyout(lua_State *L)
{
	unsigned long off = check_long(L, 2), n = check_long(L, 3), address = check_long(L, 4);

	write_memory(L, address, bytes_of(L, off, n), n);
	return 0;
}

/* frame:find(byte [, off]) -> offset or nil */
static int frame_find(lua_State *L)
{
	unsigned long byte = check_long(L, 2), off = opt_long(L, 3, 0);
	const struct image_batch_frame *frame;
	const char *p, *found;

	luaL_argcheck(L, byte <= 255, 2, "number out of range");
	p = bytes_of(L, off, 0);
	frame = this_frame(L);
	found = memchr(p, (int)byte, frame->len - off);
	if (found)
		lua_pushinteger(L, found - (const char *)frame->at);
	else
		lua_pushnil(L);
	return 1;
}

/* frame:equals(off, s) -> are the bytes there those of s? */
static int frame_equals(lua_State *L)
{
	const struct image_batch_frame *frame = this_frame(L);
	unsigned long off = check_long(L, 2);
	size_t n;
	const char *s = luaL_checklstring(L, 3, &n), *p = bytes_at(frame, off, n);

	lua_pushboolean(L, p && !memcmp(p, s, n));
	return 1;
}

/* frame:str(off, n) -> string */
static int frame_str(lua_State *L)
{
	unsigned long off = check_long(L, 2), n = check_long(L, 3);

	lua_pushlstring(L, bytes_of(L, off, n), n);
	return 1;
}

/* frame:put(off, s): extends the frame if it ends before the end of s */
static int frame_put(lua_State *L)
{
	unsigned long off = check_long(L, 2);
	size_t n;
	const char *s = luaL_checklstring(L, 3, &n);

	memcpy(extend(L, off, n), s, n);
	return 0;
}

/* frame:fill(off, byte, n): extends the frame if it ends before off + n */
static int frame_fill(lua_State *L)
{
	unsigned long off = check_long(L, 2), byte = check_long(L, 3), n;

	luaL_argcheck(L, byte <= 255, 3, "number out of range");
	n = check_long(L, 4);
	memset(extend(L, off, n), (int)byte, n);
	return 0;
}

/* -- Datagrams --------------------------------------------------------------------------- */

/* frame:udp() -> offset and length of the payload, or nil */
static int frame_udp_of(lua_State *L)
{
	struct image_batch_frame *frame = this_frame(L);

	if (frame->changed) {
		frame_udp(as_frame(frame));
	} else {
		frame->udp = frame->found;
		frame->payload_len = frame->found_len;
	}
	if (!frame->udp) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, frame->udp + UDP_LEN);
	lua_pushinteger(L, frame->payload_len);
	return 2;
}

/* frame:headers() -> offset of the payload, or nil */
static int frame_headers_of(lua_State *L)
{
	int at = frame_headers(as_frame(this_frame(L)));

	if (at < 0)
		lua_pushnil(L);
	else
		lua_pushinteger(L, at);
	return 1;
}

/* frame:ports() -> source, destination */
static int frame_ports_of(lua_State *L)
{
	struct image_batch_frame *frame = this_frame(L);
	unsigned int both;

	if (!frame->udp)
		return luaL_error(L, "udp() has found no datagram here");
	both = frame_ports(as_frame(frame));
	lua_pushinteger(L, both >> 16);
	lua_pushinteger(L, both & 0xffff);
	return 2;
}

static int readdress(lua_State *L, int from)
{
	struct image_batch_frame *frame = this_frame(L);
	size_t n;
	const char *address = luaL_checklstring(L, 2, &n);
	unsigned long port = check_long(L, 3);

	luaL_argcheck(L, port <= 65535, 3, "number out of range");
	if (!frame_readdress(as_frame(frame), from, (const unsigned char *)address, n, port))
		return luaL_error(L, "udp() has found no datagram here, or its addresses have a different length");
	frame->changed = 1;
	return 0;
}

/* frame:set_source(address, port), frame:set_destination(address, port) */
static int frame_set_source(lua_State *L)
{
	return readdress(L, 1);
}

static int frame_set_destination(lua_State *L)
{
	return readdress(L, 0);
}

/* frame:vlan() -> protocol and tag, or nil */
static int frame_vlan(lua_State *L)
{
	unsigned int vlan = this_frame(L)->vlan;

	if (!vlan) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, vlan >> 16);
	lua_pushinteger(L, vlan & 0xffff);
	return 2;
}

/* -- Sending ------------------------------------------------------------------------------- */

/* Adds an entry to @to->out: the engine changes the frame, or sends it. */
static void note(struct port *to, const struct view *view, struct image_batch_frame *frame,
		 bool reply)
{
	struct image_batch_out *out = &to->out[to->nout++];

	*out = (struct image_batch_out){
		.at = frame->at, .len = frame->len, .port = view->port->number,
		.place = view->place, .udp = frame->udp, .reply = reply,
	};
	if (!reply && frame->sum == FRAME_SUM_PARTIAL) {
		out->sum_start = frame->sum_start;
		out->sum_at = frame->sum_at;
	}
}

/* Marks a frame as gone from the arena. */
static inline void remove_frame(struct image_batch_frame *frame)
{
	frame->at = 0;
	frames_seen.view = 1;
}

static bool may_note(const struct port *to)
{
	return to->waiting + to->nout < FRAMES_MAX;
}

/* False if there is no datagram in the frame, or its payload is shorter than @n. */
static inline bool reply_with(const struct view *view, struct image_batch_frame *frame,
			      unsigned long n)
{
	if (!frame->udp || n > FRAME_MAX || frame->udp + UDP_LEN + n > frame->len)
		return false;
	frame->len = frame->udp + UDP_LEN + n;
	note(view->port, view, frame, true);
	remove_frame(frame);
	return true;
}

/* frame:reply(len) -> was it queued? */
static int frame_reply_of(lua_State *L)
{
	const struct view view = view_at(L, 1);
	struct image_batch_frame *frame = frame_of(L, &view);
	unsigned long n = check_long(L, 2);
	bool may = may_note(view.port);

	if (may && !reply_with(&view, frame, n))
		return luaL_error(L, "udp() has found no datagram here, or its payload is shorter");
	lua_pushboolean(L, may);
	return 1;
}

/* frame:send([port]) -> was it queued? */
static int frame_send(lua_State *L)
{
	const struct view view = view_at(L, 1);
	struct image_batch_frame *frame = frame_of(L, &view);
	struct port *to = lua_isnoneornil(L, 2) ? view.port : port_at(L, 2);
	bool may = may_note(to);

	if (may) {
		note(to, &view, frame, false);
		remove_frame(frame);
	}
	lua_pushboolean(L, may);
	return 1;
}

/* -- Ports ----------------------------------------------------------------------------------- */

/* port:receive([max [, timeout [, enough [, hold]]]]) -> count or -errno */
static int port_receive(lua_State *L)
{
	struct port *port = port_at(L, 1);
	long max = opt_long(L, 2, FRAMES_MAX), timeout = opt_long(L, 3, -1);
	long enough = opt_long(L, 4, 1), hold = opt_long(L, 5, 0), ret;
	struct image_batch_port call = { .max = max, .timeout = timeout, .enough = enough, .hold = hold };

	if (max < 1 || max > FRAMES_MAX || timeout < -1 || timeout > FRAMES_TIMEOUT_MAX ||
	    enough < 1 || enough > FRAMES_MAX || hold < 0 || hold > FRAMES_HOLD_MAX)
		return luaL_error(L, "out of range: 1 to %d frames, -1 to 1e9 ms, a hold of 0 to 1e6 us",
				  FRAMES_MAX);
	commit_others(port);
	call.batch = port->batch;
	ret = port_batch(port, IMAGE_BATCH_FRAMES_RECEIVE, &call);
	port->batch = call.batch;
	port->bytes = call.bytes;
	port->n = ret > 0 ? ret : 0;
	port->fetched = ret <= 0;
	settle(port);
	push_long(L, ret);
	return 1;
}

/* port:flush() -> count or -errno */
static int port_flush(lua_State *L)
{
	struct port *port = port_at(L, 1);
	struct image_batch_port call = { 0 };

	push_long(L, port_batch(port, IMAGE_BATCH_FRAMES_FLUSH, &call));
	return 1;
}

/* port:keep(): keeps the frames of the last receive until the end of the next run. */
static int port_keep(lua_State *L)
{
	ENGINE(IMAGE_CALL_BATCH)(IMAGE_BATCH_FRAMES_KEEP, port_at(L, 1)->number);
	return 0;
}

/* For a run that fails, which must keep nothing although the image's call returns normally. */
static void drop_frames(void)
{
	int i;

	for (i = 0; i < FRAMES_PORTS; i++)
		if (ports[i])
			ENGINE(IMAGE_CALL_BATCH)(IMAGE_BATCH_FRAMES_DROP, ports[i]->number);
}

/* Writes changed frames back to the engine, which reads its own copies. */
static void write_back(struct port *port)
{
	struct image_batch_port call = { 0 };
	unsigned int i;

	commit_others(NULL);
	if (!port->fetched)
		return;
	for (i = 0; i < port->n; i++) {
		struct view view = { port, port->batch, i };

		if (port->in[i].at && (port->in[i].changed || port->in[i].udp))
			note(port, &view, &port->in[i], false);
	}
	if (port->nout)
		port_batch(port, IMAGE_BATCH_FRAMES_WRITE, &call);
}

static int slots(lua_State *L, struct port *port, long op, struct image_batch_slots *call)
{
	long size = check_long(L, 3), ret = -EFAULT;
	unsigned int i;

	call->addr = check_long(L, 2);
	call->port = port->number;
	call->size = size;
	if (size >= FRAMES_SLOT_HEAD && size <= FRAMES_SLOT_MAX) {
		write_back(port);
		ret = runtime_batch(op, call);
	}
	for (i = 0; call->taken && i < port->n; i++)
		if (call->taken >> i & 1)
			remove_frame(&port->in[i]);
	if (ret == -EFAULT)
		return luaL_error(L, "bad address, or no slots of %d to %d bytes", FRAMES_SLOT_HEAD,
				  FRAMES_SLOT_MAX);
	push_long(L, ret);
	return 1;
}

/* port:copyout(addr, size [, headers]) -> count */
static int port_copyout(lua_State *L)
{
	struct image_batch_slots call = { .headers = lua_toboolean(L, 4) };

	return slots(L, port_at(L, 1), IMAGE_BATCH_FRAMES_COPY_OUT, &call);
}

/* port:reply(addr, size, n) -> count */
static int port_reply(lua_State *L)
{
	struct image_batch_slots call = { 0 };
	struct port *port = port_at(L, 1);
	unsigned long n = check_long(L, 4);

	luaL_argcheck(L, n <= FRAMES_MAX, 4, "number out of range");
	call.n = n;
	slots(L, port, IMAGE_BATCH_FRAMES_REPLY, &call);
	port->waiting += lua_tointeger(L, -1) > 0 ? lua_tointeger(L, -1) : 0;
	return 1;
}

/* Makes a frame of @n bytes, with undefined contents.  Returns its index or -errno. */
static long build(lua_State *L, struct port *port, unsigned long n)
{
	struct image_batch_place call = { .port = port->number, .room = n };
	struct image_batch_frame *frame;
	long place;

	if (n > FRAME_MAX)
		return -EMSGSIZE;
	if (!port->fetched)
		fetch(L, port);
	place = runtime_batch(IMAGE_BATCH_FRAMES_BUILD, &call);
	if (place < 0)
		return place;
	frame = &port->in[place];
	*frame = (struct image_batch_frame){ .changed = 1 };
	port->n = place + 1;
	settle(port);
	move_frame(L, port, place, n < IMAGE_FRAME_SLOT ? IMAGE_FRAME_SLOT : n);
	frame->room = call.room < frame->slot ? call.room : frame->slot;
	frame->len = n;
	return place;
}

/* port:build(s), port:build(addr, n) -> frame, or nil and -errno */
static int port_build(lua_State *L)
{
	struct port *port = port_at(L, 1);
	bool is_text = lua_type(L, 2) == LUA_TSTRING;
	long address = is_text ? 0 : check_long(L, 2), place;
	unsigned long n = is_text ? lua_objlen(L, 2) : (unsigned long)check_long(L, 3);

	place = build(L, port, n);
	if (place < 0) {
		lua_pushnil(L);
		push_long(L, place);
		return 2;
	}
	if (is_text)
		memcpy((void *)port->in[place].at, lua_tostring(L, 2), n);
	else if (runtime_in_arena(address, n))
		memcpy((void *)port->in[place].at, (const void *)address, n);
	else
		move(L, IMAGE_BATCH_COPY_IN, address, (const void *)port->in[place].at, n);
	push_view(L, place + 1);
	return 1;
}

static const luaL_Reg frame_functions[] = {
	{ "len", frame_len }, { "peek", frame_peek }, { "poke", frame_poke },
	{ "u1", frame_u1 }, { "u2", frame_u2 }, { "u4", frame_u4 },
	{ "put1", frame_put1 }, { "put2", frame_put2 }, { "put4", frame_put4 },
	{ "udp", frame_udp_of }, { "headers", frame_headers_of }, { "ports", frame_ports_of },
	{ "copyout", frame_copyout }, { "find", frame_find }, { "equals", frame_equals },
	{ "str", frame_str }, { "put", frame_put }, { "fill", frame_fill },
	{ "reply", frame_reply_of }, { "send", frame_send },
	{ "set_source", frame_set_source }, { "set_destination", frame_set_destination },
	{ "vlan", frame_vlan },
	{ NULL, NULL },
};

static const luaL_Reg port_functions[] = {
	{ "receive", port_receive }, { "flush", port_flush }, { "keep", port_keep },
	{ "copyout", port_copyout }, { "reply", port_reply }, { "build", port_build },
	{ NULL, NULL },
};

/* port[i] -> frame; or one of the port's methods, in the table that is upvalue 1 */
static int port_index(lua_State *L)
{
	long i;

	port_at(L, 1);
	if (lua_type(L, 2) == LUA_TNUMBER && to_long(L, 2, &i) && i >= 1 && i <= FRAMES_MAX) {
		push_view(L, i);
		return 1;
	}
	lua_settop(L, 2);
	lua_rawget(L, lua_upvalueindex(1));
	return 1;
}

/* -- Opening ----------------------------------------------------------------------------------- */

#define PORTS	"net.frames"

/* Hides the metatable on the top of the stack from scripts. */
static void hide(lua_State *L, const char *name)
{
	lua_pushstring(L, name);
	lua_setfield(L, -2, "__metatable");
}

/* frames_quick.c: adds compiled code's variants of the methods in the table on the stack's top. */
static void set_quick(lua_State *L);

/* Called when libraries are opened, because compiled functions rely on the methods. */
static void open_frames(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
	lua_createtable(L, 0, 2);
	lua_newtable(L);
	luaL_register(L, NULL, frame_functions);
	set_quick(L);
	frame_methods = hvalue(L->top - 1);
	lua_setfield(L, -2, "__index");
	hide(L, "frame");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
}

/* Creates the table of ports by number, once for each script, and pushes it. */
static void push_ports(lua_State *L)
{
	lua_getfield(L, LUA_REGISTRYINDEX, PORTS);
	if (!lua_isnil(L, -1))
		return;
	lua_pop(L, 1);
	lua_createtable(L, FRAMES_PORTS, 2);
	lua_createtable(L, 0, 2);
	lua_newtable(L);
	luaL_register(L, NULL, port_functions);
	port_methods = hvalue(L->top - 1);
	lua_pushcclosure(L, port_index, 1);
	lua_setfield(L, -2, "__index");
	hide(L, "port");
	port_meta = hvalue(L->top - 1);
	lua_setfield(L, -2, "port");
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, PORTS);
}

/* The index of the descriptor's port, or a free one; -1 if there are too many. */
static int find_port(int fd)
{
	int i;

	for (i = 0; i < FRAMES_PORTS && ports[i]; i++)
		if (ports[i]->fd == fd)
			return i;
	return i < FRAMES_PORTS ? i : -1;
}

/* Pushes a new port, and stores it in the table below. */
static struct port *new_port(lua_State *L, unsigned int i, int fd)
{
	struct port *port = (struct port *)get_memory(L, sizeof(*port));

	memset(port, 0, sizeof(*port));
	port->fd = fd;
	port->index = i;
	settle(port);
	*(unsigned int *)lua_newuserdata(L, sizeof(i)) = i;
	uvalue(L->top - 1)->metatable = port_meta;
	lua_pushvalue(L, -1);
	lua_rawseti(L, -3, i + 1);
	return port;
}

/* Checks argument @i: none, true, or "unfiltered". */
static unsigned int check_take(lua_State *L, int i)
{
	if (!lua_toboolean(L, i))
		return FRAMES_LEAVE;
	if (lua_type(L, i) != LUA_TSTRING)
		return FRAMES_TAKE;
	if (strcmp(lua_tostring(L, i), "unfiltered"))
		luaL_argerror(L, i, "true or \"unfiltered\" expected");
	return FRAMES_TAKE_UNFILTERED;
}

/* net.frames(fd [, all [, take]]) -> port */
static int net_frames(lua_State *L)
{
	long fd = check_long(L, 1), number;
	struct image_batch_open call = { as_fd(fd), check_take(L, 3), lua_toboolean(L, 2) };
	int i = find_port(call.fd);
	struct port *port;

	know();
	number = i < 0 ? -EMFILE : runtime_batch(IMAGE_BATCH_FRAMES_OPEN, &call);
	if (number < 0)
		return luaL_error(L, "descriptor %d: %s", fd, frames_open_text(number));
	push_ports(L);
	port = ports[i];
	if (port)
		lua_rawgeti(L, -1, i + 1);
	else
		port = new_port(L, i, call.fd);
	port->all = call.all;
	port->take = call.take;
	number_port(port, number);
	if (!ports[i]) {
		ports[i] = port;
		learn(port);
	}
	return 1;
}
