// SPDX-License-Identifier: GPL-2.0
/* When tasks give up the CPU, and end. */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "switches.h"

static LIST_HEAD(listeners);
static DEFINE_MUTEX(listeners_lock);
static unsigned int listeners_count;

/* Their first arguments are the same on all kernels. */
static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next)
{
	const struct switches *switches;

	rcu_read_lock();
	list_for_each_entry_rcu(switches, &listeners, node)
		switches->out(prev);
	rcu_read_unlock();
}

static void on_exit(void *data, struct task_struct *task)
{
	const struct switches *switches;

	rcu_read_lock();
	list_for_each_entry_rcu(switches, &listeners, node)
		switches->exit(task);
	rcu_read_unlock();
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint;
} probes[] = {
	{ "sched_switch", on_switch },
	{ "sched_process_exit", on_exit },
};

static void find_one(struct tracepoint *tracepoint, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tracepoint->name, probes[i].name))
			probes[i].tracepoint = tracepoint;
}

static void probes_off(unsigned int count)
{
	while (count--)
		tracepoint_probe_unregister(probes[count].tracepoint, probes[count].probe,
					    NULL);
	tracepoint_synchronize_unregister();
}

static int probes_on(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find_one, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		err = probes[i].tracepoint ?
		      tracepoint_probe_register(probes[i].tracepoint, probes[i].probe, NULL) :
		      -ENOENT;
		if (err) {
			probes_off(i);
			return err;
		}
	}
	return 0;
}

int switches_register(struct switches *switches)
{
	int err = 0;

	mutex_lock(&listeners_lock);
	if (!listeners_count)
		err = probes_on();
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
		probes_off(ARRAY_SIZE(probes));
	mutex_unlock(&listeners_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(switches_unregister);
