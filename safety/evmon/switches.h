/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Notifies when tasks give up the CPU, return to user space, and end, by the kernel's tracepoints.
 * Exported by evmon.ko for the monitors, GPL only.
 */
#ifndef EVMON_SWITCHES_H
#define EVMON_SWITCHES_H

#include <linux/list.h>

struct task_struct;

struct switches {
	/* @task stops running, with interrupts off and the run queue locked: report later. */
	void (*out)(struct switches *switches, struct task_struct *task);
	/* The current task @task ends.  This function may be NULL. */
	void (*exit)(struct switches *switches, struct task_struct *task);
	/* @task returns from a system call to user space.  This function may be NULL. */
	void (*user)(struct switches *switches, struct task_struct *task);
	struct list_head node;
};

int switches_register(struct switches *switches);
void switches_unregister(struct switches *switches);

#endif /* EVMON_SWITCHES_H */
