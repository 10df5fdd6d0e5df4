/* SPDX-License-Identifier: GPL-2.0 */
/* Locks that are everybody's. */
#ifndef SYSCRIPT_LOCKS_H
#define SYSCRIPT_LOCKS_H

#include <linux/mutex.h>
#include <linux/sched/mm.h>

/*
 * For lockdep: nothing allocates memory that may be waited for with @lock held.  Who
 * is over their cgroup's limit sleeps there for seconds, and with a lock of all users
 * they would make all wait.
 */
static inline void locks_allocate_nothing(struct mutex *lock)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(lock);
	fs_reclaim_release(GFP_KERNEL);
}

#endif /* SYSCRIPT_LOCKS_H */
