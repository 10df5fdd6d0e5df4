/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The confined engine's files are built for the kernel and for processes: this is what they need
 * from either.
 */
#ifndef CONFINED_PORT_H
#define CONFINED_PORT_H

#include "../../core/types.h"

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>

/* Generated code returns through confined_return. */
#if defined(CONFIG_RETHUNK) || defined(CONFIG_MITIGATION_RETHUNK)
#define IMAGE_RETURN_STUB 1
#else
#define IMAGE_RETURN_STUB 0
#endif

/*
 * Room below the stack that an image requests: for C functions, until run.c switches stacks, and
 * for interrupts.
 */
#define IMAGE_STACK_RESERVE	(16U << 10)

/*
 * The part of the task's 16 KiB stack that code may use, which its system calls then lack. Code
 * that needs more gets a separate stack.
 */
#define IMAGE_STACK_SHARED	512

/* The fuel between two calls of machine_poll(), see machine.h. */
#define IMAGE_FUEL		MACHINE_FUEL

/* Bounds a program's index, which has been checked, in speculation as well. */
#define image_index(i, n)	array_index_nospec(i, n)

static inline void *image_alloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

#define image_free	kvfree

/*
 * To be called while processing many instructions: lets other tasks run. True if the task is to
 * die, from then on: the caller's result is of no use any more.
 */
static inline bool image_pause(u32 pc)
{
	if (pc % 1024)
		return false;
	cond_resched();
	return fatal_signal_pending(current);
}

#else

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_RETURN_STUB 0
#define __percpu

/* The program's signal handlers run on it, too. */
#define IMAGE_STACK_RESERVE	(64U << 10)
#define IMAGE_STACK_SHARED	2048

/* Larger, because a process is preempted in any case. */
#define IMAGE_FUEL		(64 * MACHINE_FUEL)

#define image_index(i, n)	(i)

#ifndef container_of
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#endif

/* Zeroed memory, or NULL. */
static inline void *image_alloc(size_t size)
{
	return calloc(1, size);
}

#define image_free	free

static inline bool image_pause(u32 pc)
{
	(void)pc;
	return false;
}

#endif /* __KERNEL__ */

#endif /* CONFINED_PORT_H */
