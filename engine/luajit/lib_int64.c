/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
** Integers of 64 bits: the operators of cdata, which take the place of LuaJIT's lib_ffi.c.
**
** Scripts get such integers from literals (1LL, 1ULL), and from calls and memory where a number
** cannot hold the value.  There are no other C types: nothing parses their names, so no script can
** make a pointer, and the core has no code that reads or calls one (LJ_HASCTYPES).
*/
#define lib_int64_c
#define LUA_LIB

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_tab.h"
#include "lj_state.h"
#include "lj_ctype.h"
#include "lj_cdata.h"
#include "lj_carith.h"
#include "lj_strfmt.h"
#include "lj_lib.h"

#include "lib.h"

#define LJLIB_MODULE_ffi_meta

LJLIB_CF(ffi_meta___eq)		LJLIB_REC(cdata_arith MM_eq)
{
  return lj_carith_op(L, MM_eq);
}

LJLIB_CF(ffi_meta___len)	LJLIB_REC(cdata_arith MM_len)
{
  return lj_carith_op(L, MM_len);
}

LJLIB_CF(ffi_meta___lt)		LJLIB_REC(cdata_arith MM_lt)
{
  return lj_carith_op(L, MM_lt);
}

LJLIB_CF(ffi_meta___le)		LJLIB_REC(cdata_arith MM_le)
{
  return lj_carith_op(L, MM_le);
}

LJLIB_CF(ffi_meta___concat)	LJLIB_REC(cdata_arith MM_concat)
{
  return lj_carith_op(L, MM_concat);
}

LJLIB_CF(ffi_meta___add)	LJLIB_REC(cdata_arith MM_add)
{
  return lj_carith_op(L, MM_add);
}

LJLIB_CF(ffi_meta___sub)	LJLIB_REC(cdata_arith MM_sub)
{
  return lj_carith_op(L, MM_sub);
}

LJLIB_CF(ffi_meta___mul)	LJLIB_REC(cdata_arith MM_mul)
{
  return lj_carith_op(L, MM_mul);
}

LJLIB_CF(ffi_meta___div)	LJLIB_REC(cdata_arith MM_div)
{
  return lj_carith_op(L, MM_div);
}

LJLIB_CF(ffi_meta___mod)	LJLIB_REC(cdata_arith MM_mod)
{
  return lj_carith_op(L, MM_mod);
}

LJLIB_CF(ffi_meta___pow)	LJLIB_REC(cdata_arith MM_pow)
{
  return lj_carith_op(L, MM_pow);
}

LJLIB_CF(ffi_meta___unm)	LJLIB_REC(cdata_arith MM_unm)
{
  return lj_carith_op(L, MM_unm);
}

LJLIB_CF(ffi_meta___tostring)
{
  GCcdata *cd;
  if (!(L->base < L->top && tviscdata(L->base)))
    lj_err_argt(L, 1, LUA_TCDATA);
  cd = cdataV(L->base);
  setstrV(L, L->top-1, lj_ctype_repr_int64(L, *(uint64_t *)cdataptr(cd),
					   cd->ctypeid == CTID_UINT64));
  lj_gc_check(L);
  return 1;
}

LJLIB_PUSH("ffi") LJLIB_SET(__metatable)

#include "lj_libdef.h"

/* Called by the lexer and vm_pushlong(), for a script's first such integer. */
LUALIB_API int luaopen_ffi(lua_State *L)
{
  lj_ctype_init(L);
  LJ_LIB_REG(L, NULL, ffi_meta);
  /* NOBARRIER: basemt is a GC root. */
  setgcref(basemt_it(G(L), LJ_TCDATA), obj2gco(tabV(L->top-1)));
  return 1;
}

static void pushcdata(lua_State *L, CTypeID id, uint64_t v)
{
  GCcdata *cd;
  ctype_loadffi(L);
  cd = lj_cdata_new_(L, id, sizeof(v));
  *(uint64_t *)cdataptr(cd) = v;
  setcdataV(L, L->top, cd);
  incr_top(L);
  lj_gc_check(L);
}

LJ_NOINLINE void vm_pushlong(lua_State *L, long v)
{
  if (vm_holds(v))
    lua_pushnumber(L, (lua_Number)v);
  else
    pushcdata(L, CTID_INT64, (uint64_t)v);
}

LJ_NOINLINE void vm_pushulong(lua_State *L, unsigned long v)
{
  if (v <= VM_INT_MAX)
    lua_pushnumber(L, (lua_Number)v);
  else
    pushcdata(L, CTID_UINT64, v);
}
