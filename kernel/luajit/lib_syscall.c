/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * syscall.NAME(...): the system calls of syscalls.def, and the tables errno
 * and const of the numbers that they take and give.
 *
 * Each NAME becomes a function when a script first asks for it, so that a new
 * VM costs nothing for the hundreds that it does not use.
 */
#define lib_syscall_c
#define LUA_LIB

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_str.h"
#include "lj_tab.h"
#include "lj_lib.h"
#include "lj_ff.h"

#include "lib.h"
#include "lib_ircall.h"

/* -- Calls ----------------------------------------------------------------- */

const char *const vm_syscall_kinds[] = {
#define SYSCALL(name, kinds, flags)	kinds,
#include "../syscalls.def"
};

static const char *const syscall_names[] = {
#define SYSCALL(name, kinds, flags)	#name,
#include "../syscalls.def"
};

static const struct { const char *name, *reason; } syscall_left_out[] = {
#define SYSCALL_LEFT_OUT(name, reason)	{ #name, reason },
#include "../syscalls.def"
};

#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

/* The call's result; 0 from a watched task is never seen, for this throws. */
static LJ_AINLINE double dosyscall(lua_State *L, int index, const long *args)
{
  return (double)vm_called(L, port_syscall(G2VM(G(L)), (unsigned int)index, args));
}

double vm_syscall0(lua_State *L, int index)
{
  static const long none[6];
  return dosyscall(L, index, none);
}

double vm_syscall3(lua_State *L, int index, double a, double b, double c)
{
  long args[6];
  args[3] = args[4] = args[5] = 0;
  if (vm_isint(a, &args[0]) && vm_isint(b, &args[1]) && vm_isint(c, &args[2]))
    return dosyscall(L, index, args);
  return VM_NAN;
}

double vm_syscall6(lua_State *L, int index, double a, double b, double c,
		   double d, double e, double f)
{
  long args[6];
  if (vm_isint(a, &args[0]) && vm_isint(b, &args[1]) &&
      vm_isint(c, &args[2]) && vm_isint(d, &args[3]) &&
      vm_isint(e, &args[4]) && vm_isint(f, &args[5]))
    return dosyscall(L, index, args);
  return VM_NAN;
}

double vm_syscall_string(lua_State *L, GCstr *s, int first)
{
  struct vm *vm = G2VM(G(L));
  unsigned long base = vm_scratch(L), addr;
  if (first)
    vm->strings_used = 0;
  if (!base || s->len >= VM_SCRATCH_STRINGS - vm->strings_used)
    return VM_NAN;
  addr = base + VM_SCRATCH_SIZE - VM_SCRATCH_STRINGS + vm->strings_used;
  if (port_copy_out(vm, addr, strdata(s), s->len + 1))
    return VM_NAN;
  vm->strings_used += (s->len + 8) & ~7u;
  return (double)addr;
}

#define LJLIB_MODULE_syscall

LJLIB_NOREG LJLIB_CF(syscall_call)	LJLIB_REC(.)
{
  int index = (int)numV(&curr_func(L)->c.upvalue[0]);
  const char *kinds = vm_syscall_kinds[index];
  int i, strings = 0, nargs = (int)(L->top - L->base);
  long args[6] = { 0 };
  for (i = 0; kinds[i] != '\0' && i < nargs; i++) {
    TValue *o = &L->base[i];
    if (tvisnum(o)) {
      args[i] = vm_toint(L, numV(o));
    } else if (tvisstr(o) && kinds[i] == 's') {
      if (!vm_isint(vm_syscall_string(L, strV(o), strings++ == 0), &args[i]))
	luaL_error(L, "no room for a string of %d bytes in the script's buffer",
		   (int)strV(o)->len);
    } else if (!tvisnil(o)) {
      lj_err_argt(L, i + 1, LUA_TNUMBER);
    }
  }
  if (i < nargs)
    luaL_error(L, "%s takes %d arguments, got %d", syscall_names[index], i,
	       nargs);
  setnumV(L->top, dosyscall(L, index, args));
  L->top++;
  return 1;
}

#include "lj_libdef.h"

/* -- Names ----------------------------------------------------------------- */

/* Index of @name in a table of @n rows of @size bytes that begin with their
** names, sorted; or -1.
*/
static int lookup(const void *rows, int n, size_t size, const char *name)
{
  int lo = 0, hi = n - 1;
  while (lo <= hi) {
    int mid = (lo + hi) / 2;
    int cmp = strcmp(name, *(const char *const *)((const char *)rows +
						  (size_t)mid * size));
    if (cmp == 0)
      return mid;
    if (cmp < 0)
      hi = mid - 1;
    else
      lo = mid + 1;
  }
  return -1;
}

/* (table, name) -> the value on top, which the table keeps from now on. */
static int remember(lua_State *L)
{
  lj_lib_checktab(L, 1);  /* A script may call __index itself. */
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static int syscall_index(lua_State *L)
{
  const char *name = luaL_checkstring(L, 2);
  int i = lookup(syscall_names, ARRAY_SIZE(syscall_names),
		 sizeof(syscall_names[0]), name);
  if (i >= 0) {
    lua_pushnumber(L, i);
    lj_lib_pushcc(L, lj_cf_syscall_call, FF_syscall_call, 1);
    return remember(L);
  }
  i = lookup(syscall_left_out, ARRAY_SIZE(syscall_left_out),
	     sizeof(syscall_left_out[0]), name);
  if (i >= 0)
    return luaL_error(L, "system call '%s' is not for scripts: %s", name,
		      syscall_left_out[i].reason);
  return luaL_error(L, "no system call '%s'", name);
}

struct constant {
  const char *name;
  double value;
};

static const struct constant errno_names[] = {
#define ERRNO(name, value)	{ #name, (double)(value) },
#include "constants.inc"
};

static const struct constant const_names[] = {
#define CONSTANT(name, value)	{ #name, (double)(value) },
#include "constants.inc"
};

static int constant_index(lua_State *L, const struct constant *rows, int n)
{
  const char *name = luaL_checkstring(L, 2);
  int i = lookup(rows, n, sizeof(rows[0]), name);
  if (i < 0)
    return luaL_error(L, "no constant '%s'", name);
  lua_pushnumber(L, rows[i].value);
  return remember(L);
}

static int errno_index(lua_State *L)
{
  return constant_index(L, errno_names, ARRAY_SIZE(errno_names));
}

static int const_index(lua_State *L)
{
  return constant_index(L, const_names, ARRAY_SIZE(const_names));
}

/* A global table whose fields come from @index when first asked for. */
static void lazytable(lua_State *L, const char *name, lua_CFunction index)
{
  lua_createtable(L, 0, 8);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setglobal(L, name);
}

void vm_open_syscall(lua_State *L)
{
  lazytable(L, "syscall", syscall_index);
  lazytable(L, "errno", errno_index);
  lazytable(L, "const", const_index);
}
