/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Declarations that the libraries of the VM layer share. */
#ifndef SYSCRIPT_LIB_H
#define SYSCRIPT_LIB_H

#include "lj_obj.h"
#include "lj_vm.h"

#include "../../include/uapi/syscript.h"
#include "usermem.h"

#define G2RUN(g)	(G2VM(g)->run)

#define VM_INT_MAX	SYSCRIPT_LUA_INT_MAX

/*
 * Memory layouts of a scalar: log2 of the size, whether it is signed, and whether it is in
 * network byte order.
 */
enum vm_kind { VM_U1, VM_U2, VM_U4, VM_U8, VM_I1, VM_I2, VM_I4, VM_I8,
	       VM_BIG = 8, VM_B2 = VM_BIG|VM_U2, VM_B4, VM_B8 };
#define vm_kind_size(kind)	(1u << ((kind) & 3))

/* "u1" .. "i8", "b2" .. "b8" -> enum vm_kind, or -1. */
int vm_kind(const GCstr *s);

/* The kind in argument @narg, or an error. */
int vm_checkkind(lua_State *L, int narg);

/* NaN if it has more bits than a number can hold; 0 if it does not fit. */
double vm_getscalar(const void *p, int kind);
int vm_putscalar(void *p, int kind, double value);

/* Argument kinds of each system call, and its name: see syscalls.def. */
extern const char *const vm_syscall_kinds[];
extern const char *const vm_syscall_names[];

/*
 * The address that compiled code calls, with run and the arguments.  If the result is
 * VM_LATE, compiled code is left, and the interpreter gets the true result.
 */
unsigned long vm_syscall_code(int index);
#define VM_LATE		((long)(-1UL << 63))

/* Index of system call @name in syscalls.def, or -1. */
int vm_syscall_find(const char *name);

/* The letter of a kind, and whether its argument may be omitted. */
#define vm_kind_letter(c)	((c) | 0x20)
#define vm_kind_optional(c)	(!((c) & 0x20))
#define vm_kind_address(c)	(vm_kind_letter(c) == 's' || vm_kind_letter(c) == 'p')

/*
 * Types of userdata: net.messages(), net.frames()'s port and frames.  Types other than 0 tell
 * the compiler that metatables do not change.
 */
enum vm_ud { VM_UD_MESSAGES = UDTYPE_USERDATA, VM_UD_PORT = UDTYPE__MAX, VM_UD_FRAME };

/* net.recv()'s default count: all messages that were imported. */
#define MMSG_ALL	(-1)

#define VM_NAN		((double)__builtin_nan(""))

/* Is it an integer within +-VM_INT_MAX? */
static LJ_AINLINE int vm_isint(double a, long *i)
{
  *i = (long)a;
  return (double)*i == a &&
	 (unsigned long)(*i + VM_INT_MAX) <= 2 * (unsigned long)VM_INT_MAX;
}

/* As above; raises an error if it is not. */
long vm_toint(lua_State *L, double a);

/* Can a number hold it? */
static LJ_AINLINE int vm_holds(long v)
{
  return (unsigned long)(v + VM_INT_MAX) <= 2 * (unsigned long)VM_INT_MAX;
}

/* Pushes it as a number if that holds it, or as a cdata, int64_t or uint64_t. */
void vm_pushlong(lua_State *L, long v);
void vm_pushulong(lua_State *L, unsigned long v);

/* Is it such a cdata?  There are no others. */
static LJ_AINLINE int vm_isint64(cTValue *o, long *v)
{
  if (!tviscdata(o))
    return 0;
  *v = *(const long *)cdataptr(cdataV(o));
  return 1;
}

LJ_NORET void vm_badaddr(lua_State *L, unsigned long addr);

/* The integer in argument @narg, which may be a string or a cdata; or an error. */
long vm_asint(lua_State *L, int narg);

/* As above, inline for numbers; vm_optint(): @def if the argument is absent or nil. */
static LJ_AINLINE long vm_checkint(lua_State *L, int narg)
{
  TValue *o = L->base + narg - 1;
  long i;
  if (LJ_LIKELY(o < L->top && tvisnum(o) && vm_isint(numV(o), &i)))
    return i;
  return vm_asint(L, narg);
}

static LJ_AINLINE long vm_optint(lua_State *L, int narg, long def)
{
  TValue *o = L->base + narg - 1;
  return o < L->top && !tvisnil(o) ? vm_checkint(L, narg) : def;
}

/* The integer in argument @narg, from @min to @max. */
long vm_checkrange(lua_State *L, int narg, long min, long max);

/*
 * Returns the result of a system call, or of a batch that replaces one. Does not return in a
 * script that has to end.
 */
static LJ_AINLINE long vm_called(lua_State *L, long ret)
{
  if (LJ_UNLIKELY(G2RUN(G(L))->stop_reason))
    lj_vm_poll(L);
  return ret;
}

/* The address of the script's own user memory, or 0. */
unsigned long vm_scratch(lua_State *L);
LJ_NORET void vm_noscratch(lua_State *L);

/* Pushes the userdata of the port @frames. */
struct frames;
void vm_pushframes(lua_State *L, struct frames *frames);

void vm_open_syscall(lua_State *L);
/* Removes libraries that the script may not use; called before it is loaded. */
void vm_refuse(lua_State *L);
void vm_open_util(lua_State *L);
void vm_open_net(lua_State *L);
void vm_open_fs(lua_State *L);

#endif
