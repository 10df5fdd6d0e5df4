/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Valgrind and sanitizers, under which a process may run, need hints from the library:
 * docs/debuggers.md.
 */
#ifndef LIB_TOOLS_H
#define LIB_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"

/*
 * RUNNING_ON_VALGRIND. Valgrind would take memory that scripts in the kernel write for
 * uninitialised.
 */
static inline bool on_valgrind(void)
{
	return valgrind_request(0x1001, 0, 0);
}

/* VALGRIND_STACK_REGISTER: Valgrind must not take a switch to this stack for stack growth. */
static inline void tools_stack(void *stack, size_t size)
{
	valgrind_request(0x1501, (unsigned long)stack, (unsigned long)stack + size - 1);
}

/*
 * Programs are instrumented by sanitizers, the library is not, so it reports its accesses to
 * them.
 */
void __tsan_acquire(void *p) __attribute__((weak));
void __tsan_release(void *p) __attribute__((weak));
void __msan_unpoison(const volatile void *p, size_t n) __attribute__((weak));

/* Orders this thread after all threads that have called tools_release(@p). */
static inline void tools_acquire(void *p)
{
	if (__tsan_acquire)
		__tsan_acquire(p);
}

static inline void tools_release(void *p)
{
	if (__tsan_release)
		__tsan_release(p);
}

/* Tells sanitizers that the library has written @n bytes. */
static inline void tools_written(const volatile void *p, size_t n)
{
	if (__msan_unpoison)
		__msan_unpoison(p, n);
}

#endif /* LIB_TOOLS_H */
