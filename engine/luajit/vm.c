/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script's VM: the environment of scripts, calls of run(), and how a script ends.
 *
 * Everything that may raise an error runs below vm_protected() or, for run()
 * itself, below the lua_pcall() in vm_run().  A script that has hit a limit is
 * *stopped*: at the next safe point, or at once where an allocation failed, its
 * stack is abandoned, so that no pcall() holds it up.
 */
#define vm_c
#define LUA_LIB

#include <errno.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
#include "luajit.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_debug.h"
#include "lj_state.h"
#include "lj_jit.h"
#include "lj_dispatch.h"
#include "lj_alloc.h"
#include "lj_bcdump.h"
#include "lj_strfmt.h"
#include "lj_lib.h"
#include "lj_ff.h"
#include "lj_vm.h"

#include "clone.h"
#include "lib.h"
#include "../../include/uapi/syscript.h"

/* -- Texts ----------------------------------------------------------------- */

static void append(struct vm *vm, const char *s, size_t n)
{
  struct run *run = vm->run;
  size_t room = RUN_ERROR_LEN - 1 - run->error_len;
  if (n > room)
    n = room;
  memcpy(run->error + run->error_len, s, n);
  run->error_len += (unsigned int)n;
  run->error[run->error_len] = '\0';
}

static void appendz(struct vm *vm, const char *s)
{
  append(vm, s, strlen(s));
}

static void appendint(struct vm *vm, unsigned long n)
{
  char buf[24];
  char *p = buf + sizeof(buf);
  do { *--p = (char)('0' + n % 10); n /= 10; } while (n);
  append(vm, p, (size_t)(buf + sizeof(buf) - p));
}

void vm_settext(struct vm *vm, const char *s)
{
  vm->run->error_len = 0;
  vm->run->error[0] = '\0';
  appendz(vm, s);
}

/* The text of an error object. */
static void errtext(struct vm *vm, cTValue *o)
{
  if (tvisstr(o)) {
    append(vm, strVdata(o), strV(o)->len);
  } else {
    appendz(vm, "error object is a ");
    appendz(vm, lj_typename(o));
    appendz(vm, " value");
  }
}

/* -- Tracebacks ------------------------------------------------------------ */

#define TRACEBACK_MAX	12	/* functions */

static void traceline(struct vm *vm, const lua_Debug *ar)
{
  appendz(vm, "\n\t");
  appendz(vm, ar->short_src);
  appendz(vm, ":");
  appendint(vm, (unsigned long)ar->currentline);
  if (*ar->what == 'm') {
    appendz(vm, ": in main chunk");
  } else if (*ar->namewhat) {
    appendz(vm, ": in function '");
    appendz(vm, ar->name);
    appendz(vm, "'");
  } else {
    appendz(vm, ": in function <");
    appendz(vm, ar->short_src);
    appendz(vm, ":");
    appendint(vm, (unsigned long)ar->linedefined);
    appendz(vm, ">");
  }
}

/* A list of the active Lua functions, if there are several; allocates no memory. */
static void traceback(struct vm *vm, lua_State *L)
{
  lua_Debug ar, first;
  int level, n = 0;
  for (level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sln", &ar);
    if (ar.currentline < 0)
      continue;
    n++;
    if (n == 1) {
      first = ar;
      continue;
    }
    if (n == 2) {
      appendz(vm, "\nstack traceback:");
      traceline(vm, &first);
    }
    if (n > TRACEBACK_MAX) {
      appendz(vm, "\n\t...");
      break;
    }
    traceline(vm, &ar);
  }
}

/* The message handler of scripts with SYSCRIPT_TRACEBACK. */
int lj_vm_traceback(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  if (!vm->run->stop_reason && !vm->run->error_len) {
    errtext(vm, L->top - 1);
    traceback(vm, L);
  }
  return 1;
}

/* -- Stopping a run -------------------------------------------------------- */

static void appendms(struct vm *vm, const char *s, unsigned long ns)
{
  appendz(vm, s);
  appendint(vm, ns / 1000000);
  appendz(vm, " ms");
}

/* The message for a limit, preceded by the position if it is known. */
static void stop_reason_text(struct vm *vm)
{
  switch (vm->run->stop_reason) {
  case -ETIME:
    appendms(vm, "over the time limit of ", vm->run->time_limit);
    break;
  case -ETIMEDOUT:
    appendms(vm, "over the wall-clock limit of ", vm->run->wall_limit);
    break;
  case -EINTR:
    appendms(vm, "a signal was pending for ", vm->run->grace);
    break;
  case -ENOBUFS:
    appendz(vm, "over the memory limit of ");
    appendint(vm, vm->memory_limit >> 10);
    appendz(vm, " KiB");
    break;
  case -ENOMEM:
    appendz(vm, "no memory for the script: raise the limits on the process's memory (ulimit -v, -d), or its control group's");
    break;
  case -ECANCELED:
    appendz(vm, "ended by a fatal signal");
    break;
  case -EOPNOTSUPP:
    appendz(vm, "the thread is watched (ptrace, a SIGSYS handler of a seccomp filter), and this call would be missed");
    break;
  }
}

/* Only the first position counts: later ones are where the script was caught. */
void lj_vm_where(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  char buf[LUA_IDSIZE];
  BCLine line;
  if (!vm->run->stop_reason || vm->run->error_len)
    return;
  line = lj_debug_where(L, buf);
  if (line >= 0) {
    appendz(vm, buf);
    appendz(vm, ":");
    appendint(vm, (unsigned long)line);
    appendz(vm, ": ");
  }
  stop_reason_text(vm);
  /* Where memory ran out, frames may be incomplete. */
  if ((vm->run->flags & SYSCRIPT_TRACEBACK) && vm->run->stop_reason != -ENOBUFS &&
      vm->run->stop_reason != -ENOMEM)
    traceback(vm, L);
}

/* The VM is dead: it runs no Lua any more, and its frames are not read. */
static LJ_NORET void end(struct vm *vm)
{
  if (!vm->run->error_len)
    stop_reason_text(vm);
  run_abandon(vm->run, vm->run->stop_reason);
  __builtin_unreachable();
}

void lj_vm_nomem(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  run_stop(vm->run, -ENOBUFS);  /* Refused because of its size alone. */
  if (tvref(G(L)->jit_base))
    L->base = tvref(G(L)->jit_base);
  if (vm->L)
    lj_vm_where(L);
  end(vm);
}

void lj_vm_poll(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  if (!vm->run->stop_reason) {
    vm_interrupted(vm);
    run_poll(vm->run);
    if (!vm->run->stop_reason)
      return;
  }
  if (tvref(G(L)->jit_base))
    L->base = tvref(G(L)->jit_base);
  lj_vm_where(L);
  if (!run_stop_passes(vm->run->stop_reason))
    end(vm);
  /* Keeps the interrupt set: after a pcall() the next bytecode ends the run. */
  while (!vm_interrupt(vm))
    ;
  if (curr_funcisL(L))
    L->top = curr_topL(L);
  setnilV(L->top++);
  lj_err_throw(L, LUA_ERRRUN);  /* Not lj_err_run(): no message handlers. */
}

/* Stop reasons that end with the run are left to the next safe point.  A full collection cycle has
** many steps: each goes on, and polls again at the next interrupt.
*/
void lj_vm_yield(global_State *g)
{
  struct vm *vm = G2VM(g);
  if (vm->poll == VM_POLLED)
    return;
  vm_interrupted(vm);
  run_poll(vm->run);
  if (!vm->run->stop_reason)
    return;
  if (!run_stop_passes(vm->run->stop_reason))
    lj_vm_poll(gco2th(gcref(g->cur_L)));
  while (!vm_interrupt(vm))
    ;
  vm->poll = VM_POLLED;
}

/* The calling kernel code aligns the stack to 8 bytes only. */
__attribute__((force_align_arg_pointer)) void vm_end(struct vm *vm)
{
  lj_vm_poll(gco2th(gcref(G(vm->L)->cur_L)));
}

const char *lj_vm_funcname(GCfunc *fn)
{
  static const char *const names[] = {
    "?", "?",  /* FF_LUA_, FF_C_ */
#define FFDEF(name)	#name,
#include "lj_ffdef.h"
  };
  const char *name = names[fn->c.ffid], *part = strchr(name, '_');
  if (fn->c.ffid == FF_syscall_call)
    return vm_syscall_names[(int)numV(&fn->c.upvalue[0])];
  return part ? part + 1 : name;
}

void lj_vm_panic(global_State *g)
{
  port_panic(G2VM(g));
}

/* -- Memory ---------------------------------------------------------------- */

static void *vm_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
  struct vm *vm = (struct vm *)ud;
  unsigned long used = vm->stats.memory - osize + nsize;
  void *p;
  if (nsize > osize && used + vm->stats.mcode > vm->memory_limit) {
    vm->run->stop_reason = -ENOBUFS;
    return NULL;
  }
  p = nsize > osize && vm_fails(vm) ? NULL : lj_alloc_f(vm->heap, ptr, osize, nsize);
  if (!p && nsize) {
    run_stop(vm->run, -ENOMEM);
    return NULL;
  }
  vm->stats.memory = used;
  if (used > vm->stats.memory_peak)
    vm->stats.memory_peak = used;
  return p;
}

unsigned long vm_scratch(lua_State *L)
{
  long addr = run_scratch(G2RUN(G(L)));
  return addr < 0 ? 0 : (unsigned long)addr;
}

/* -- Numbers --------------------------------------------------------------- */

long vm_toint(lua_State *L, double a)
{
  long i;
  if (LJ_UNLIKELY(!vm_isint(a, &i))) {
    int beyond = a > VM_INT_MAX || a < -VM_INT_MAX;
    lua_pushnumber(L, a);
    luaL_error(L, beyond ? "%s is beyond the integers that a number holds" :
			   "integer expected, got %s", lua_tostring(L, -1));
  }
  return i;
}

/* -- Protected entry ------------------------------------------------------- */

/* Translates how a protected call ended; the text goes to run->error. */
static int ended(struct vm *vm, int status)
{
  if (vm->run->stop_reason) {
    if (!vm->run->error_len)
      stop_reason_text(vm);
  } else if (status != LUA_OK && !vm->run->error_len) {
    errtext(vm, vm->L->top - 1);
  }
  return vm->run->stop_reason ? vm->run->stop_reason : status != LUA_OK ? -EPROTO : 0;
}

/* Clears the last run's interrupt: the core has begun a new run. */
static LJ_AINLINE void begin(struct vm *vm)
{
  if (LJ_UNLIKELY(vm->poll) && !vm->run->stop_reason)
    vm_interrupted(vm);
  vm->is_late = 0;
}

/* The protected entry for C code. */
static int vm_protected(struct vm *vm, lua_CPFunction f, void *arg)
{
  begin(vm);
  return ended(vm, lj_vm_cpcall(vm->L, NULL, arg, f));
}

/* -- Opening --------------------------------------------------------------- */

void vm_usejit(struct vm *vm)
{
  if (!port_mcode_allowed())
    vm->run->flags |= SYSCRIPT_NOJIT;
  if ((vm->run->flags & SYSCRIPT_NOJIT))
    luaJIT_setmode(vm->L, 0, LUAJIT_MODE_ENGINE|LUAJIT_MODE_OFF);
}

#ifdef SYSCRIPT_FUZZ
#include <stdlib.h>

/* SYSCRIPT_JIT: parameters in their order (-1: as they are), optimisations to do without. */
static void fuzzjit(jit_State *J)
{
  const char *s = getenv("SYSCRIPT_JIT");
  long value;
  int i;
  for (i = 0; s && i <= JIT_P__MAX; i++) {
    value = strtol(s, (char **)&s, 10);
    if (i == JIT_P__MAX)
      J->flags &= ~((uint32_t)value * JIT_F_OPT);
    else if (value >= 0)
      J->param[i] = (int32_t)value;
  }
  lj_dispatch_init_hotcount(J2G(J));
}
#else
#define fuzzjit(J)	((void)(J))
#endif

/* The compiler's share of memory and machine code: the defaults are meant for
** a process that is all Lua.
*/
static void tunejit(struct vm *vm)
{
  jit_State *J = L2J(vm->L);
  J->param[JIT_P_sizemcode] = 32;
  J->param[JIT_P_maxmcode] = 256;
  J->param[JIT_P_maxtrace] = 500;
  J->mcdelta = port_mcode_delta;
  fuzzjit(J);
  vm_usejit(vm);
}

static TValue *openlibs(lua_State *L, lua_CFunction dummy, void *arg)
{
  static const lua_CFunction libs[] = {
    luaopen_base, luaopen_table, luaopen_string, luaopen_math, luaopen_bit,
    luaopen_jit,
  };
  size_t i;
  UNUSED(dummy); UNUSED(arg);
  for (i = 0; i < sizeof(libs)/sizeof(libs[0]); i++) {
    lua_pushcfunction(L, libs[i]);
    lua_call(L, 0, 0);
  }
  vm_open_syscall(L);
  vm_open_util(L);
  vm_open_net(L);
  vm_open_fs(L);
  return NULL;
}

static int create(struct vm *vm)
{
  lua_State *L;
  int ret;
  vm->heap = lj_alloc_create((PRNGState *)(void *)vm);
  if (!vm->heap)
    goto nomem;
  L = lua_newstate(vm_alloc, vm);
  if (!L)
    goto nomem;
  vm_publish(vm, L);
  ret = vm_protected(vm, openlibs, NULL);
  if (!ret)
    tunejit(vm);
  return ret;
nomem:
  if (!vm->run->stop_reason)
    vm->run->stop_reason = -ENOMEM;
  vm_settext(vm, "");
  stop_reason_text(vm);
  return vm->run->stop_reason;
}

long vm_create(void *vm)
{
  return create((struct vm *)vm);
}

/* -- Loading --------------------------------------------------------------- */

static int keep(lua_State *L, const void *p, size_t n, void *arg)
{
  struct vm_load *ld = (struct vm_load *)arg;
  UNUSED(L);
  if (n > ld->keep_size - ld->kept)
    return 1;
  memcpy(ld->keep + ld->kept, p, n);
  ld->kept += n;
  return 0;
}

static void pushhandler(lua_State *L)
{
  if (G2RUN(G(L))->flags & SYSCRIPT_TRACEBACK)
    lua_pushcfunction(L, lj_vm_traceback);
  else
    lua_pushnil(L);
}

static int compile(lua_State *L, struct vm_load *ld, const char *chunk)
{
  int status;
  if (ld->compiled) {
    ld->vm->trusted = 1;
    status = luaL_loadbufferx(L, ld->compiled, ld->compiled_len, chunk, "b");
    ld->vm->trusted = 0;
    return status;
  }
  status = luaL_loadbufferx(L, ld->source, ld->len, chunk, "t");
  if (status == LUA_OK && ld->keep &&
      lj_bcwrite(L, funcproto(funcV(L->top - 1)), keep, ld, 0))
    ld->kept = 0;
  return status;
}

/* Leaves run in the first slot, the message handler or nil in the second. */
static TValue *load(lua_State *L, lua_CFunction dummy, void *arg)
{
  struct vm_load *ld = (struct vm_load *)arg;
  const char *name = ld->vm->run->name[0] ? ld->vm->run->name : "script";
  int status;
  UNUSED(dummy);
  lua_settop(L, 0);
  vm_refuse(L);
  lua_pushfstring(L, "@%s", name);
  status = compile(L, ld, lua_tostring(L, 1));
  if (status != LUA_OK)
    lj_err_throw(L, status);
  if (ld->check) {
    if (ld->lint)
      ld->lint(L, ld->findings);
    return NULL;
  }
  pushhandler(L);
  lua_insert(L, 2);
  status = lua_pcall(L, 0, 0, lua_isnil(L, 2) ? 0 : 2);
  if (status != LUA_OK)
    lj_err_throw(L, status);
  lua_pushliteral(L, "run");
  lua_rawget(L, LUA_GLOBALSINDEX);
  if (!lua_isfunction(L, -1)) {
    lua_pushfstring(L, "%s: no function named run", name);
    lj_err_throw(L, LUA_ERRRUN);
  }
  lua_replace(L, 1);
  return NULL;
}

long vm_open(void *arg)
{
  struct vm_load *ld = (struct vm_load *)arg;
  int ret = vm_canclone(ld->vm) ? vm_clone(ld->vm) : create(ld->vm);
  if (!ret)
    ret = vm_protected(ld->vm, load, ld);
  return ret == -EPROTO ? -ENOEXEC : ret;
}

/* -- Running --------------------------------------------------------------- */

static LJ_NOINLINE int badresult(struct vm *vm, unsigned int i, cTValue *o)
{
  vm_settext(vm, "result ");
  appendint(vm, i + 1);
  if (tvisnum(o)) {
    appendz(vm, " of run is not an integer within 2^53");
  } else {
    appendz(vm, " of run is a ");
    appendz(vm, lj_typename(o));
    appendz(vm, ", not an integer");
  }
  return -ERANGE;
}

static LJ_AINLINE int result(struct vm_run *run, unsigned int i, cTValue *o)
{
  long value;
  if (tvisnum(o) && vm_isint(numV(o), &value))
    run->results[i] = value;
  else if (tvisbool(o) || tvisnil(o))
    run->results[i] = tvistrue(o);
  else if (vm_isint64(o, &value))
    run->results[i] = value;
  else
    return badresult(run->vm, i, o);
  return 0;
}

/* The frame of vm_run(), with arguments for which memory has to be allocated. */
static TValue *pushlarge(lua_State *L, lua_CFunction dummy, void *arg)
{
  struct vm_run *run = (struct vm_run *)arg;
  unsigned int i;
  UNUSED(dummy);
  lj_state_checkstack(L, SYSCRIPT_ARGS_MAX + 4);
  L->top = L->base + 2;
  copyTV(L, L->top, L->base);
  L->top++;
  if (LJ_FR2) setnilV(L->top++);
  for (i = 0; i < run->nargs; i++)
    vm_pushlong(L, run->args[i]);
  return NULL;
}

long vm_run(void *arg)
{
  struct vm_run *run = (struct vm_run *)arg;
  struct vm *vm = run->vm;
  lua_State *L = vm->L;
  TValue *top = L->base + 2;  /* Above load()'s slots, which keeps a short call short. */
  unsigned int i, n;
  int ret;
  begin(vm);
  run->nresults = 0;
  copyTV(L, top, L->base);
  if (LJ_FR2) setnilV(++top);
  for (i = 0; i < run->nargs; i++) {
    if (LJ_UNLIKELY(!vm_holds(run->args[i]))) {
      ret = vm_protected(vm, pushlarge, run);
      if (ret)
	return ret;
      break;
    }
    setnumV(++top, (double)run->args[i]);
  }
  if (LJ_LIKELY(i == run->nargs))
    L->top = top + 1;
  ret = lj_vm_pcall(L, L->base + 2 + 1+LJ_FR2, LUA_MULTRET+1,
		    tvisnil(L->base + 1) ? 0 : savestack(L, L->base + 1));
  if (LJ_UNLIKELY(ret || vm->run->stop_reason))
    return ended(vm, ret);
  n = (unsigned int)(L->top - (L->base + 2));
  for (i = 0; i < n && i < SYSCRIPT_RESULTS_MAX && !ret; i++)
    ret = result(run, i, L->base + 2 + i);
  run->nresults = n;
  L->top = L->base + 2;
  return ret;
}

long vm_idle(void *arg)
{
  struct vm *vm = (struct vm *)arg;
  lj_alloc_trim(vm->heap);
  return 0;
}
