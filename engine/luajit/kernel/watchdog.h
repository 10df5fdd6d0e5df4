/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The second line behind clock.h: ends a run whose script code runs without preemption
 * and is seen by no tick of the clock.  That is a fault of the module, and the log says
 * so.
 *
 * It shares nothing with the clock but the count of its ticks.  A timer of its own per
 * CPU looks a few times a second at what it has interrupted, for as long as runs say
 * that they enter script code there: each does when it may have slept before, and so at
 * least once in a tick in which it makes system calls.
 *
 * A run that the timer has not heard of since its last look tells it again; so the timer
 * can stop by itself when there was none, unless what it has interrupted may be about to
 * enter script code.
 */
#ifndef SYSCRIPT_WATCHDOG_H
#define SYSCRIPT_WATCHDOG_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "atomic.h"

struct watchdog {
	struct hrtimer timer;
	bool armed;
	u64 heard;			/* id of the last run that told, since the check */
	/*
	 * The same run, which may have ended since: to be looked at only if its @task
	 * is seen on its @stack.
	 */
	struct atomic_run *run;
	struct task_struct *task;
	unsigned long stack;
	/* The run that the last check found in script code, or 0. */
	u64 found;
	unsigned long ticks, time, syscalls; /* its counters at that check */
	int quiet;
	unsigned int looks, unseen;	/* consecutive checks in the same stretch of script code */
};

DECLARE_PER_CPU(struct watchdog, watchdogs);

int watchdog_init(void);
void watchdog_exit(void);

/*
 * Called before a run enters script code, on that CPU, with preemption or bottom halves off; if
 * false, watchdog_tell() must be called.
 */
static __always_inline bool watchdog_knows(const struct atomic_run *atomic)
{
	return this_cpu_read(watchdogs.heard) == atomic->id;
}

void watchdog_tell(struct atomic_run *atomic);

/* @atomic is about to be freed, and its stack may become another task's. */
void watchdog_forget(struct atomic_run *atomic);

#endif /* SYSCRIPT_WATCHDOG_H */
