// SPDX-License-Identifier: GPL-2.0
/* Notifies when tasks give up the CPU, return to user space, and end. */
#include <linux/export.h>
#include <linux/sched.h>

#include "listeners.h"
#include "switches.h"

static struct listeners listeners;

#define tell(callback, task) \
	listeners_call(&listeners, struct switches, callback, task)

/* The tracepoints' first arguments are the same on all kernels. */
static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next)
{
	tell(out, prev);
}

static void on_exit(void *data, struct task_struct *task)
{
	tell(exit, task);
}

static void on_user(void *data, struct pt_regs *regs, long result)
{
	tell(user, current);
}

static struct tracepoint_probe probes[] = {
	{ "sched_switch", on_switch },
	{ "sched_process_exit", on_exit },
	{ "sys_exit", on_user },
};

DEFINE_LISTENERS(listeners, probes, NULL);

int switches_register(struct switches *switches)
{
	return listeners_add(&listeners, &switches->node);
}
EXPORT_SYMBOL_GPL(switches_register);

void switches_unregister(struct switches *switches)
{
	listeners_remove(&listeners, &switches->node);
}
EXPORT_SYMBOL_GPL(switches_unregister);
