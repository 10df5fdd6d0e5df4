/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The second line behind clock.h: ends a run whose script code, without preemption, no
 * tick of the clock sees.  That is a fault of the module's, and the log says so.
 *
 * It shares nothing with the clock but the count of its ticks.  A timer of its own per
 * CPU looks a few times a second at what it has interrupted, for as long as runs say
 * that they enter script code there: each when it comes from where it may have slept,
 * and so at least once in a tick in which it makes system calls.
 *
 * Whoever the timer has not heard of since its last look tells it again; so it can go
 * off by itself when there was no one, unless what it has interrupted may be about to
 * enter.
 */
#ifndef SYSCRIPT_WATCHDOG_H
#define SYSCRIPT_WATCHDOG_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "run_own.h"

struct watchdog {
	struct hrtimer timer;
	bool armed;
	u64 heard;			/* the run's id that told last, since the last look */
	/*
	 * The same run, who may have ended since: to be looked at where its @task is
	 * seen on its @stack.
	 */
	struct run_own *own;
	struct task_struct *task;
	unsigned long stack;
	/* What the last look found in script code, 0 for nothing. */
	u64 found;
	unsigned long ticks, time, syscalls; /* of the run then */
	int quiet;
	unsigned int looks, unseen;	/* in a row, at the same stretch of script code */
};

DECLARE_PER_CPU(struct watchdog, watchdogs);

int watchdog_init(void);
void watchdog_exit(void);

/*
 * To be asked when a run comes to script code, on the CPU where that will be, after it
 * has turned off preemption or bottom halves; and if it is not so, to be told.
 */
static __always_inline bool watchdog_knows(const struct run_own *own)
{
	return this_cpu_read(watchdogs.heard) == own->id;
}

void watchdog_tell(struct run_own *own);

/* It is about to be freed, and its stack may become another's. */
void watchdog_forget(struct run_own *own);

#endif /* SYSCRIPT_WATCHDOG_H */
