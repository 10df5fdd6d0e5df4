/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Tools that a process runs under, which the library has to help: docs/debuggers.md.
 */
#ifndef LIB_TOOLS_H
#define LIB_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"

/* RUNNING_ON_VALGRIND.  What the kernel's scripts write it would take for uninitialised. */
static inline bool on_valgrind(void)
{
	return valgrind_request(0x1001, 0, 0);
}

/* VALGRIND_STACK_REGISTER: coming here from another stack is no growth of that one. */
static inline void tools_stack(void *stack, size_t size)
{
	valgrind_request(0x1501, (unsigned long)stack, (unsigned long)stack + size - 1);
}

/* Sanitizers see what programs do that are built with them, and the library is not. */
void __tsan_acquire(void *p) __attribute__((weak));
void __tsan_release(void *p) __attribute__((weak));
void __msan_unpoison(const volatile void *p, size_t n) __attribute__((weak));

/* What threads did with @p before tools_release() is before what this one does. */
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

/* The library has written @n bytes. */
static inline void tools_written(const volatile void *p, size_t n)
{
	if (__msan_unpoison)
		__msan_unpoison(p, n);
}

#endif /* LIB_TOOLS_H */
