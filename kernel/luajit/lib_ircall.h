/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions that compiled traces call directly, see lj_ircall.h.  All of them
 * take L first and have effects (S); vm_copyin() allocates (A), so that the
 * trace collects garbage.
 *
 * None raises an error for bad arguments or addresses, because a trace does
 * not know its line: NaN, 0 or NULL makes the trace exit, and the interpreter
 * makes the call again and raises the error.
 */
#ifndef SYSCRIPT_LIB_IRCALL_H
#define SYSCRIPT_LIB_IRCALL_H

#define SYSCRIPT_IRCALLDEF(_) \
  _(ANY,	vm_syscall0,		2,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_syscall3,		5,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_syscall6,		8,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_syscall_string,	3,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_peek,		3,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_poke,		4,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_copyin,		4,   A, TAB, CCI_L|CCI_T) \
  _(ANY,	vm_copyout,		5,   S, INT, CCI_L|CCI_T) \
  _(ANY,	vm_net_recv,		5,   S, NUM, CCI_L|CCI_T) \
  _(ANY,	vm_net_send,		6,   S, NUM, CCI_L|CCI_T)

struct GCstr;
struct GCtab;
struct GCudata;

/* System call @index of syscalls.def. */
double vm_syscall0(struct lua_State *L, int index);
double vm_syscall3(struct lua_State *L, int index, double a, double b, double c);
double vm_syscall6(struct lua_State *L, int index, double a, double b, double c,
		   double d, double e, double f);

/* The user address of a copy of @s; @first of the call's arguments. */
double vm_syscall_string(struct lua_State *L, struct GCstr *s, int first);

/* One scalar of a kind in enum vm_kind. */
double vm_peek(struct lua_State *L, double addr, int kind);
int vm_poke(struct lua_State *L, double addr, int kind, double value);

/* An array of them from and to a table [1..n]. */
struct GCtab *vm_copyin(struct lua_State *L, double addr, double n, int kind);
int vm_copyout(struct lua_State *L, struct GCtab *t, double addr, double n,
	       int kind);

/* A batch of messages; @ud holds a struct mmsg. */
double vm_net_recv(struct lua_State *L, double fd, struct GCudata *ud, double n,
		   double flags);
double vm_net_send(struct lua_State *L, double fd, double addr, double n,
		   double flags, struct GCudata *ud);

#endif
