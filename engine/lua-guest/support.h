/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What Lua gets from the engine, and in place of the C library's.
 */
#ifndef LUA_GUEST_SUPPORT_H
#define LUA_GUEST_SUPPORT_H

#include <stddef.h>

#include "guest.h"

struct lua_State;

/* -- The engine: see IMAGE_CALL_* --------------------------------------------- */

/* Calls @f; a guest_throw() inside of it ends it. */
static void guest_try(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud);
static void guest_throw(void);

/* System call @nr, or -ENOSYS; returns -errno. */
static long guest_syscall(long nr, const long args[6]);

/* -- Memory: a lua_Alloc -------------------------------------------------------- */

static void guest_heap(struct guest_call *call);
/* Says in @call what is in use. */
static void set_memory(struct guest_call *call);
static void *guest_alloc(void *unused, void *p, size_t old_size, size_t new_size);

/* Is all of [address, address + n) in the arena? */
static int guest_in_arena(unsigned long address, unsigned long n);

/* -- Numbers -------------------------------------------------------------------- */

/* Rounds down. */
static long guest_divide(long a, long b);
static long guest_power(long a, long b);

/* As strtol() and strtoul(), but without errno; "1e3" is 1000. */
static long guest_number(const char *s, char **end);
static unsigned long guest_strtoul(const char *s, char **end, int base);

/* As sprintf(), for one integer, character, pointer or string. */
static void guest_format(char *to, const char *format, long v);

#endif /* LUA_GUEST_SUPPORT_H */
