// SPDX-License-Identifier: GPL-2.0
/* When tasks give up the CPU, return to user space, and end. */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>

#include "switches.h"
#include "tracepoints.h"

static LIST_HEAD(listeners);
static DEFINE_MUTEX(listeners_lock);
static unsigned int listeners_count;

/* Their first arguments are the same on all kernels. */
static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next)
{
	struct switches *switches;

	rcu_read_lock();
	list_for_each_entry_rcu(switches, &listeners, node)
		switches->out(switches, prev);
	rcu_read_unlock();
}

static void on_exit(void *data, struct task_struct *task)
{
	struct switches *switches;

	rcu_read_lock();
	list_for_each_entry_rcu(switches, &listeners, node)
		if (switches->exit)
			switches->exit(switches, task);
	rcu_read_unlock();
}

static void on_user(void *data, struct pt_regs *regs, long result)
{
	struct switches *switches;

	rcu_read_lock();
	list_for_each_entry_rcu(switches, &listeners, node)
		if (switches->user)
			switches->user(switches, current);
	rcu_read_unlock();
}

static struct tracepoint_probe probes[] = {
	{ "sched_switch", on_switch },
	{ "sched_process_exit", on_exit },
	{ "sys_exit", on_user },
};

int switches_register(struct switches *switches)
{
	int err = 0;

	mutex_lock(&listeners_lock);
	if (!listeners_count)
		err = tracepoint_probes_on(probes, ARRAY_SIZE(probes));
	if (!err) {
		listeners_count++;
		list_add_tail_rcu(&switches->node, &listeners);
	}
	mutex_unlock(&listeners_lock);
	return err;
}
EXPORT_SYMBOL_GPL(switches_register);

void switches_unregister(struct switches *switches)
{
	mutex_lock(&listeners_lock);
	list_del_rcu(&switches->node);
	if (!--listeners_count)
		tracepoint_probes_off(probes, ARRAY_SIZE(probes));
	mutex_unlock(&listeners_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(switches_unregister);
