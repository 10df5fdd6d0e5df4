/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Lua's configuration for an image of the confined engine: numbers are words
 * (number.h), errors are thrown by the engine, there are neither files nor locales.
 * luaconf.h includes it last.
 */
#ifndef LUA_RUNTIME_CONF_H
#define LUA_RUNTIME_CONF_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "support.h"

/* -- One file: see runtime.c ---------------------------------------------------- */

#undef LUAI_FUNC
#undef LUAI_DATA
#undef LUA_API
#undef LUALIB_API
#define LUAI_FUNC	static
#define LUAI_DATA	extern
#define LUA_API		static
#define LUALIB_API	static

/*
 * Features of earlier versions that LuaJIT lacks: luaconf.h's compatibility switches are
 * undefined.
 */
#undef LUA_COMPAT_GETN
#undef LUA_COMPAT_LOADLIB
#undef LUA_COMPAT_VARARG
#undef LUA_COMPAT_MOD
#undef LUA_COMPAT_LSTR
#undef LUA_COMPAT_GFIND
#undef LUA_COMPAT_OPENLIB

/* -- Numbers ----------------------------------------------------------------- */

#undef LUA_NUMBER_DOUBLE
#undef LUA_NUMBER
#undef LUAI_UACNUMBER
#undef LUA_INTEGER
#undef LUA_NUMBER_FMT
#undef lua_number2str
#undef lua_str2number
#undef luai_numadd
#undef luai_numsub
#undef luai_nummul
#undef luai_numdiv
#undef luai_nummod
#undef luai_numpow
#undef luai_numunm
#undef luai_numeq
#undef luai_numlt
#undef luai_numle
#undef luai_numisnan
#undef lua_number2int
#undef lua_number2integer
#undef LUAI_USER_ALIGNMENT_T

#define LUA_NUMBER		long
#define LUAI_UACNUMBER		long
#define LUA_INTEGER		long
#define LUA_NUMBER_FMT		"%.14g"
#define lua_number2str(s, n)	num_print(s, n)
#define lua_str2number(s, end)	num_parse(s, end)
#define luai_numadd(a, b)	num_add(a, b)
#define luai_numsub(a, b)	num_sub(a, b)
#define luai_nummul(a, b)	num_mul(a, b)
#define luai_numdiv(a, b)	num_div(a, b)
#define luai_nummod(a, b)	num_mod(a, b)
#define luai_numpow(a, b)	num_pow(a, b)
#define luai_numunm(a)		num_unm(a)
#define luai_numeq(a, b)	num_eq(a, b)
#define luai_numlt(a, b)	num_lt(a, b)
#define luai_numle(a, b)	num_le(a, b)
#define luai_numisnan(a)	((a) == NUM_NAN)
/* Equal to @n's word only if @n is an int. */
#define lua_number2int(i, n)	((i) = (int)(n))
#define lua_number2integer(i, n) ((i) = num_to_long(n))
#define LUAI_USER_ALIGNMENT_T	union { void *s; long l; }

/* -- Errors ------------------------------------------------------------------ */

#undef LUAI_THROW
#undef LUAI_TRY
#undef luai_jmpbuf

/* luaD_rawrunprotected() is the only user of this: f, L and ud are its arguments. */
#define LUAI_TRY(L, c, a)	runtime_try(f, L, ud)
#define LUAI_THROW(L, c)	runtime_throw()
#define luai_jmpbuf		int

/* A stop check: at jumps, at the beginning of functions, and in long C loops. */
#undef luai_threadyield
#define luai_threadyield(L)	{ if (runtime_stops()) runtime_end(L); }
struct lua_State;
static void runtime_end(struct lua_State *L);

/* After the clean-up here the error is thrown again to the next handler. */
#define luai_tried(lj)		{ if (runtime_stops()) (lj)->status = LUA_ERRERR; }

/* The running C function's name in messages, if its caller has none. */
static const char *luai_name(struct lua_State *L);

#define luai_format(fmt, ...)	fmt
#define luai_args(fmt, ...)	((const long[]){ 0, ##__VA_ARGS__ } + 1)

/* -- Memory -------------------------------------------------------------------- */

/* Collect early, because memory is small. */
#undef LUAI_GCPAUSE
#define LUAI_GCPAUSE		110

/* -- The C library ------------------------------------------------------------ */

/* A buffer lies in a stack frame, and the stack is small. */
#undef LUAL_BUFFERSIZE
#define LUAL_BUFFERSIZE		512

#define sprintf(to, fmt, v)	runtime_format(to, fmt, (long)(v))
#define strcoll(a, b)		strcmp(a, b)
#define exit(status)		__builtin_trap()
#define localeconv()		((struct lconv *)0)

#endif /* LUA_RUNTIME_CONF_H */
