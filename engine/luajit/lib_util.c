/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * util: access to the memory of the calling process, by checked copies only.
 *
 * A kind says how a scalar is stored in memory: "i" or "u" for signed or unsigned, then its size
 * in bytes, 1, 2, 4 or 8; "b" for unsigned in the byte order of the network.  "i4", a C int, is
 * the default: the paper's copyout(table, addr, n) writes ints.
 */
#define lib_util_c
#define LUA_LIB

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_buf.h"
#include "lj_str.h"
#include "lj_tab.h"
#include "lj_lib.h"

#include "bytes.h"
#include "lib.h"
#include "lib_ircall.h"

#define CHUNK	2048	/* bytes of a copy that goes through the VM's stack */

int vm_kind(const GCstr *s)
{
  const char *p = strdata(s);
  int kind;
  if (s->len != 2 || (p[0] != 'i' && p[0] != 'u' && p[0] != 'b'))
    return -1;
  switch (p[1]) {
  case '1': kind = VM_U1; break;
  case '2': kind = VM_U2; break;
  case '4': kind = VM_U4; break;
  case '8': kind = VM_U8; break;
  default: return -1;
  }
  if (p[0] == 'b')
    return kind == VM_U1 ? -1 : kind | VM_BIG;
  return p[0] == 'i' ? kind + VM_I1 : kind;
}

int vm_checkkind(lua_State *L, int narg)
{
  GCstr *s = lj_lib_optstr(L, narg);
  int kind = s ? vm_kind(s) : VM_I4;
  if (kind < 0)
    luaL_error(L, "bad kind '%s': one of i1 i2 i4 i8 u1 u2 u4 u8 b2 b4 b8 expected",
	       strdata(s));
  return kind;
}

LJ_NOINLINE void vm_badaddr(lua_State *L, unsigned long addr)
{
  luaL_error(L, "bad address %p", (void *)addr);
  __builtin_unreachable();
}

static unsigned long checkaddr(lua_State *L, int narg)
{
  return (unsigned long)vm_checkint(L, narg);
}

long vm_asint(lua_State *L, int narg)
{
  TValue *o = L->base + narg - 1;
  long v;
  if (o < L->top && vm_isint64(o, &v))
    return v;
  return vm_toint(L, lj_lib_checknum(L, narg));
}

long vm_checkrange(lua_State *L, int narg, long min, long max)
{
  long i = vm_checkint(L, narg);
  if (i < min || i > max)
    lj_err_arg(L, narg, LJ_ERR_NUMRNG);
  return i;
}

/* -- Scalars --------------------------------------------------------------- */

/* NaN if it has more bits than a number can hold. */
static LJ_AINLINE double getscalar(const void *p, int kind)
{
  union { uint8_t u1; uint16_t u2; uint32_t u4; int8_t i1; int16_t i2;
	  int32_t i4; int64_t i8; } v;
  v.i8 = 0;
  memcpy(&v, p, vm_kind_size(kind));
  switch (kind) {
  case VM_U1: return v.u1;
  case VM_U2: return v.u2;
  case VM_U4: return v.u4;
  case VM_I1: return v.i1;
  case VM_I2: return v.i2;
  case VM_I4: return v.i4;
  case VM_B2: return __builtin_bswap16(v.u2);
  case VM_B4: return __builtin_bswap32(v.u4);
  default:
    if (kind == VM_B8)
      v.i8 = (int64_t)__builtin_bswap64((uint64_t)v.i8);
    if (v.i8 > VM_INT_MAX || v.i8 < (kind == VM_I8 ? -VM_INT_MAX : 0))
      return VM_NAN;
    return (double)v.i8;
  }
}

/* A whole scalar of 8 bytes. */
static long getlong(const void *p, int kind)
{
  uint64_t v;
  memcpy(&v, p, sizeof(v));
  return (long)(kind & VM_BIG ? __builtin_bswap64(v) : v);
}

/* Either interpretation of the bits is accepted, as in C: -1 is all ones. */
static LJ_AINLINE int putscalar(void *p, int kind, double value)
{
  int bits = (int)vm_kind_size(kind) * 8;
  long i = (long)value;
  if ((double)i != value)
    return 0;
  if (bits < 64 ? (unsigned long)i + (1UL << (bits - 1)) >= 3UL << (bits - 1) :
		  (unsigned long)i + VM_INT_MAX > 2 * (unsigned long)VM_INT_MAX)
    return 0;
  if (kind & VM_BIG)
    i = (long)__builtin_bswap64((unsigned long)i << (64 - bits));
  memcpy(p, &i, vm_kind_size(kind));
  return 1;
}

/* As above, for a number or an integer of 64 bits. */
static int putvalue(void *p, int kind, cTValue *o)
{
  long v;
  if (tvisnum(o))
    return putscalar(p, kind, numV(o));
  if (!vm_isint64(o, &v) || vm_kind_size(kind) != sizeof(v))
    return 0;
  if (kind & VM_BIG)
    v = (long)__builtin_bswap64((unsigned long)v);
  memcpy(p, &v, sizeof(v));
  return 1;
}

double vm_getscalar(const void *p, int kind)
{
  return getscalar(p, kind);
}

int vm_putscalar(void *p, int kind, double value)
{
  return putscalar(p, kind, value);
}

double vm_peek(lua_State *L, double addr, int kind)
{
  unsigned long long v;
  long a;
  if (!vm_isint(addr, &a) ||
      usermem_load(G2RUN(G(L)), &v, (unsigned long)a, vm_kind_size(kind)))
    return VM_NAN;
  return getscalar(&v, kind);
}

int vm_poke(lua_State *L, double addr, int kind, double value)
{
  unsigned long long v;
  long a;
  return vm_isint(addr, &a) && putscalar(&v, kind, value) &&
	 !usermem_store(G2RUN(G(L)), (unsigned long)a, &v, vm_kind_size(kind));
}

/* -- Arrays ---------------------------------------------------------------- */

/* Arguments of vm_copyin() and vm_copyout(), which store the position of a failure in them. */
struct span {
  unsigned long addr;
  unsigned int n, kind;
  unsigned int at;
};

static int span(struct span *sp, double addr, double n, int kind)
{
  long a, count;
  if (!vm_isint(addr, &a) || !vm_isint(n, &count) || count < 0 ||
      count > LJ_MAX_ASIZE - 2)
    return 0;
  sp->addr = (unsigned long)a;
  sp->n = (unsigned int)count;
  sp->kind = (unsigned int)kind;
  sp->at = 0;
  return 1;
}

/* The number of elements in the chunk of the copy that begins at sp->at, and its address. */
static unsigned int chunk(const struct span *sp, unsigned long *addr)
{
  unsigned int most = CHUNK / vm_kind_size(sp->kind);
  *addr = sp->addr + (unsigned long)sp->at * vm_kind_size(sp->kind);
  return sp->n - sp->at < most ? sp->n - sp->at : most;
}

static LJ_AINLINE unsigned int getscalars(GCtab *t, unsigned int at, const char *buf,
					  unsigned int n, int kind)
{
  unsigned int i;
  for (i = 0; i < n; i++) {
    double v = getscalar(buf + i * vm_kind_size(kind), kind);
    if (v != v)
      break;
    setnumV(arrayslot(t, at + i + 1), v);
  }
  return i;
}

static LJ_AINLINE unsigned int putscalars(GCtab *t, unsigned int at, char *buf,
					  unsigned int n, int kind)
{
  /* To the C compiler, @buf may alias the table. */
  const TValue *array = tvref(t->array);
  MSize asize = t->asize;
  unsigned int i;
  for (i = 0; i < n; i++) {
    MSize key = at + i + 1;
    cTValue *o = key < asize ? &array[key] : lj_tab_getinth(t, (int32_t)key);
    if (!o || !putvalue(buf + i * vm_kind_size(kind), kind, o))
      break;
  }
  return i;
}

/* One loop for each kind: a switch for each element would take most of the time. */
#define FOR_KIND(f, kind, ...) \
  switch (kind) { \
  case VM_U1: return f(__VA_ARGS__, VM_U1); \
  case VM_U2: return f(__VA_ARGS__, VM_U2); \
  case VM_U4: return f(__VA_ARGS__, VM_U4); \
  case VM_I1: return f(__VA_ARGS__, VM_I1); \
  case VM_I2: return f(__VA_ARGS__, VM_I2); \
  case VM_I4: return f(__VA_ARGS__, VM_I4); \
  case VM_B2: return f(__VA_ARGS__, VM_B2); \
  case VM_B4: return f(__VA_ARGS__, VM_B4); \
  case VM_B8: return f(__VA_ARGS__, VM_B8); \
  default: return f(__VA_ARGS__, VM_I8); \
  }

/* Converts elements from sp->at on, until one does not fit: returns how many. */
static unsigned int fromchunk(const struct span *sp, GCtab *t, const char *buf,
			      unsigned int n)
{
  FOR_KIND(getscalars, sp->kind, t, sp->at, buf, n)
}

static unsigned int tochunk(const struct span *sp, GCtab *t, char *buf, unsigned int n)
{
  FOR_KIND(putscalars, sp->kind, t, sp->at, buf, n)
}

static int copyin(lua_State *L, struct span *sp, GCtab *t)
{
  while (sp->at < sp->n) {
    char buf[CHUNK];
    unsigned long addr;
    unsigned int done, some = chunk(sp, &addr);
    lj_safepoint(L);
    if (usermem_copy_in(G2RUN(G(L)), buf, addr, some * vm_kind_size(sp->kind)))
      return 0;
    done = fromchunk(sp, t, buf, some);
    sp->at += done;
    if (done < some)
      return 0;
  }
  return 1;
}

static int copyout(lua_State *L, struct span *sp, GCtab *t)
{
  while (sp->at < sp->n) {
    char buf[CHUNK];
    unsigned long addr;
    unsigned int done, some = chunk(sp, &addr);
    lj_safepoint(L);
    done = tochunk(sp, t, buf, some);
    if (done < some) {
      sp->at += done;
      return 0;
    }
    if (usermem_copy_out(G2RUN(G(L)), addr, buf, some * vm_kind_size(sp->kind)))
      return 0;
    sp->at += some;
  }
  return 1;
}

GCtab *vm_copyin(lua_State *L, double addr, double n, int kind)
{
  struct span sp;
  GCtab *t;
  if (!span(&sp, addr, n, kind))
    return NULL;
  t = lj_tab_new_ah(L, (int32_t)sp.n, 0);
  return copyin(L, &sp, t) ? t : NULL;
}

int vm_copyout(lua_State *L, GCtab *t, double addr, double n, int kind)
{
  struct span sp;
  return span(&sp, addr, n, kind) && copyout(L, &sp, t);
}

/* False if it failed, with *@addr at the failing address. */
static int fill(lua_State *L, unsigned long *addr, int byte, long n)
{
  char buf[CHUNK];
  memset(buf, byte, n < CHUNK ? (size_t)n : CHUNK);
  while (n > 0) {
    MSize some = n < CHUNK ? (MSize)n : CHUNK;
    lj_safepoint(L);
    if (usermem_copy_out(G2RUN(G(L)), *addr, buf, some))
      return 0;
    *addr += some;
    n -= some;
  }
  return 1;
}

int vm_fill(lua_State *L, double addr, double byte, double n)
{
  long a, b, count;
  unsigned long at;
  if (!vm_isint(addr, &a) || !vm_isint(byte, &b) || b < 0 || b > 255 ||
      !vm_isint(n, &count) || count < 0)
    return 0;
  at = (unsigned long)a;
  return fill(L, &at, (int)b, count);
}

/* -- The library ----------------------------------------------------------- */

#define LJLIB_MODULE_util

/* Pushes a value that a number cannot hold, or raises an error if memory is not readable. */
static LJ_NOINLINE void pushwhole(lua_State *L, unsigned long addr, int kind)
{
  uint64_t v;
  if (usermem_copy_in(G2RUN(G(L)), &v, addr, vm_kind_size(kind)))
    vm_badaddr(L, addr);
  if (vm_kind_size(kind) == sizeof(v))
    kind == VM_I8 ? vm_pushlong(L, getlong(&v, kind)) :
		    vm_pushulong(L, (unsigned long)getlong(&v, kind));
  else
    lua_pushnumber(L, getscalar(&v, kind));  /* The memory has become readable meanwhile. */
}

/* util.peek(addr [, kind]) -> value */
LJLIB_CF(util_peek)		LJLIB_REC(.)
{
  unsigned long addr = checkaddr(L, 1);
  int kind = vm_checkkind(L, 2);
  double v = vm_peek(L, (double)(long)addr, kind);
  if (v != v)
    pushwhole(L, addr, kind);
  else
    lua_pushnumber(L, v);
  return 1;
}

/* util.poke(addr, kind, value) */
LJLIB_CF(util_poke)		LJLIB_REC(.)
{
  unsigned long addr = checkaddr(L, 1);
  int kind = vm_checkkind(L, 2);
  unsigned long long buf;
  long v;
  if (L->top - L->base < 3 || !vm_isint64(L->base + 2, &v))
    lj_lib_checknum(L, 3);
  if (!putvalue(&buf, kind, L->base + 2))
    lj_err_arg(L, 3, LJ_ERR_NUMRNG);
  if (usermem_store(G2RUN(G(L)), addr, &buf, vm_kind_size(kind)))
    vm_badaddr(L, addr);
  return 0;
}

static void checkspan(lua_State *L, struct span *sp, int narg)
{
  sp->addr = checkaddr(L, narg);
  sp->n = (unsigned int)vm_checkrange(L, narg + 1, 0, LJ_MAX_ASIZE - 2);
  sp->kind = (unsigned int)vm_checkkind(L, narg + 2);
  sp->at = 0;
}

/* Table @narg, with room for @n elements; or a new table. */
static GCtab *tablefor(lua_State *L, int narg, unsigned int n)
{
  GCtab *t;
  if (L->base + narg - 1 >= L->top || tvisnil(L->base + narg - 1))
    return lj_tab_new_ah(L, (int32_t)n, 0);
  t = lj_lib_checktab(L, narg);
  if (t->asize <= n)
    lj_tab_reasize(L, t, n);
  return t;
}

/* util.copyin(addr, n [, kind [, table]]) -> table */
LJLIB_CF(util_copyin)		LJLIB_REC(.)
{
  struct span sp;
  GCtab *t;
  checkspan(L, &sp, 1);
  t = tablefor(L, 4, sp.n);
  settabV(L, L->top++, t);
  while (!copyin(L, &sp, t)) {
    pushwhole(L, sp.addr + (unsigned long)sp.at * vm_kind_size(sp.kind), (int)sp.kind);
    lua_rawseti(L, -2, (int)++sp.at);
  }
  lj_gc_check(L);
  return 1;
}

/* util.copyout(table, addr, n [, kind]) */
LJLIB_CF(util_copyout)		LJLIB_REC(.)
{
  GCtab *t = lj_lib_checktab(L, 1);
  struct span sp;
  uint64_t v;
  checkspan(L, &sp, 2);
  if (!copyout(L, &sp, t)) {
    cTValue *o = lj_tab_getint(t, (int32_t)sp.at + 1);
    if (!o || !putvalue(&v, (int)sp.kind, o))
      luaL_error(L, "element %d is not an integer that fits", (int)sp.at + 1);
    vm_badaddr(L, sp.addr + (unsigned long)sp.at * vm_kind_size(sp.kind));
  }
  return 0;
}

/* Strings have up to 16 MiB: a safe point for each piece. */
#define PIECE	(64u << 10)

static MSize piece(lua_State *L, MSize left)
{
  lj_safepoint(L);
  return left < PIECE ? left : PIECE;
}

/* util.str_in(addr, n) -> string of n bytes */
LJLIB_CF(util_str_in)
{
  unsigned long addr = checkaddr(L, 1);
  MSize n = (MSize)vm_checkrange(L, 2, 0, LJ_MAX_STR - 1);
  char *buf = lj_buf_tmp(L, n);
  MSize at, some;
  for (at = 0; at < n; at += some) {
    some = piece(L, n - at);
    if (usermem_copy_in(G2RUN(G(L)), buf + at, addr + at, some))
      vm_badaddr(L, addr);
  }
  lj_safepoint(L);
  setstrV(L, L->top++, lj_str_new(L, buf, n));
  lj_gc_check(L);
  return 1;
}

/* util.str_out(s, addr [, n]): at most n bytes, never a NUL; -> bytes */
LJLIB_CF(util_str_out)
{
  GCstr *s = lj_lib_checkstr(L, 1);
  unsigned long addr = checkaddr(L, 2);
  MSize n = s->len, at, some;
  if (L->base+2 < L->top && !tvisnil(L->base+2)) {
    long max = vm_checkrange(L, 3, 0, VM_INT_MAX);
    if (max < (long)n)
      n = (MSize)max;
  }
  for (at = 0; at < n; at += some) {
    some = piece(L, n - at);
    if (usermem_copy_out(G2RUN(G(L)), addr + at, strdata(s) + at, some))
      vm_badaddr(L, addr);
  }
  lua_pushnumber(L, n);
  return 1;
}

/* util.fill(addr, byte, n) */
LJLIB_CF(util_fill)		LJLIB_REC(.)
{
  unsigned long addr = checkaddr(L, 1);
  int byte = (int)vm_checkrange(L, 2, 0, 255);
  long n = vm_checkrange(L, 3, 0, VM_INT_MAX);
  if (!fill(L, &addr, byte, n))
    vm_badaddr(L, addr);
  return 0;
}

/* util.compare(a, b, n) -> -1, 0, 1 */
LJLIB_CF(util_compare)
{
  unsigned long a = checkaddr(L, 1), b = checkaddr(L, 2);
  long n = vm_checkrange(L, 3, 0, VM_INT_MAX);
  char abuf[CHUNK / 2], bbuf[CHUNK / 2];
  int cmp = 0;
  while (n > 0 && cmp == 0) {
    MSize some = n < CHUNK / 2 ? (MSize)n : CHUNK / 2;
    lj_safepoint(L);
    if (usermem_copy_in(G2RUN(G(L)), abuf, a, some))
      vm_badaddr(L, a);
    if (usermem_copy_in(G2RUN(G(L)), bbuf, b, some))
      vm_badaddr(L, b);
    cmp = memcmp(abuf, bbuf, some);
    a += some;
    b += some;
    n -= some;
  }
  lua_pushnumber(L, cmp < 0 ? -1 : cmp > 0);
  return 1;
}

/* Copies at most @n bytes to @buf, up to the next multiple of CHUNK; returns how many. */
static MSize nextpiece(lua_State *L, char *buf, unsigned long addr, long n)
{
  long left = CHUNK - (long)(addr & (CHUNK - 1));
  MSize some = (MSize)(n < left ? n : left);
  lj_safepoint(L);
  if (usermem_copy_in(G2RUN(G(L)), buf, addr, some))
    vm_badaddr(L, addr);
  return some;
}

/* The set in argument @narg: a string of its members, or a number, which is its only one. */
static void checkset(lua_State *L, int narg, struct bytes_set *set)
{
  if (L->base + narg - 1 < L->top && tvisnumber(L->base + narg - 1)) {
    char byte = (char)vm_checkrange(L, narg, 0, 255);
    bytes_set(set, &byte, 1);
  } else {
    GCstr *s = lj_lib_checkstr(L, narg);
    if (s->len > BYTES_SET_MOST)
      luaL_argerror(L, narg, "more than 256 bytes");
    bytes_set(set, strdata(s), s->len);
  }
}

/* util.find(addr, n, set) -> offset of the first byte in the set, or nil */
LJLIB_CF(util_find)
{
  unsigned long addr = checkaddr(L, 1);
  long i, n = vm_checkrange(L, 2, 0, VM_INT_MAX);
  struct bytes_set set;
  MSize some, found;
  char buf[CHUNK];
  checkset(L, 3, &set);
  for (i = 0; i < n; i += some) {
    some = nextpiece(L, buf, addr + (unsigned long)i, n - i);
    found = (MSize)bytes_find(&set, buf, some);
    if (found < some) {
      lua_pushnumber(L, (lua_Number)(i + found));
      return 1;
    }
  }
  lua_pushnil(L);
  return 1;
}

/* util.number(addr, n) -> decimal integer, and the bytes that it takes; or nil */
LJLIB_CF(util_number)
{
  unsigned long addr = checkaddr(L, 1);
  long i, n = vm_checkrange(L, 2, 0, VM_INT_MAX);
  struct bytes_number number;
  char buf[CHUNK];
  MSize some;
  memset(&number, 0, sizeof(number));
  for (i = 0; i < n; i += some) {
    some = nextpiece(L, buf, addr + (unsigned long)i, n - i);
    if (!bytes_number(&number, buf, some))
      break;
  }
  if (!bytes_is_number(&number)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushnumber(L, (lua_Number)bytes_number_value(&number));
  lua_pushnumber(L, (lua_Number)number.n);
  return 2;
}

/* Made when a script first asks for a checksum; in its memory from then on. */
static const struct bytes_crc *crctables(lua_State *L)
{
  struct vm *vm = G2VM(G(L));
  if (!vm->crc) {
    struct bytes_crc *made = lj_mem_newt(L, sizeof(*made), struct bytes_crc);
    bytes_crc_init(made);
    vm->crc = made;
  }
  return vm->crc;
}

/* util.crc32(addr, n [, crc]) -> the checksum, which goes on from an earlier one */
LJLIB_CF(util_crc32)
{
  unsigned long addr = checkaddr(L, 1);
  long n = vm_checkrange(L, 2, 0, VM_INT_MAX);
  unsigned int crc = 0;
  const struct bytes_crc *tables;
  char buf[CHUNK];
  MSize some;
  if (L->base+2 < L->top && !tvisnil(L->base+2))
    crc = (unsigned int)vm_checkrange(L, 3, 0, 0xffffffffL);
  tables = crctables(L);
  for (; n > 0; n -= some, addr += some) {
    some = nextpiece(L, buf, addr, n);
    crc = bytes_crc32(tables, crc, buf, some);
  }
  lua_pushnumber(L, crc);
  return 1;
}

LJ_NOINLINE void vm_noscratch(lua_State *L)
{
  luaL_error(L, "no memory for the script's buffer");
  __builtin_unreachable();
}

/* util.buffer(n) -> address of n zero bytes that live as long as the script */
LJLIB_CF(util_buffer)
{
  struct vm *vm = G2VM(G(L));
  long n = vm_checkrange(L, 1, 0, SCRATCH_SIZE);
  unsigned int left = SCRATCH_SIZE - VM_SCRATCH_STRINGS - vm->scratch_used;
  unsigned long addr = vm_scratch(L);
  n = (n + 15) & ~15L;
  if (!addr)
    vm_noscratch(L);
  if (n > (long)left)
    luaL_error(L, "no room: the script's buffer has %d bytes left", (int)left);
  addr += vm->scratch_used;
  vm->scratch_used += (unsigned int)n;
  lua_pushnumber(L, (double)addr);
  return 1;
}

int vm_pending(lua_State *L)
{
  return run_pending(G2RUN(G(L)));
}

/* util.pending() -> does a signal wait for the end of this call? */
LJLIB_CF(util_pending)		LJLIB_REC(.)
{
  int pending = vm_pending(L);
  setboolV(L->top, pending);
  L->top++;
  return 1;
}

#include "lj_libdef.h"

static const char struct_source[] = {
#include "struct.inc"
};

static const char types_source[] = {
#include "types.inc"
};

static const char *util_source(lua_State *L, const char *part, size_t *size)
{
  int is_struct = part[0] == 's';
  UNUSED(L);
  *size = is_struct ? sizeof(struct_source) : sizeof(types_source);
  return is_struct ? struct_source : types_source;
}

#include "util_parts.h"

void vm_open_util(lua_State *L)
{
  LJ_LIB_REG(L, "util", util);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, util_index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  L->top--;
}
