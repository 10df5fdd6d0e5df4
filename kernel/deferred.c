// SPDX-License-Identifier: GPL-2.0
/* See deferred.h. */
#include <linux/spinlock.h>
#include <linux/task_work.h>

#include "deferred.h"
#include "internals.h"

/*
 * Takes those with @func out of the task's works, oldest first.  As
 * task_work_run() does it: works are added without a lock, but who cancels one,
 * and so looks past the first, holds ->pi_lock.
 */
static struct callback_head *take(task_work_func_t func)
{
	struct callback_head *work, *next, *head, *taken = NULL, *rest = NULL;
	struct callback_head **last = &rest;

	raw_spin_lock_irq(&current->pi_lock);
	for (work = xchg(&current->task_works, NULL); work; work = next) {
		next = work->next;
		if (work->func == func) {
			work->next = taken;
			taken = work;
		} else {
			*last = work;
			last = &work->next;
		}
	}
	if (rest) {
		head = READ_ONCE(current->task_works);
		do {
			*last = head;
		} while (!try_cmpxchg(&current->task_works, &head, rest));
	}
	raw_spin_unlock_irq(&current->pi_lock);
	return taken;
}

static void run_all(task_work_func_t func)
{
	struct callback_head *work = take(func), *next;

	for (; work; work = next) {
		next = work->next;
		func(work);
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
