/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a module calls a program, on architectures without code of their own for it; included by
 * <linux/syscript_program.h>.
 */
#ifndef _LINUX_SYSCRIPT_PERCPU_H
#define _LINUX_SYSCRIPT_PERCPU_H

#include <linux/compiler.h>
#include <linux/types.h>

struct syscript_percpu_ctx;

/* In stubs.S: returns the result and frees the context. */
s64 syscript_ctx_run(struct syscript_percpu_ctx *ctx);

static __always_inline s64 syscript_ctx_run_here(struct syscript_percpu_ctx *ctx)
{
	return syscript_ctx_run(ctx);
}

/* Decrements @counter: true if it has become 0. */
static __always_inline bool syscript_count_down(u32 *counter)
{
	return !--*counter;
}

#endif /* _LINUX_SYSCRIPT_PERCPU_H */
