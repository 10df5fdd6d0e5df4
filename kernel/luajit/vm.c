/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script's VM: what scripts see, how run() is called, how a script ends.
 *
 * Everything that may raise an error runs below vm_protected() or, for run()
 * itself, below the lua_pcall() in vm_run().  A script that has hit a limit is *doomed*: from then
 * on every safe point throws, so that no pcall() holds it up.
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
#include "lj_jit.h"
#include "lj_dispatch.h"
#include "lj_alloc.h"
#include "lj_bcdump.h"
#include "lj_strfmt.h"
#include "lj_lib.h"
#include "lj_vm.h"

#include "lib.h"
#include "../../include/uapi/syscript.h"

/* -- Texts ----------------------------------------------------------------- */

static void append(struct vm *vm, const char *s, size_t n)
{
  size_t room = VM_ERROR_LEN - 1 - vm->error_len;
  if (n > room)
    n = room;
  memcpy(vm->error + vm->error_len, s, n);
  vm->error_len += (unsigned int)n;
  vm->error[vm->error_len] = '\0';
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

static void settext(struct vm *vm, const char *s)
{
  vm->error_len = 0;
  vm->error[0] = '\0';
  appendz(vm, s);
}

void vm_output(struct vm *vm, const char *s, unsigned long n)
{
  unsigned long room = VM_OUTPUT_LEN - vm->output_len;
  if (n > room)
    n = room;
  memcpy(vm->output + vm->output_len, s, n);
  vm->output_len += (unsigned int)n;
}

/* -- Doom ------------------------------------------------------------------ */

/* What to say of a limit; the place has been put before it if it is known. */
static void doomtext(struct vm *vm)
{
  switch (vm->doom) {
  case -ETIME:
    appendz(vm, "over the time limit of ");
    appendint(vm, vm->time_limit / 1000000);
    appendz(vm, " ms");
    break;
  case -ENOBUFS:
    appendz(vm, "over the memory limit of ");
    appendint(vm, vm->memory_limit >> 10);
    appendz(vm, " KiB");
    break;
  case -ECANCELED:
    appendz(vm, "ended by a fatal signal");
    break;
  case -EOPNOTSUPP:
    appendz(vm, "the thread is being watched (seccomp, ptrace or audit)");
    break;
  }
}

/* Only the first place counts: later ones are where the script was caught. */
void lj_vm_where(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  char buf[LUA_IDSIZE];
  BCLine line;
  if (!vm->doom || vm->error_len)
    return;
  line = lj_debug_where(L, buf);
  if (line >= 0) {
    appendz(vm, buf);
    appendz(vm, ":");
    appendint(vm, (unsigned long)line);
    appendz(vm, ": ");
  }
  doomtext(vm);
}

void lj_vm_poll(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  if (!vm->doom) {
    vm_interrupted(vm);
    port_poll(vm);
    if (!vm->doom)
      return;
  }
  if (tvref(G(L)->jit_base))
    L->base = tvref(G(L)->jit_base);
  lj_vm_where(L);
  /* Stay interrupted: a pcall() gets no further than its next bytecode. */
  while (!vm_interrupt(vm))
    ;
  if (curr_funcisL(L))
    L->top = curr_topL(L);
  setnilV(L->top++);
  lj_err_throw(L, LUA_ERRRUN);  /* Not lj_err_run(): no message handlers. */
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
  if (nsize > osize && used > vm->memory_limit) {
    if (!vm->doom)
      vm->doom = -ENOBUFS;
    if (vm->L)
      vm_interrupt(vm);
    return NULL;
  }
  p = lj_alloc_f(vm->heap, ptr, osize, nsize);
  if (p || nsize == 0) {
    vm->stats.memory = used;
    if (used > vm->stats.memory_peak)
      vm->stats.memory_peak = used;
  }
  return p;
}

unsigned long vm_scratch(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  if (!vm->scratch) {
    long addr = port_scratch(vm);
    if (addr < 0)
      return 0;
    vm->scratch = (unsigned long)addr;
  }
  return vm->scratch;
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

static int errnoof(struct vm *vm, int status)
{
  if (vm->doom)
    return vm->doom;
  switch (status) {
  case LUA_OK: return 0;
  case LUA_ERRMEM: return -ENOMEM;
  default: return -EPROTO;
  }
}

/* Translates how a protected call ended; the text goes to vm->error. */
static int ended(struct vm *vm, int status)
{
  lua_State *L = vm->L;
  if (vm->doom) {
    if (!vm->error_len)
      doomtext(vm);
  } else if (status != LUA_OK) {
    if (tvisstr(L->top - 1)) {
      append(vm, strVdata(L->top - 1), strV(L->top - 1)->len);
    } else {
      appendz(vm, "error object is a ");
      appendz(vm, lj_typename(L->top - 1));
      appendz(vm, " value");
    }
  }
  return errnoof(vm, status);
}

/* A new start, unless the script is dead. */
static void begin(struct vm *vm)
{
  vm->error_len = 0;
  vm->error[0] = '\0';
  if (LJ_UNLIKELY(vm->doom == -EOPNOTSUPP)) {
    vm->doom = 0;
    vm_interrupted(vm);
  }
}

/* The protected entry for C code. */
static int vm_protected(struct vm *vm, lua_CPFunction f, void *arg)
{
  begin(vm);
  return ended(vm, lj_vm_cpcall(vm->L, NULL, arg, f));
}

static void adopt(struct vm *vm);

/* -- Opening --------------------------------------------------------------- */

/* Left out of the compiler's share of memory and machine code: the defaults
** are meant for a process that is all Lua.
*/
static void tunejit(struct vm *vm)
{
  jit_State *J = L2J(vm->L);
  J->param[JIT_P_sizemcode] = 32;
  J->param[JIT_P_maxmcode] = 256;
  J->param[JIT_P_maxtrace] = 500;
  J->mcdelta = port_mcode_delta;
  if ((vm->flags & SYSCRIPT_NOJIT))
    luaJIT_setmode(vm->L, 0, LUAJIT_MODE_ENGINE|LUAJIT_MODE_OFF);
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
  int ret;
  vm->heap = lj_alloc_create((PRNGState *)(void *)vm);
  if (!vm->heap)
    goto nomem;
  vm->L = lua_newstate(vm_alloc, vm);
  if (!vm->L)
    goto nomem;
  adopt(vm);
  ret = vm_protected(vm, openlibs, NULL);
  if (!ret)
    tunejit(vm);
  return ret;
nomem:
  settext(vm, "");
  if (vm->doom) {
    doomtext(vm);
    return vm->doom;
  }
  appendz(vm, "no memory for a new script");
  return -ENOMEM;
}

/* -- Cloning --------------------------------------------------------------- */

/*
** A new VM with its libraries open is always the same, but for the address.
** So it is made once, and copied. What has to be moved in the copy is found
** by making two and comparing them: a word that differs by their distance
** is a pointer, tagged or not.
*/
static struct {
  const uint64_t *image;	/* The heap of the original. */
  const uint16_t *moved;	/* Indexes of the words that are pointers. */
  unsigned int words, nmoved;	/* Of what is in use. */
  unsigned long memory;
  ptrdiff_t L, heap;		/* Offsets. */
} original;

#define HEAP_SIZE	(64u << 10)	/* What lj_alloc begins with. */
#define HEAP_WORDS	(HEAP_SIZE / 8)
#define FOOT_WORDS	8u		/* Its top's foot, at the end. */

/* What knows whose VM it is. */
static void adopt(struct vm *vm)
{
  global_State *g = G(vm->L);
  g->allocd = vm;
  g->cstklim = (uintptr_t)vm->stack + VM_STACK_RESERVE;
  lj_alloc_setprng(vm->heap, (PRNGState *)(void *)vm);
}

static void disown(struct vm *vm)
{
  G(vm->L)->allocd = NULL;
  G(vm->L)->cstklim = 0;
  lj_alloc_setprng(vm->heap, NULL);
}

/* As if no interrupt had come meanwhile; from now on none finds the lock free. */
static void settle(struct vm *vm)
{
  global_State *g = G(vm->L);
  for (;;) {
    vm_interrupted(vm);
    if (__atomic_exchange_n(&vm->lock, 1, __ATOMIC_ACQUIRE))
      continue;
    if (!vm->poll)
      break;
    __atomic_store_n(&vm->lock, 0, __ATOMIC_RELEASE);
  }
  g->hookcount = g->hookcstart = 0;
  lj_dispatch_init_hotcount(g);
}

/* Nothing allocated beyond the first run, or it would not be in the copy. */
static uint64_t *heap_of(struct vm *vm)
{
  uint64_t *base = (uint64_t *)((uintptr_t)vm->heap & ~(uintptr_t)4095);
  return vm->stats.memory < HEAP_SIZE - 4096 &&
	 (char *)vm->L - (char *)base < (ptrdiff_t)HEAP_SIZE ? base : NULL;
}

long vm_create(void *vm)
{
  return create((struct vm *)vm);
}

long vm_make_original(void *arg)
{
  struct vm **pair = (struct vm **)arg;
  uint64_t *a, *b;
  uint16_t *moved;
  uint64_t distance;
  unsigned int i, n = 0, words = 0;
  a = heap_of(pair[0]);
  b = heap_of(pair[1]);
  if (!a || !b)
    return -ENOBUFS;
  for (i = 0; i < 2; i++) {
    settle(pair[i]);
    disown(pair[i]);
  }
  distance = (uint64_t)(uintptr_t)b - (uint64_t)(uintptr_t)a;
  moved = (uint16_t *)(void *)b;  /* Always behind what is still compared. */
  for (i = 0; i < HEAP_WORDS; i++) {
    uint64_t from = a[i], to = b[i];
    if (to - from == distance)
      moved[n++] = (uint16_t)i;
    else if (to != from)
      return -EINVAL;
    if (from && i < HEAP_WORDS - FOOT_WORDS)
      words = i + 1;
  }
  original.image = a;
  original.moved = moved;
  original.words = (words + 7) & ~7u;
  original.nmoved = n;
  original.memory = pair[0]->stats.memory;
  original.L = (char *)pair[0]->L - (char *)a;
  original.heap = (char *)pair[0]->heap - (char *)a;
  return 0;
}

static void copywords(uint64_t *to, const uint64_t *from, unsigned int n)
{
  typedef uint64_t v2 __attribute__((vector_size(16), aligned(8)));
  unsigned int i;
  for (i = 0; i < n; i += 4) {
    v2 x = *(const v2 *)(from + i), y = *(const v2 *)(from + i + 2);
    *(v2 *)(to + i) = x;
    *(v2 *)(to + i + 2) = y;
  }
}

static int clone(struct vm *vm)
{
  uint64_t *base = (uint64_t *)port_pages(vm, HEAP_SIZE);
  const uint16_t *moved = original.moved;
  unsigned int i, foot = HEAP_WORDS - FOOT_WORDS;
  uint64_t distance;
  if (!base) {
    settext(vm, "no memory for a new script");
    return -ENOMEM;
  }
  copywords(base, original.image, original.words);
  copywords(base + foot, original.image + foot, FOOT_WORDS);
  distance = (uint64_t)(uintptr_t)base -
	     (uint64_t)(uintptr_t)original.image;
  for (i = 0; i < original.nmoved; i++)
    base[moved[i]] += distance;
  vm->L = (lua_State *)(void *)((char *)base + original.L);
  vm->heap = (char *)base + original.heap;
  vm->stats.memory = vm->stats.memory_peak = original.memory;
  adopt(vm);
  /* No secret: what it seeds, only this script can slow down. */
  G(vm->L)->prng.u[0] ^= (uint64_t)(uintptr_t)base << 20;
  if ((vm->flags & SYSCRIPT_NOJIT))
    luaJIT_setmode(vm->L, 0, LUAJIT_MODE_ENGINE|LUAJIT_MODE_OFF);
  return 0;
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

/* Leaves run in the first slot. */
static TValue *load(lua_State *L, lua_CFunction dummy, void *arg)
{
  struct vm_load *ld = (struct vm_load *)arg;
  const char *name = ld->vm->name[0] ? ld->vm->name : "script";
  int status;
  UNUSED(dummy);
  lua_settop(L, 0);
  lua_pushfstring(L, "@%s", name);
  status = compile(L, ld, lua_tostring(L, 1));
  if (status != LUA_OK)
    lj_err_throw(L, status);
  if (ld->check)
    return NULL;
  lua_call(L, 0, 0);
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
  int ret = original.image && ld->vm->memory_limit > original.memory ?
	    clone(ld->vm) : create(ld->vm);
  if (!ret)
    ret = vm_protected(ld->vm, load, ld);
  return ret == -EPROTO ? -ENOEXEC : ret;
}

/* -- Running --------------------------------------------------------------- */

static int result(struct vm_run *run, unsigned int i, cTValue *o)
{
  struct vm *vm = run->vm;
  long value;
  if (tvisnum(o)) {
    if (vm_isint(numV(o), &value)) {
      run->results[i] = value;
      return 0;
    }
  } else if (tvisbool(o) || tvisnil(o)) {
    run->results[i] = tvistrue(o);
    return 0;
  }
  settext(vm, "result ");
  appendint(vm, i + 1);
  if (tvisnum(o)) {
    appendz(vm, " of run is no integer within 2^53");
  } else {
    appendz(vm, " of run is a ");
    appendz(vm, lj_typename(o));
    appendz(vm, ", not an integer");
  }
  return -ERANGE;
}

long vm_run(void *arg)
{
  struct vm_run *run = (struct vm_run *)arg;
  struct vm *vm = run->vm;
  lua_State *L = vm->L;
  TValue *top = L->base + 1;  /* Above run; a short call should stay short. */
  unsigned int i, n;
  int ret;
  begin(vm);
  copyTV(L, top, L->base);
  if (LJ_FR2) setnilV(++top);
  for (i = 0; i < run->nargs; i++) {
    if (run->args[i] > VM_INT_MAX || run->args[i] < -VM_INT_MAX) {
      appendz(vm, "argument ");
      appendint(vm, i + 1);
      appendz(vm, " is beyond the integers that a number holds");
      return -ERANGE;
    }
    setnumV(++top, (double)run->args[i]);
  }
  L->top = top + 1;
  ret = lj_vm_pcall(L, L->base + 1 + 1+LJ_FR2, LUA_MULTRET+1, 0);
  if (LJ_UNLIKELY(ret || vm->doom))
    return ended(vm, ret);
  n = (unsigned int)(L->top - (L->base + 1));
  for (i = 0; i < n && i < SYSCRIPT_RESULTS_MAX && !ret; i++)
    ret = result(run, i, L->base + 1 + i);
  run->nresults = n;
  L->top = L->base + 1;
  return ret;
}
