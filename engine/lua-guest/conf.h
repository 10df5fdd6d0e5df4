/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Lua's configuration for an image of the confined engine: numbers are 64-bit
 * integers, errors are thrown by the engine, there are neither files nor locales.
 * luaconf.h includes it last.
 */
#ifndef LUA_GUEST_CONF_H
#define LUA_GUEST_CONF_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* -- One file: see guest.c ---------------------------------------------------- */

#undef LUAI_FUNC
#undef LUAI_DATA
#undef LUA_API
#undef LUALIB_API
#define LUAI_FUNC	static
#define LUAI_DATA	extern
#define LUA_API		static
#define LUALIB_API	static

/* -- Numbers ----------------------------------------------------------------- */

#undef LUA_NUMBER_DOUBLE
#undef LUA_NUMBER
#undef LUAI_UACNUMBER
#undef LUA_INTEGER
#undef LUA_NUMBER_FMT
#undef lua_number2str
#undef lua_str2number
#undef luai_numdiv
#undef luai_nummod
#undef luai_numpow
#undef luai_numisnan
#undef lua_number2int
#undef lua_number2integer
#undef LUAI_USER_ALIGNMENT_T

#define LUA_NUMBER		long
#define LUAI_UACNUMBER		long
#define LUA_INTEGER		long
#define LUA_NUMBER_FMT		"%ld"
#define lua_number2str(s, n)	guest_format(s, LUA_NUMBER_FMT, n)
#define lua_str2number(s, end)	guest_number(s, end)
#define luai_numdiv(a, b)	guest_divide(a, b)
#define luai_nummod(a, b)	((a) - guest_divide(a, b) * (b))
#define luai_numpow(a, b)	guest_power(a, b)
#define luai_numisnan(a)	0
#define lua_number2int(i, n)	((i) = (int)(n))
#define lua_number2integer(i, n) ((i) = (n))
#define LUAI_USER_ALIGNMENT_T	union { void *s; long l; }

#undef LUA_INTFRMLEN
#undef LUA_INTFRM_T
#define LUA_INTFRMLEN		"l"
#define LUA_INTFRM_T		long

/* -- Errors ------------------------------------------------------------------ */

#undef LUAI_THROW
#undef LUAI_TRY
#undef luai_jmpbuf

/* luaD_rawrunprotected() is the only user of this: f, L and ud are its arguments. */
#define LUAI_TRY(L, c, a)	guest_try(f, L, ud)
#define LUAI_THROW(L, c)	guest_throw()
#define luai_jmpbuf		int

#define luai_format(fmt, ...)	fmt
#define luai_args(fmt, ...)	((const long[]){ 0, ##__VA_ARGS__ } + 1)

/* -- Memory -------------------------------------------------------------------- */

/* It is little, and Lua 5.1 does not collect when there is no more. */
#undef LUAI_GCPAUSE
#define LUAI_GCPAUSE		110

/* -- The C library ------------------------------------------------------------ */

/* A frame of the stack, which is small, has one. */
#undef LUAL_BUFFERSIZE
#define LUAL_BUFFERSIZE		512

#define sprintf(to, fmt, v)	guest_format(to, fmt, (long)(v))
#define strtoul(s, end, base)	guest_strtoul(s, end, base)
#define strcoll(a, b)		strcmp(a, b)
#define exit(status)		__builtin_trap()
#define localeconv()		((struct lconv *)0)

#endif /* LUA_GUEST_CONF_H */
