/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work of the kernel's that waits for the return to user mode, and may not wait
 * for a run to come to its end.
 *
 * Files: who drops the last reference to one leaves the release to the return,
 * as task work that fput() queues.  close(2) does not wait since 6.6, all else
 * does: dup2(2), munmap(2) of a mapped file, on 6.1 even an open(2) that fails.
 * A run with thousands of calls and one return would pile up released files until
 * the system's table is full, and would not see what releasing does: a pipe's
 * end, a free port, a lock.  So this is done after each call that left such work.
 *
 * Timers and limits of CPU time (setitimer(2), timer_create(2), RLIMIT_CPU): their
 * signals are sent by task work as well.
 */
#ifndef SYSCRIPT_DEFERRED_H
#define SYSCRIPT_DEFERRED_H

#include <linux/compiler.h>
#include <linux/sched.h>

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

#ifdef CONFIG_POSIX_CPU_TIMERS_TASK_WORK
/* Has a timer of CPU time expired? */
static inline bool deferred_timers_due(void)
{
	return READ_ONCE(current->posix_cputimers_work.scheduled);
}

/* Sends the signals.  May sleep. */
void deferred_run_timers(void);
#else
static inline bool deferred_timers_due(void)
{
	return false;
}

static inline void deferred_run_timers(void)
{
}
#endif

#endif /* SYSCRIPT_DEFERRED_H */
