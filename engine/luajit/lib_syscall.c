/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * syscall.NAME(...): the system calls of syscalls.def, and the tables errno and const of the
 * numbers that they take and return.
 *
 * Each NAME becomes a function when a script first uses it, so that a new VM does not pay for the
 * hundreds that it never uses.
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
#include "syscalls.def"
};

const char *const vm_syscall_names[] = {
#define SYSCALL(name, kinds, flags)	#name,
#include "syscalls.def"
};

static const struct { const char *name, *reason; } syscall_excluded[] = {
#define SYSCALL_EXCLUDED(name, reason)	{ #name, reason },
#include "syscalls.def"
};

#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

double vm_syscall_string(lua_State *L, GCstr *s, int first)
{
  struct vm *vm = G2VM(G(L));
  unsigned long base = vm_scratch(L), addr;
  if (first)
    vm->strings_used = 0;
  if (!base || s->len >= VM_SCRATCH_STRINGS - vm->strings_used)
    return VM_NAN;
  addr = base + SCRATCH_SIZE - VM_SCRATCH_STRINGS + vm->strings_used;
  if (usermem_copy_out(vm->run, addr, strdata(s), s->len + 1))
    return VM_NAN;
  vm->strings_used += (s->len + 8) & ~7u;
  return (double)addr;
}

#define LJLIB_MODULE_syscall

/* Checks the argument count. */
static LJ_NOINLINE void badcount(lua_State *L, int index, int nargs)
{
  const char *kinds = vm_syscall_kinds[index];
  int least = 0, most = (int)strlen(kinds);
  while (least < most && !vm_kind_optional(kinds[least]))
    least++;
  if (least < most)
    luaL_error(L, "%s takes %d to %d arguments, got %d",
	       vm_syscall_names[index], least, most, nargs);
  luaL_error(L, "%s takes %d argument%s, got %d", vm_syscall_names[index],
	     most, most == 1 ? "" : "s", nargs);
}

/* The value of an omitted argument; @before is the argument before it. */
static long omitted(lua_State *L, int index, char kind, cTValue *before)
{
  int nargs = (int)(L->top - L->base);
  if (vm_kind_letter(kind) == 'l' && before < L->top && tvisstr(before))
    return (long)strV(before)->len;
  if (kind == 'l' && before < L->top)
    luaL_error(L, "%s lacks argument #%d, a length: only that of a string may be omitted",
	       vm_syscall_names[index], nargs + 1);
  if (!vm_kind_optional(kind))
    badcount(L, index, nargs);
  return 0;
}

static long checkarg(lua_State *L, int narg, char kind, int *strings)
{
  cTValue *o = &L->base[narg - 1];
  long arg;
  if (tvistab(o) && vm_kind_address(kind)) {
    o = lj_tab_getint(tabV(o), 0);
    if (!o || !tvisnum(o))
      luaL_error(L, "bad argument #%d to '%s' (a table that is not a view of memory)",
		 narg, lj_vm_funcname(curr_func(L)));
  }
  if (tvisnum(o))
    return vm_toint(L, numV(o));
  if (vm_isint64(o, &arg))
    return arg;
  if (!tvisstr(o) || vm_kind_letter(kind) != 's')
    lj_err_argt(L, narg, LUA_TNUMBER);
  if (!vm_scratch(L))
    vm_noscratch(L);
  if (!vm_isint(vm_syscall_string(L, strV(o), (*strings)++ == 0), &arg))
    luaL_error(L, "no room for a string of %d bytes in the script's buffer",
	       (int)strV(o)->len);
  return arg;
}

/* Checks arguments if not all are numbers, or their count is wrong. */
static LJ_NOINLINE void checkargs(lua_State *L, int index, long *args)
{
  const char *kinds = vm_syscall_kinds[index];
  int i, strings = 0, nargs = (int)(L->top - L->base);
  for (i = 0; kinds[i] != '\0'; i++)
    args[i] = i < nargs ? checkarg(L, i + 1, kinds[i], &strings) :
			  omitted(L, index, kinds[i], L->base + i - 1);
  if (i < nargs)
    badcount(L, index, nargs);
}

/* Fails for all other types, too, which are NaN when read as a double. */
static LJ_AINLINE int takenumber(cTValue *o, unsigned int n, unsigned int i, long *args)
{
  return i >= n || LJ_LIKELY(vm_isint(o[i].n, &args[i]));
}

static LJ_AINLINE int takenumbers(cTValue *o, unsigned int n, long *args)
{
  return takenumber(o, n, 0, args) && takenumber(o, n, 1, args) &&
	 takenumber(o, n, 2, args) && takenumber(o, n, 3, args) &&
	 takenumber(o, n, 4, args) && takenumber(o, n, 5, args);
}

enum index {
#define SYSCALL(name, kinds, flags)	INDEX_##name,
#include "syscalls.def"
};

/* The only call whose results may be more than a number holds: compiled code leaves
** these to the interpreter, which makes the call "again", maybe through other traces.
*/
static long late_lseek(struct run *run, long fd, long offset, long whence)
{
  struct vm *vm = (struct vm *)run->vm;
  long ret;
  if (vm->is_late)
    return VM_LATE;
  ret = run_thunks[INDEX_lseek](run, fd, offset, whence, 0, 0, 0);
  if (vm_holds(ret))
    return ret;
  vm->late = ret;
  vm->is_late = 1;
  return VM_LATE;
}

unsigned long vm_syscall_code(int index)
{
  return index == INDEX_lseek ? (unsigned long)late_lseek : (unsigned long)run_thunks[index];
}

static LJ_NOINLINE int pushresult(lua_State *L, long ret)
{
  vm_pushlong(L, ret);
  return 1;
}

LJLIB_NOREG LJLIB_CF(syscall_call)	LJLIB_REC(.)
{
  static const uint8_t most[] = {
#define SYSCALL(name, kinds, flags)	sizeof(kinds) - 1,
#include "syscalls.def"
  };
  int index = (int)numV(&curr_func(L)->c.upvalue[0]);
  TValue *base = L->base, *top = L->top;
  long args[6] = { 0 }, ret;
  if (LJ_UNLIKELY(G2VM(G(L))->is_late)) {
    G2VM(G(L))->is_late = 0;
    return pushresult(L, G2VM(G(L))->late);
  }
  if (LJ_UNLIKELY(top - base != most[index] || !takenumbers(base, most[index], args)))
    checkargs(L, index, args);
  ret = run_thunks[index](G2RUN(G(L)), args[0], args[1], args[2], args[3], args[4], args[5]);
  if (LJ_UNLIKELY(!vm_holds(ret)))
    return pushresult(L, ret);
  setnumV(top, (lua_Number)ret);
  L->top = top + 1;
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

/* (table, name) -> the value on top, which is also stored in the table. */
static int remember(lua_State *L)
{
  lj_lib_checktab(L, 1);  /* A script may call __index by itself. */
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

int vm_syscall_find(const char *name)
{
  return lookup(vm_syscall_names, ARRAY_SIZE(vm_syscall_names),
		sizeof(vm_syscall_names[0]), name);
}

static int syscall_index(lua_State *L)
{
  const char *name = luaL_checkstring(L, 2);
  int i = vm_syscall_find(name);
  if (i >= 0) {
    if (!run_may_call(G2RUN(G(L)), (unsigned int)i))
      return luaL_error(L, "this script may not call '%s': it is not among its rights", name);
    lua_pushnumber(L, i);
    lj_lib_pushcc(L, lj_cf_syscall_call, FF_syscall_call, 1);
    return remember(L);
  }
  i = lookup(syscall_excluded, ARRAY_SIZE(syscall_excluded),
	     sizeof(syscall_excluded[0]), name);
  if (i >= 0)
    return luaL_error(L, "scripts cannot call '%s': %s", name,
		      syscall_excluded[i].reason);
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

/* errno.name(n) -> "ENOENT" for 2 and -2, nil for other numbers */
static int errno_name(lua_State *L)
{
  long n = vm_checkint(L, 1);
  const char *name = NULL;
  int i;
  for (i = 0; i < ARRAY_SIZE(errno_names) && !name; i++)
    if (errno_names[i].value == (double)(n < 0 ? -n : n) &&
	strcmp(errno_names[i].name, "ENOTSUP") != 0)  /* Prefer EOPNOTSUPP, as strace(1) does. */
      name = errno_names[i].name;
  if (name)
    lua_pushstring(L, name);
  else
    lua_pushnil(L);
  return 1;
}

static int errno_index(lua_State *L)
{
  if (strcmp(luaL_checkstring(L, 2), "name") == 0) {
    lua_pushcfunction(L, errno_name);
    return remember(L);
  }
  return constant_index(L, errno_names, ARRAY_SIZE(errno_names));
}

static int const_index(lua_State *L)
{
  return constant_index(L, const_names, ARRAY_SIZE(const_names));
}

/* Creates a global table whose fields @index computes on first access. */
static void lazytable(lua_State *L, const char *name, lua_CFunction index)
{
  lua_createtable(L, 0, 8);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setglobal(L, name);
}

/* (table, name) raises an error; the upvalue is the library. */
static int refused_index(lua_State *L)
{
  return luaL_error(L, "this script may not use '%s': it is not among its rights",
		    lua_tostring(L, lua_upvalueindex(1)));
}

static void refuse(lua_State *L, const char *name)
{
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, name);
  lua_pushcclosure(L, refused_index, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setglobal(L, name);
}

void vm_refuse(lua_State *L)
{
  static const struct { unsigned int library; const char *name; } libraries[] = {
    { SYSCRIPT_LIBRARY_UTIL, "util" }, { SYSCRIPT_LIBRARY_FS, "fs" },
    { SYSCRIPT_LIBRARY_NET, "net" },
  };
  int i;
  for (i = 0; i < ARRAY_SIZE(libraries); i++)
    if (!run_may_use(G2RUN(G(L)), libraries[i].library))
      refuse(L, libraries[i].name);
}

void vm_open_syscall(lua_State *L)
{
  lazytable(L, "syscall", syscall_index);
  lazytable(L, "errno", errno_index);
  lazytable(L, "const", const_index);
}
