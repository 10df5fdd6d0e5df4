/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Backs up clock.h: ends a run whose script code runs without preemption and is seen by no tick
 * of the clock. That is a fault of the module, and is logged as one.
 *
 * It shares only the clock's count of ticks. A second timer per CPU checks a few times a second
 * which code it has interrupted, while runs report that they enter script code there: each does
 * after it may have slept, and so at least once in a tick in which it makes system calls.
 *
 * A run reports again if it has not done so since the last check. So the timer can stop by itself
 * when no run has reported, unless the interrupted code may be about to enter script code.
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
	u64 heard;			/* id of the last run that reported since the check */
	/*
	 * That run, which may have ended since: to be accessed only if its @task is seen on its
	 * @stack.
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
