/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions that compiled traces call directly, see lj_ircall.h.  All of them
 * take L first and have effects (S); some allocate (A), so that the trace
 * collects garbage.
 *
 * They raise no errors for bad arguments or addresses, because a trace does not know its line:
 * they return NaN, 0 or NULL, the trace exits, and the interpreter repeats the call and raises
 * the error.
 */
#ifndef SYSCRIPT_LIB_IRCALL_H
#define SYSCRIPT_LIB_IRCALL_H

#define SYSCRIPT_IRCALLDEF(_) \
  _(ANY,	vm_syscall_string,	3,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_peek,		3,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_poke,		4,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_pending,		1,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_copyin,		4,   A, TAB, CCI_L|CCI_T) \
  _(ANY,	vm_copyout,		5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_fill,		4,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_net_accept,	5,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_net_recv,		5,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_net_send,		6,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_frame_len,		2,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_frame_load,		4,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_frame_store,		5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_udp,		2,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_headers,	2,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_copyout,	5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_ports,		2,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_frame_find,		4,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_frame_equals,	4,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_str,		4,   A, STR, CCI_L|CCI_T) \
  _(ANY,	vm_frame_put,		4,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_fill,		5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_reply,		3,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_send,		3,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_frame_readdress,	5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_port_view,		3,   A, UDATA, CCI_L|CCI_T) \
  _(ANY,	vm_port_build,		4,   A, UDATA, CCI_L|CCI_T) \
  _(ANY,	vm_port_receive,	6,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_port_flush,		2,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_port_keep,		2,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_port_copyout,	5,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_port_reply,		5,   S, NUM, CCI_L|CCI_T)

struct GCstr;
struct GCtab;
struct GCudata;

/* The user address of a copy of @s; @first: it is the call's first string. */
double vm_syscall_string(struct lua_State *L, struct GCstr *s, int first);

/* One scalar of a kind in enum vm_kind. */
double vm_peek(struct lua_State *L, double addr, int kind);
int vm_poke(struct lua_State *L, double addr, int kind, double value);

/* Is a signal pending, for which the run should end? */
int vm_pending(struct lua_State *L);

/* An array of scalars from and to a table [1..n]. */
struct GCtab *vm_copyin(struct lua_State *L, double addr, double n, int kind);
int vm_copyout(struct lua_State *L, struct GCtab *t, double addr, double n,
	       int kind);

/* Sets @n bytes of user memory to @byte. */
int vm_fill(struct lua_State *L, double addr, double byte, double n);

/* A batch of connections. */
double vm_net_accept(struct lua_State *L, double fd, double addr, double n,
		     double flags);

/* A batch of messages; @ud holds a struct mmsg. */
double vm_net_recv(struct lua_State *L, double fd, struct GCudata *ud, double n,
		   double flags);
double vm_net_send(struct lua_State *L, double fd, double addr, double n,
		   double flags, struct GCudata *ud);

/*
 * lib_frames.c: @ud holds a struct view, or, for ports, a struct frames; @port is a port or NULL.
 * @kind is an enum vm_kind.  The ints are true on success, except that udp and headers return the
 * results of frame_udp() and frame_headers(), or -2 without a frame; equals returns -1 without a
 * frame; reply and send return -1 if no more frames can be queued.
 */
double vm_frame_len(struct lua_State *L, struct GCudata *ud);
double vm_frame_load(struct lua_State *L, struct GCudata *ud, double off, int kind);
int vm_frame_store(struct lua_State *L, struct GCudata *ud, double off, int kind,
		   double value);
int vm_frame_udp(struct lua_State *L, struct GCudata *ud);
int vm_frame_headers(struct lua_State *L, struct GCudata *ud);
int vm_frame_copyout(struct lua_State *L, struct GCudata *ud, double off, double n,
		     double addr);
double vm_frame_ports(struct lua_State *L, struct GCudata *ud);
double vm_frame_find(struct lua_State *L, struct GCudata *ud, double byte, double off);
int vm_frame_equals(struct lua_State *L, struct GCudata *ud, double off, struct GCstr *s);
struct GCstr *vm_frame_str(struct lua_State *L, struct GCudata *ud, double off, double n);
int vm_frame_put(struct lua_State *L, struct GCudata *ud, double off, struct GCstr *s);
int vm_frame_fill(struct lua_State *L, struct GCudata *ud, double off, double byte,
		  double n);
int vm_frame_reply(struct lua_State *L, struct GCudata *ud, double len);
int vm_frame_send(struct lua_State *L, struct GCudata *ud, struct GCudata *port);
int vm_frame_readdress(struct lua_State *L, struct GCudata *ud, int from,
		       struct GCstr *address, double port);
struct GCudata *vm_port_view(struct lua_State *L, struct GCudata *ud, double place);
struct GCudata *vm_port_build(struct lua_State *L, struct GCudata *ud, double addr,
			      double n);
double vm_port_receive(struct lua_State *L, struct GCudata *ud, double max, double timeout,
		       double enough, double hold);
double vm_port_flush(struct lua_State *L, struct GCudata *ud);
int vm_port_keep(struct lua_State *L, struct GCudata *ud);
double vm_port_copyout(struct lua_State *L, struct GCudata *ud, double addr, double size,
		       int headers);
double vm_port_reply(struct lua_State *L, struct GCudata *ud, double addr, double size,
		     double count);

#endif
