/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The functions of the C library that Lua needs, implemented with the engine's calls. */
#ifndef LUA_RUNTIME_SUPPORT_H
#define LUA_RUNTIME_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime.h"

struct lua_State;

/* -- The engine: see IMAGE_CALL_* --------------------------------------------- */

/* Frequently used variables come first, because offsets of 16 bits need no relocation. */
#define HOT	__attribute__((section(".data.hot")))

/* The current call, or the last one. */
static HOT struct runtime_call *runtime;

/* Was a library function replaced that compiled code may have inlined?  It then checks. */
static HOT unsigned int runtime_replaced;

/* Does the run have to end?  Then only its beginning catches errors. */
static inline int runtime_stops(void)
{
	return *(const volatile uint64_t *)&runtime->stop != 0;
}

/* Calls @f; a runtime_throw() within it returns here. */
static void runtime_try(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud);
static void runtime_throw(void);

/* Notes that the script's state depends on more than its text: RUNTIME_ON_*. */
static inline void runtime_depends(unsigned int on);

/* System call @nr, or -ENOSYS; returns -errno. */
static long runtime_syscall(long nr, const long args[6]);

/* Batch @op, one of enum image_batch, with its structure. */
static long runtime_batch(long op, void *batch);

/* -- Memory: a lua_Alloc -------------------------------------------------------- */

static void runtime_heap(struct runtime_call *call);
static void *runtime_alloc(void *unused, void *p, size_t old_size, size_t new_size);

/* Number of free bytes in the heap. */
static unsigned long runtime_spare(void);

/* Are few bytes of the heap free? */
static bool runtime_is_short(void);

/* Is all of [address, address + n) in the arena? */
static int runtime_in_arena(unsigned long address, unsigned long n);

/* -- Text ----------------------------------------------------------------------- */

/* Prints a number as "%.14g". */
static void num_print(char *to, long n);

/* As sprintf(), for one integer, character, pointer or string. */
static void runtime_format(char *to, const char *format, long v);

#endif /* LUA_RUNTIME_SUPPORT_H */
