// SPDX-License-Identifier: GPL-2.0
/*
 * Implements idle.h by a delayed work, which is queued only while there is a script or something
 * to free.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "engine.h"
#include "idle.h"
#include "script.h"

#define PERIOD		(2 * HZ)

static void idle_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(idle_work, idle_look);

static void idle_look(struct work_struct *work)
{
	unsigned long id = 0;
	bool more = false;

	while (script_idle_next(&id)) {
		more = true;
		cond_resched();
	}
	if (engines_age())
		more = true;
	if (more)
		schedule_delayed_work(&idle_work, PERIOD);
}

void idle_watch(void)
{
	schedule_delayed_work(&idle_work, PERIOD);
}

void idle_exit(void)
{
	cancel_delayed_work_sync(&idle_work);
}
