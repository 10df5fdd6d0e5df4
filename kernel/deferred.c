// SPDX-License-Identifier: GPL-2.0
/* See deferred.h. */
#include <linux/spinlock.h>
#include <linux/task_work.h>

#include "deferred.h"
#include "internals.h"

/* As many are looked at in a row, with interrupts off. */
#define AT_ONCE	1000

static void put_back(struct callback_head *works)
{
	struct callback_head *none = NULL, **last;

	while (works && !try_cmpxchg(&current->task_works, &none, works)) {
		struct callback_head *added = xchg(&current->task_works, NULL);

		for (last = &added; *last; last = &(*last)->next)
			;
		*last = works;
		works = added;
		none = NULL;
	}
}

/*
 * Takes those with @func out of the newest of the task's works, oldest first.  As
 * task_work_run() does it: works are added without a lock, but who cancels one,
 * and so looks past the first, holds ->pi_lock.
 */
static struct callback_head *take(task_work_func_t func)
{
	struct callback_head *works, *work, *taken = NULL, **p = &works;
	unsigned int n;

	raw_spin_lock_irq(&current->pi_lock);
	works = xchg(&current->task_works, NULL);
	for (n = 0; *p && n < AT_ONCE; n++) {
		work = *p;
		if (work->func != func) {
			p = &work->next;
			continue;
		}
		*p = work->next;
		work->next = taken;
		taken = work;
	}
	put_back(works);
	raw_spin_unlock_irq(&current->pi_lock);
	return taken;
}

static void run_all(task_work_func_t func)
{
	struct callback_head *work, *next;

	while ((work = take(func))) {
		for (; work; work = next) {
			next = work->next;
			func(work);
			cond_resched();
		}
	}
}

void __deferred_release(void)
{
	run_all(internals_release_file);
}

#ifdef CONFIG_POSIX_CPU_TIMERS_TASK_WORK
void deferred_run_timers(void)
{
	run_all(current->posix_cputimers_work.work.func);
}
#endif
