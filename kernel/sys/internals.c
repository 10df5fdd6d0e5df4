// SPDX-License-Identifier: GPL-2.0
/*
 * Implements internals.h: finds functions that several parts of the core need, and that the
 * kernel does not export.
 */
#include <linux/sched.h>

#include "compat.h"
#include "internals.h"
#include "symbols.h"

/* -- A task's time ------------------------------------------------------------- */

static u64 accounted_time(struct task_struct *task)
{
	return READ_ONCE(task->se.sum_exec_runtime);
}

DEFINE_STATIC_CALL(internals_task_time, accounted_time);

/* Without task_sched_runtime(), task times on CPUs whose tick is stopped lag by up to a second. */
static void __init find_task_time(void)
{
	void *found = symbols_find("task_sched_runtime");

	if (found)
		static_call_update(internals_task_time, found);
}

/* -- Opening files ---------------------------------------------------------------- */

static struct file *open_copied(struct filename *name, int flags, umode_t mode)
{
	return filp_open(name->name, flags, mode);
}

DEFINE_STATIC_CALL(internals_open_name, open_copied);

/* Avoids a copy of the name. */
static void __init find_open_name(void)
{
	void *found = COMPAT_PLAIN_FILENAME ? symbols_find("file_open_name") : NULL;

	if (found)
		static_call_update(internals_open_name, found);
}

void __init internals_init(void)
{
	find_task_time();
	find_open_name();
}
