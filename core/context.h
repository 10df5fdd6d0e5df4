/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The contexts that programs run in, and what may be done in each: context.def.
 *
 * An image lists its calls, so the checker looks each up in the table once, before its other
 * checks; code cannot reach a refused call.  A call whose number is computed at run time
 * (IMAGE_CALL_SYSCALL) is refused by the checker, and again by machine_call().  An engine whose
 * programs cannot say beforehand what they will do has one context: engine_ops.contexts.
 */
#ifndef SYSCRIPT_CONTEXT_H
#define SYSCRIPT_CONTEXT_H

/**
 * enum context - where a program runs
 * @CONTEXT_PROCESS: in the process that registered it, on its behalf; may sleep
 * @CONTEXT_ATOMIC:  in interrupt context, or with bottom halves off: may not sleep or use the
 *                   current task
 * @CONTEXT_SHARED:  in any process, as the base of programs that extend it (shared.h); charged to
 *                   no user
 */
enum context { CONTEXT_PROCESS, CONTEXT_ATOMIC, CONTEXT_SHARED };

#define IN_PROCESS	(1U << CONTEXT_PROCESS)
#define IN_ATOMIC	(1U << CONTEXT_ATOMIC)
#define IN_SHARED	(1U << CONTEXT_SHARED)

enum context_use {
#define CONTEXT_USE(use, contexts, why)	CONTEXT_##use,
#include "context.def"
};

/* NULL if @use is allowed in @context; otherwise the reason, as text for users. */
static inline const char *context_refuses(enum context context, enum context_use use)
{
	static const struct {
		unsigned int contexts;
		const char *why;
	} uses[] = {
#define CONTEXT_USE(use, contexts, why)	{ contexts, why },
#include "context.def"
	};

	return uses[use].contexts & 1U << context ? (const char *)0 : uses[use].why;
}

#endif /* SYSCRIPT_CONTEXT_H */
