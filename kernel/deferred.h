/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that a run lets go of.
 *
 * Who drops the last reference to a file leaves the release to the return to
 * user space: fput() queues task work.  close(2) does not wait since 6.6, all
 * else does: dup2(2), munmap(2) of a mapped file, on 6.1 even an open(2) that
 * fails.  A run with thousands of calls and one return would pile up released
 * files until the system's table is full, and would not see what releasing
 * does: a pipe's end, a free port, a lock given up.  So this is done after each
 * call that left such work.
 */
#ifndef SYSCRIPT_DEFERRED_H
#define SYSCRIPT_DEFERRED_H

#include <linux/compiler.h>
#include <linux/sched.h>

/* 0, or -errno where files cannot be released before the return. */
int deferred_init(void);

/* What was there before the call, for deferred_release(). */
static inline const struct callback_head *deferred_mark(void)
{
	return READ_ONCE(current->task_works);
}

void __deferred_release(void);

/* Releases the files whose last reference the call has dropped.  May sleep. */
static inline void deferred_release(const struct callback_head *mark)
{
	if (unlikely(deferred_mark() != mark))
		__deferred_release();
}

#endif /* SYSCRIPT_DEFERRED_H */
