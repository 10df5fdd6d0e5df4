/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls on another stack: arm64 takes bit 14 of the stack pointer for an overflow of the task's
 * stack, so no code of a script runs on another one, and generated code has a stack that another
 * register addresses (engine/confined/arch/arm64/registers.h).
 */
#ifndef SYSCRIPT_ARCH_HOME_H
#define SYSCRIPT_ARCH_HOME_H

#include <linux/bug.h>
#include <linux/errno.h>

/* Engines get no stack: see run.h. */
#define ARCH_SWITCHES_STACKS	0
/* Functions that a filter leaves by do_exit() cannot be made to return: see deferred_exit.c. */
#define ARCH_RETURNS_FROM_EXIT	0

#define ARCH_CALL_ON(home, entry, regs)	(entry)(regs)
#define ARCH_KEEP_RESULT(ret)		((void)(ret))

static inline long stack_on(long (*fn)(void *), void *arg, void *top, void **home)
{
	WARN_ON_ONCE(1);
	return -EOPNOTSUPP;
}

static inline long stack_off(long (*fn)(void *), void *arg, void *home)
{
	WARN_ON_ONCE(1);
	return -EOPNOTSUPP;
}

static inline void stack_abandon(long ret, void *home)
{
	WARN_ON_ONCE(1);
}

#endif /* SYSCRIPT_ARCH_HOME_H */
