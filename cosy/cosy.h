/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Compounds: marked segments of C that run in the kernel, with one mode switch for
 * all of their system calls. cosy(7) describes the C that a segment may contain and
 * these functions, cosy-cc(1) the compiler.
 *
 *	COSY_START;
 *	while ((n = read(from, buf, sizeof(buf))) > 0)
 *		if (write(to, buf, n) != n)
 *			break;
 *	COSY_END;
 *
 * COSY_FUNCTION before the definition of a function makes all of it a segment.
 * COSY_VARIABLE before the declaration of a variable that several files use lets
 * segments use it; all of these files must be compiled by cosy-cc.
 * COSY_SHARED(p) is p, asserted to point into the shared buffer. Other compilers
 * ignore the marks.
 */
#ifndef COSY_H
#define COSY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __COSY__

void __cosy_start(void);
void __cosy_end(void);
void *cosy_shared(const volatile void *p);

#define COSY_START	__cosy_start()
#define COSY_END	__cosy_end()
#define COSY_FUNCTION	__attribute__((annotate("cosy_function"), noinline))
#define COSY_VARIABLE	__attribute__((section("cosy.variables")))
#define COSY_SHARED(p)	((__typeof__(p))cosy_shared(p))

#else

#define COSY_START	((void)0)
#define COSY_END	((void)0)
#define COSY_FUNCTION
#define COSY_VARIABLE
#define COSY_SHARED(p)	(p)

#endif

/*
 * Memory in the shared buffer, where segments and the rest of the program follow
 * the same pointers.  As malloc(3) and its family; freed by cosy_free() only.
 */
void *cosy_malloc(size_t size);
void *cosy_calloc(size_t n, size_t size);
void *cosy_realloc(void *p, size_t size);
void cosy_free(void *p);

#ifdef __cplusplus
}
#endif

#endif /* COSY_H */
