/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A seccomp filter that kills only a thread calls do_exit() at once, in the middle of a run,
 * whose locks, references and memory would be lost. So do_exit() is deferred: the run ends first,
 * and the thread exits before it returns to user mode.
 */
#ifndef SYSCRIPT_DEFERRED_EXIT_H
#define SYSCRIPT_DEFERRED_EXIT_H

#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/types.h>

/* If do_exit() cannot be hooked, deferred_exit_can_wait() stays false. */
void deferred_exit_init(void);
void deferred_exit_exit(void);

bool deferred_exit_can_wait(void);

/*
 * Calls filters_ask() and returns its result; -1 if a filter has ended the thread:
 * current->seccomp.mode says so.
 */
long deferred_exit_guard(void);

/* Has a filter ended the thread?  It exits when its pending task works are run. */
static inline bool deferred_exit_is_queued(void)
{
#ifdef CONFIG_SECCOMP_FILTER
	return current->seccomp.mode > SECCOMP_MODE_FILTER;
#else
	return false;
#endif
}

#endif /* SYSCRIPT_DEFERRED_EXIT_H */
