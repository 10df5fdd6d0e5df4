/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * net.frames: batches of frames of a network device, see ../net/frames.h.
 *
 * A port and the views of its frames are userdata. A view belongs to an index and a batch: it
 * points to memory that lives as long as the program, and which says whether there is a frame,
 * and of which batch. Each index has one view in a batch, made when a script first accesses it.
 * Views are in the port's environment, with the methods, and indexing a port looks there.
 *
 * Both have their own types of userdata, so the compiler can treat their metatables as constants;
 * scripts can neither create such userdata nor access the metatables.
 */
#define lib_frames_c
#define LUA_LIB

#include <errno.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_str.h"
#include "lj_tab.h"
#include "lj_udata.h"
#include "lj_lib.h"

#include "net/frames.h"
#include "lib.h"
#include "lib_ircall.h"

struct view {
  struct frame *frame;
  struct frames *frames;  /* The port of the frame. */
  unsigned long batch;    /* The batch of the frame. */
};

static struct view *viewof(GCudata *ud)
{
  return (struct view *)uddata(ud);
}

static int iscurrent(const struct view *view)
{
  return view->batch == view->frames->batch;
}

/* NULL if there is no frame, or a frame of a later receive. */
static struct frame *frameof(GCudata *ud)
{
  static struct frame none;
  struct view *view = viewof(ud);
  return iscurrent(view) ? view->frame : &none;
}

static struct frames *framesof(GCudata *ud)
{
  return *(struct frames **)uddata(ud);
}

/* -- Called by compiled code ----------------------------------------------- */

/* An offset or a length; invalid values become larger than any frame. */
static unsigned long span(double d)
{
  long i;
  return vm_isint(d, &i) && i >= 0 ? (unsigned long)i : ~0UL;
}

static unsigned char *at(GCudata *ud, double off, unsigned long n)
{
  struct frame *frame = frameof(ud);
  return frame_at(frame, span(off), n, frame->len);
}

double vm_frame_load(lua_State *L, GCudata *ud, double off, int kind)
{
  unsigned char *p = at(ud, off, vm_kind_size(kind));
  UNUSED(L);
  return p ? vm_getscalar(p, kind) : VM_NAN;
}

int vm_frame_store(lua_State *L, GCudata *ud, double off, int kind, double value)
{
  unsigned char *p = at(ud, off, vm_kind_size(kind));
  UNUSED(L);
  return p && vm_putscalar(p, kind, value);
}

int vm_frame_udp(lua_State *L, GCudata *ud)
{
  struct frame *frame = frameof(ud);
  UNUSED(L);
  return frame->data ? frame_udp(frame) : -2;
}

int vm_frame_headers(lua_State *L, GCudata *ud)
{
  struct frame *frame = frameof(ud);
  UNUSED(L);
  return frame->data ? frame_headers(frame) : -2;
}

int vm_frame_copyout(lua_State *L, GCudata *ud, double off, double n, double addr)
{
  unsigned char *p = at(ud, off, span(n));
  long to;
  return p && vm_isint(addr, &to) &&
	 !usermem_copy_out(G2RUN(G(L)), (unsigned long)to, p, (unsigned long)n);
}

double vm_frame_ports(lua_State *L, GCudata *ud)
{
  struct frame *frame = frameof(ud);
  UNUSED(L);
  return frame->data && frame->udp ? (double)frame_ports(frame) : VM_NAN;
}

double vm_frame_len(lua_State *L, GCudata *ud)
{
  struct frame *frame = frameof(ud);
  UNUSED(L);
  return frame->data ? (double)frame->len : VM_NAN;
}

/* -1 if the byte does not occur. */
double vm_frame_find(lua_State *L, GCudata *ud, double byte, double off)
{
  unsigned char *p = at(ud, off, 0), *found;
  unsigned long b = span(byte);
  struct frame *frame = frameof(ud);
  UNUSED(L);
  if (!p || b > 255)
    return VM_NAN;
  found = memchr(p, (int)b, frame->len - (unsigned long)(p - frame->data));
  return found ? (double)(found - frame->data) : -1;
}

int vm_frame_equals(lua_State *L, GCudata *ud, double off, GCstr *s)
{
  unsigned char *p = at(ud, off, s->len);
  UNUSED(L);
  return frameof(ud)->data ? p && !memcmp(p, strdata(s), s->len) : -1;
}

GCstr *vm_frame_str(lua_State *L, GCudata *ud, double off, double n)
{
  unsigned char *p = at(ud, off, span(n));
  return p ? lj_str_new(L, (const char *)p, (size_t)n) : NULL;
}

/* The address of bytes that may extend beyond the frame's end. */
static LJ_AINLINE unsigned char *reserve(lua_State *L, struct frames *frames, struct frame *frame,
			      unsigned long off, unsigned long n)
{
  if (!frame->data || off > FRAME_MAX || n > FRAME_MAX)
    return NULL;
  if (off + n > frame->room &&
      vm_called(L, frames_grow(G2RUN(G(L)), frames, frame, (unsigned int)(off + n))))
    return NULL;
  return frame_at(frame, off, n, frame->room);
}

/* Extends the frame, and clears bytes that were never written. */
static void lengthen(struct frame *frame, unsigned long off, unsigned long n)
{
  if (off + n <= frame->len)
    return;
  if (off > frame->len)
    memset(frame->data + frame->len, 0, off - frame->len);
  frame->len = (unsigned int)(off + n);
}

static unsigned char *extend(lua_State *L, GCudata *ud, double doff, unsigned long n)
{
  struct frame *frame = frameof(ud);
  unsigned long off = span(doff);
  unsigned char *p = reserve(L, viewof(ud)->frames, frame, off, n);
  if (p)
    lengthen(frame, off, n);
  return p;
}

int vm_frame_put(lua_State *L, GCudata *ud, double off, GCstr *s)
{
  unsigned char *p = extend(L, ud, off, s->len);
  if (p)
    memcpy(p, strdata(s), s->len);
  return p != NULL;
}

int vm_frame_fill(lua_State *L, GCudata *ud, double off, double byte, double n)
{
  unsigned long b = span(byte);
  unsigned char *p = b > 255 ? NULL : extend(L, ud, off, span(n));
  if (p)
    memset(p, (int)b, (size_t)n);
  return p != NULL;
}

/* All three return 1; 0 if there is no such frame; -1 if no more frames can be queued. */

int vm_frame_reply(lua_State *L, GCudata *ud, double len)
{
  struct frames *frames = viewof(ud)->frames;
  struct frame *frame = frameof(ud);
  unsigned long n = span(len);
  UNUSED(L);
  if (!frames_may_queue(frames))
    return -1;
  if (!frame->data || n > FRAME_MAX || !frame_reply(frame, (unsigned int)n))
    return 0;
  frames_queue(frames, frame);
  return 1;
}

int vm_frame_send(lua_State *L, GCudata *ud, GCudata *port)
{
  struct frames *to = port ? framesof(port) : viewof(ud)->frames;
  struct frame *frame = frameof(ud);
  UNUSED(L);
  if (!frames_may_queue(to))
    return -1;
  if (!frame->data)
    return 0;
  frames_queue(to, frame);
  return 1;
}

int vm_frame_readdress(lua_State *L, GCudata *ud, int from, GCstr *address, double port)
{
  struct frame *frame = frameof(ud);
  unsigned long p = span(port);
  UNUSED(L);
  return frame->data && p <= 65535 &&
	 frame_readdress(frame, from, (const unsigned char *)strdata(address), address->len,
			 (unsigned int)p);
}

double vm_port_receive(lua_State *L, GCudata *ud, double max, double timeout, double enough,
		       double hold)
{
  struct frames_wait wait;
  long m, t, e, h;
  if (!vm_isint(max, &m) || !vm_isint(timeout, &t) || !vm_isint(enough, &e) ||
      !vm_isint(hold, &h) || m < 1 || m > FRAMES_MAX || t < -1 || t > FRAMES_TIMEOUT_MAX ||
      e < 1 || e > FRAMES_MAX || h < 0 || h > FRAMES_HOLD_MAX)
    return VM_NAN;
  wait.max = (unsigned int)m;
  wait.timeout = (int)t;
  wait.enough = (unsigned int)e;
  wait.hold = (unsigned int)h;
  return (double)vm_called(L, frames_receive(G2RUN(G(L)), framesof(ud), &wait));
}

double vm_port_flush(lua_State *L, GCudata *ud)
{
  return (double)vm_called(L, frames_flush(G2RUN(G(L)), framesof(ud)));
}

int vm_port_keep(lua_State *L, GCudata *ud)
{
  UNUSED(L);
  framesof(ud)->keep = 1;
  return 1;
}

/* Sets @slot to the first slot in memory of the process. */
static int isslot(double addr, double size, struct frames_slot *slot)
{
  long at, room;
  if (!vm_isint(addr, &at) || !vm_isint(size, &room) || room < FRAMES_SLOT_HEAD ||
      room > FRAMES_SLOT_MAX)
    return 0;
  slot->addr = (unsigned long)at;
  slot->size = (unsigned int)room;
  return 1;
}

/* The number of datagrams; NaN for bad arguments and addresses. */
double vm_port_copyout(lua_State *L, GCudata *ud, double addr, double size, int headers)
{
  struct frames *frames = framesof(ud);
  struct frames_slot slot;
  unsigned int i, n = 0;
  int done;
  if (!isslot(addr, size, &slot))
    return VM_NAN;
  for (i = 0; i < frames->n; i++) {
    lj_safepoint(L);
    done = frames_put_slot(G2RUN(G(L)), frames, i, &slot, headers);
    if (done < 0)
      return VM_NAN;
    if (done)
      slot.addr += slot.size;
    n += (unsigned int)done;
  }
  return n;
}

double vm_port_reply(lua_State *L, GCudata *ud, double addr, double size, double count)
{
  unsigned long i, n = span(count);
  struct frames_slot slot;
  double answered = 0;
  unsigned int place;
  int done;
  if (!isslot(addr, size, &slot) || n > FRAMES_MAX)
    return VM_NAN;
  for (i = 0; i < n; i++, slot.addr += slot.size) {
    lj_safepoint(L);
    done = (int)vm_called(L, frames_take_slot(G2RUN(G(L)), framesof(ud), &slot, &place));
    if (done < 0)
      return VM_NAN;
    answered += done;
  }
  return answered;
}

static GCudata *newview(lua_State *L, GCudata *port, unsigned long i)
{
  GCtab *members = tabref(port->env);
  GCudata *ud = lj_udata_new(L, sizeof(struct view), members);
  struct view *view = viewof(ud);
  view->frames = framesof(port);
  view->frame = &view->frames->in[i - 1];
  view->batch = view->frames->batch;
  ud->udtype = VM_UD_FRAME;
  setgcref(ud->metatable, obj2gco(tabV(lj_tab_getint(members, 0))));
  setudataV(L, lj_tab_setint(L, members, (int32_t)i), ud);
  lj_gc_anybarriert(L, members);
  return ud;
}

/* The view of the frame at an index, or NULL. */
GCudata *vm_port_view(lua_State *L, GCudata *ud, double place)
{
  unsigned long i = span(place);
  cTValue *o;
  if (i < 1 || i > FRAMES_MAX)
    return NULL;
  o = lj_tab_getint(tabref(ud->env), (int32_t)i);
  if (o && tvisudata(o) && iscurrent(viewof(udataV(o))))
    return udataV(o);
  return newview(L, ud, i);
}

/* -- Frames ---------------------------------------------------------------- */

#define LJLIB_MODULE_frame

static GCudata *checkkind(lua_State *L, int narg, int kind, const char *name)
{
  TValue *o = L->base + narg - 1;
  if (o >= L->top || !tvisudata(o) || udataV(o)->udtype != kind)
    lj_err_argtype(L, narg, name);
  return udataV(o);
}

static GCudata *checkframe(lua_State *L)
{
  GCudata *ud = checkkind(L, 1, VM_UD_FRAME, "frame");
  if (!frameof(ud)->data)
    luaL_error(L, "no frame here: it was sent, or dropped by a later receive");
  return ud;
}

/* Argument @narg in the form that compiled code passes. */
static double number(lua_State *L, int narg)
{
  return (double)vm_checkint(L, narg);
}

static LJ_NORET void outside(lua_State *L, GCudata *ud)
{
  luaL_error(L, "not within the frame's %d bytes", (int)frameof(ud)->len);
  __builtin_unreachable();
}

/* frame:len() -> bytes */
LJLIB_CF(frame_len)		LJLIB_REC(.)
{
  lua_pushnumber(L, vm_frame_len(L, checkframe(L)));
  return 1;
}

static int load(lua_State *L, int kind)
{
  GCudata *ud = checkframe(L);
  double off = number(L, 2), v = vm_frame_load(L, ud, off, kind);
  if (v != v && at(ud, off, vm_kind_size(kind)))
    luaL_error(L, "value at %d does not fit a number", (int)off);
  if (v != v)
    outside(L, ud);
  lua_pushnumber(L, v);
  return 1;
}

/* frame:peek(off [, kind]) -> value, as util.peek() */
LJLIB_CF(frame_peek)		LJLIB_REC(.)
{
  return load(L, vm_checkkind(L, 3));
}

/* frame:u1(off), u2, u4 -> value, in the byte order of the network */
LJLIB_CF(frame_u1)		LJLIB_REC(frame_load VM_U1)
{
  return load(L, VM_U1);
}

LJLIB_CF(frame_u2)		LJLIB_REC(frame_load VM_B2)
{
  return load(L, VM_B2);
}

LJLIB_CF(frame_u4)		LJLIB_REC(frame_load VM_B4)
{
  return load(L, VM_B4);
}

static void store(lua_State *L, int kind, int narg)
{
  GCudata *ud = checkframe(L);
  double off = number(L, 2), value = lj_lib_checknum(L, narg);
  uint64_t buf;
  if (!vm_putscalar(&buf, kind, value))
    lj_err_arg(L, narg, LJ_ERR_NUMRNG);
  if (!vm_frame_store(L, ud, off, kind, value))
    outside(L, ud);
}

/* frame:poke(off, kind, value), as util.poke() */
LJLIB_CF(frame_poke)		LJLIB_REC(.)
{
  store(L, vm_checkkind(L, 3), 4);
  return 0;
}

static int storeunsigned(lua_State *L, int kind)
{
  checkframe(L);
  vm_checkrange(L, 3, 0, VM_INT_MAX);
  store(L, kind, 3);
  return 0;
}

/* frame:put1(off, value), put2, put4 */
LJLIB_CF(frame_put1)		LJLIB_REC(frame_store VM_U1)
{
  return storeunsigned(L, VM_U1);
}

LJLIB_CF(frame_put2)		LJLIB_REC(frame_store VM_B2)
{
  return storeunsigned(L, VM_B2);
}

LJLIB_CF(frame_put4)		LJLIB_REC(frame_store VM_B4)
{
  return storeunsigned(L, VM_B4);
}

/* frame:udp() -> offset and length of the payload, or nil */
LJLIB_CF(frame_udp)		LJLIB_REC(.)
{
  int found = vm_frame_udp(L, checkframe(L));
  if (found < 0) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushnumber(L, found & 255);
  lua_pushnumber(L, found >> 8);
  return 2;
}

/* frame:headers() -> offset of what follows them, or nil */
LJLIB_CF(frame_headers)		LJLIB_REC(.)
{
  int found = vm_frame_headers(L, checkframe(L));
  if (found < 0)
    lua_pushnil(L);
  else
    lua_pushnumber(L, found);
  return 1;
}

/* frame:copyout(off, n, addr) */
LJLIB_CF(frame_copyout)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  double off = number(L, 2), n = number(L, 3), addr = number(L, 4);
  if (!at(ud, off, span(n)))
    outside(L, ud);
  if (!vm_frame_copyout(L, ud, off, n, addr))
    vm_badaddr(L, (unsigned long)(long)addr);
  return 0;
}

/* frame:ports() -> source, destination */
LJLIB_CF(frame_ports)		LJLIB_REC(.)
{
  double ports = vm_frame_ports(L, checkframe(L));
  if (ports != ports)
    luaL_error(L, "udp() has found no datagram here");
  lua_pushnumber(L, (double)((uint32_t)ports >> 16));
  lua_pushnumber(L, (double)((uint32_t)ports & 0xffff));
  return 2;
}

/* frame:find(byte [, off]) -> offset or nil */
LJLIB_CF(frame_find)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  double byte = (double)vm_checkrange(L, 2, 0, 255), found;
  found = vm_frame_find(L, ud, byte, (double)vm_optint(L, 3, 0));
  if (found != found)
    outside(L, ud);
  if (found < 0)
    lua_pushnil(L);
  else
    lua_pushnumber(L, found);
  return 1;
}

/* frame:equals(off, s) -> are the bytes there those of s? */
LJLIB_CF(frame_equals)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  lua_pushboolean(L, vm_frame_equals(L, ud, number(L, 2), lj_lib_checkstr(L, 3)));
  return 1;
}

/* frame:str(off, n) -> string */
LJLIB_CF(frame_str)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  GCstr *s = vm_frame_str(L, ud, number(L, 2), number(L, 3));
  if (!s)
    outside(L, ud);
  setstrV(L, L->top++, s);
  lj_gc_check(L);
  return 1;
}

static LJ_NORET void noroom(lua_State *L)
{
  luaL_error(L, "no room: a frame has up to %d bytes, and its socket's buffer a limit",
	     FRAME_MAX);
  __builtin_unreachable();
}

/* frame:put(off, s): the frame ends after it, if it did not end later */
LJLIB_CF(frame_put)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  double off = number(L, 2);
  if (!vm_frame_put(L, ud, off, lj_lib_checkstr(L, 3)))
    noroom(L);
  return 0;
}

/* frame:fill(off, byte, n), likewise */
LJLIB_CF(frame_fill)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  double off = number(L, 2), byte = (double)vm_checkrange(L, 3, 0, 255);
  if (!vm_frame_fill(L, ud, off, byte, number(L, 4)))
    noroom(L);
  return 0;
}

static int queued(lua_State *L, int done, const char *wrong)
{
  if (!done)
    luaL_error(L, "%s", wrong);
  lua_pushboolean(L, done > 0);
  return 1;
}

/* frame:reply(len) -> is there a place for it? */
LJLIB_CF(frame_reply)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  return queued(L, vm_frame_reply(L, ud, number(L, 2)),
		"udp() has found no datagram here, or its payload is shorter");
}

static GCudata *portof(lua_State *L, int narg);

/* frame:send([port]) -> likewise */
LJLIB_CF(frame_send)		LJLIB_REC(.)
{
  GCudata *ud = checkframe(L);
  GCudata *port = L->base+1 < L->top && !tvisnil(L->base+1) ? portof(L, 2) : NULL;
  return queued(L, vm_frame_send(L, ud, port), "");
}

static int readdress(lua_State *L, int from)
{
  GCudata *ud = checkframe(L);
  GCstr *address = lj_lib_checkstr(L, 2);
  if (!vm_frame_readdress(L, ud, from, address, (double)vm_checkrange(L, 3, 0, 65535)))
    luaL_error(L, "udp() has found no datagram here, or its addresses have a different length");
  return 0;
}

/* frame:set_source(address, port), frame:set_destination(address, port) */
LJLIB_CF(frame_set_source)	LJLIB_REC(frame_readdress 1)
{
  return readdress(L, 1);
}

LJLIB_CF(frame_set_destination)	LJLIB_REC(frame_readdress 0)
{
  return readdress(L, 0);
}

/* frame:vlan() -> protocol and tag, or nil */
LJLIB_CF(frame_vlan)
{
  unsigned int vlan = frameof(checkframe(L))->vlan;
  if (!vlan) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushnumber(L, vlan >> 16);
  lua_pushnumber(L, vlan & 0xffff);
  return 2;
}

/* -- Ports ----------------------------------------------------------------- */

#define LJLIB_MODULE_port

static GCudata *portof(lua_State *L, int narg)
{
  return checkkind(L, narg, VM_UD_PORT, "port");
}

/* port:receive([max [, timeout [, enough [, hold]]]]) -> count or -errno */
LJLIB_CF(port_receive)		LJLIB_REC(.)
{
  GCudata *ud = portof(L, 1);
  double ret = vm_port_receive(L, ud, (double)vm_optint(L, 2, FRAMES_MAX),
			       (double)vm_optint(L, 3, -1), (double)vm_optint(L, 4, 1),
			       (double)vm_optint(L, 5, 0));
  if (ret != ret)
    luaL_error(L, "out of range: 1 to %d frames, -1 to 1e9 ms, a hold of 0 to 1e6 us", FRAMES_MAX);
  lua_pushnumber(L, ret);
  return 1;
}

/* port:flush() -> count or -errno */
LJLIB_CF(port_flush)		LJLIB_REC(.)
{
  lua_pushnumber(L, vm_port_flush(L, portof(L, 1)));
  return 1;
}

/* port:keep(): keeps the frames of the last receive beyond this call. */
LJLIB_CF(port_keep)		LJLIB_REC(.)
{
  vm_port_keep(L, portof(L, 1));
  return 0;
}

static int slots(lua_State *L, double done)
{
  if (done != done)
    luaL_error(L, "bad address, or no slots of %d to %d bytes", FRAMES_SLOT_HEAD, FRAMES_SLOT_MAX);
  lua_pushnumber(L, done);
  return 1;
}

/* port:copyout(addr, size [, headers]) -> count */
LJLIB_CF(port_copyout)		LJLIB_REC(.)
{
  GCudata *ud = portof(L, 1);
  double addr = number(L, 2), size = number(L, 3);
  TValue *headers = L->base + 3;
  return slots(L, vm_port_copyout(L, ud, addr, size,
				  headers < L->top && tvistruecond(headers)));
}

/* port:reply(addr, size, n) -> count */
LJLIB_CF(port_reply)		LJLIB_REC(.)
{
  GCudata *ud = portof(L, 1);
  double addr = number(L, 2), size = number(L, 3);
  return slots(L, vm_port_reply(L, ud, addr, size, (double)vm_checkrange(L, 4, 0, FRAMES_MAX)));
}

/* Makes a frame with room for @n bytes; NULL with the reason in @err. */
static GCudata *newframe(lua_State *L, GCudata *ud, unsigned long n, long *err)
{
  *err = n > FRAME_MAX ? -EMSGSIZE :
	 vm_called(L, frames_build(G2RUN(G(L)), framesof(ud), (unsigned int)n));
  return *err < 0 ? NULL : vm_port_view(L, ud, (double)*err + 1);
}

/* Makes a frame of @n bytes from user memory at @addr; NULL if that fails. */
GCudata *vm_port_build(lua_State *L, GCudata *ud, double addr, double n)
{
  unsigned long len = span(n);
  long from, err;
  GCudata *view;
  struct frame *frame;
  if (!vm_isint(addr, &from) || !(view = newframe(L, ud, len, &err)))
    return NULL;
  frame = frameof(view);
  if (usermem_copy_in(G2RUN(G(L)), frame->data, (unsigned long)from, len))
    return NULL;
  frame->len = (unsigned int)len;
  return view;
}

static GCudata *buildfrom(lua_State *L, GCudata *ud, long *err)
{
  TValue *s = L->base + 1;
  GCudata *view;
  if (s < L->top && tvisstr(s)) {
    view = newframe(L, ud, strV(s)->len, err);
    if (view)
      vm_frame_put(L, view, 0, strV(s));
    return view;
  }
  /* Nothing was sent: repeats the call to find the reason. */
  view = vm_port_build(L, ud, number(L, 2), number(L, 3));
  if (!view && newframe(L, ud, span(number(L, 3)), err))
    vm_badaddr(L, (unsigned long)(long)number(L, 2));
  return view;
}

/* port:build(s), port:build(addr, n) -> frame, or nil and -errno */
LJLIB_CF(port_build)		LJLIB_REC(.)
{
  long err = 0;
  GCudata *view = buildfrom(L, portof(L, 1), &err);
  if (!view) {
    lua_pushnil(L);
    lua_pushnumber(L, (double)err);
    return 2;
  }
  setudataV(L, L->top++, view);
  lj_gc_check(L);
  return 1;
}

#define LJLIB_MODULE_port_meta

/* port[i] -> frame; port.receive and the like */
LJLIB_CF(port_meta___index)	LJLIB_REC(.)
{
  GCudata *ud = portof(L, 1), *view;
  TValue *key = L->base + 1;
  cTValue *member = niltv(L);
  if (key < L->top && tvisstr(key))
    member = lj_tab_get(L, tabref(ud->env), key);
  if (key < L->top && tvisnum(key) && (view = vm_port_view(L, ud, numV(key))) != NULL)
    setudataV(L, L->top++, view);
  else
    copyTV(L, L->top++, member);
  lj_gc_check(L);
  return 1;
}

/* -- Opening --------------------------------------------------------------- */

#include "lj_libdef.h"

#define METATABLES	"net.frames"

/* Stores the metatable on the stack's top in the table below, out of reach of scripts. */
static void addmetatable(lua_State *L, const char *name)
{
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
  lua_setfield(L, -2, name);
}

/* Makes, once per VM, { frame =, port =, methods =, [fd] = }, and leaves it on the stack. */
static void pushmetatables(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, METATABLES);
  if (!lua_isnil(L, -1))
    return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 3);
  lua_createtable(L, 0, 2);
  LJ_LIB_REG(L, NULL, frame);
  /* A metatable that is its own __index would appear as a member of itself. */
  lua_setfield(L, -2, "__index");
  addmetatable(L, "frame");
  LJ_LIB_REG(L, NULL, port_meta);
  addmetatable(L, "port");
  LJ_LIB_REG(L, NULL, port);
  lua_setfield(L, -2, "methods");
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, METATABLES);
}

/* A port's members: its methods, and at [0] the metatable of its frames. */
static void pushmembers(lua_State *L, int mt)
{
  lua_createtable(L, FRAMES_MAX, 4);
  lua_getfield(L, mt, "frame");
  lua_rawseti(L, -2, 0);
  lua_getfield(L, mt, "methods");
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
}

static void pushport(lua_State *L, struct frames *frames, int mt)
{
  *(struct frames **)lua_newuserdata(L, sizeof(frames)) = frames;
  udataV(L->top - 1)->udtype = VM_UD_PORT;
  pushmembers(L, mt);
  lua_setfenv(L, -2);
  lua_getfield(L, mt, "port");
  lua_setmetatable(L, -2);
}

/* Made once: a descriptor's port lives as long as the program. */
void vm_pushframes(lua_State *L, struct frames *frames)
{
  int mt;
  pushmetatables(L);
  mt = lua_gettop(L);
  lua_rawgeti(L, mt, frames->fd);
  if (!lua_isnil(L, -1))
    return;
  pushport(L, frames, mt);
  lua_pushvalue(L, -1);
  lua_rawseti(L, mt, frames->fd);
}
