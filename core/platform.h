/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Parts of the core are compiled twice, for the module and for libsyscript (program.c, request.c,
 * output.h).  Functions that differ between kernel and user space are declared here, under the
 * kernel's names where the kernel has them.
 */
#ifndef SYSCRIPT_PLATFORM_H
#define SYSCRIPT_PLATFORM_H

#include "types.h"

#ifdef __KERNEL__

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static inline void *platform_zalloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

#define platform_free		kvfree
#define PLATFORM_FREES_LATER	0

/* Held for a few loads, never across a call that sleeps. */
struct platform_lock {
	spinlock_t lock;
};

#define platform_lock_init(l)	spin_lock_init(&(l)->lock)
#define platform_lock(l)	spin_lock(&(l)->lock)
#define platform_unlock(l)	spin_unlock(&(l)->lock)

#else

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lock.h"

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define scnprintf		snprintf

static inline void strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
}

static inline void *platform_zalloc(size_t size)
{
	return calloc(1, size);
}

#define platform_free		free
/* A signal handler may call a script in the middle of malloc() or free(). */
#define PLATFORM_FREES_LATER	1

/* One lock for all programs, held for a few loads. */
struct platform_lock {
};

#define platform_lock_init(l)	((void)(l))
#define platform_lock(l)	lock_take(((void)(l), LOCK_PROGRAMS))
#define platform_unlock(l)	lock_give(((void)(l), LOCK_PROGRAMS))

#endif

#endif /* SYSCRIPT_PLATFORM_H */
