// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that are called when threads begin, call execve(2) and end, by
 * <linux/syscript_program.h> and nothing else.  Tracepoints call them with preemption off, or in
 * an SRCU section; threads_detach() waits for both.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/syscript_program.h>
#include <linux/tracepoint.h>
#include <linux/uidgid.h>

#include "events.h"
#include "uapi/syscript_events.h"

#define FUEL	8192	/* 0.4 ms at most */

static void show_thread(struct syscript_thread *to, struct task_struct *task)
{
	const struct cred *cred;

	memset(to, 0, sizeof(*to));
	to->pid = task->pid;
	to->process = task->tgid;
	to->now = (u64)jiffies * TICK_NSEC;
	rcu_read_lock();
	to->parent = task_tgid_nr(rcu_dereference(task->real_parent));
	cred = __task_cred(task);
	to->uid = from_kuid(&init_user_ns, cred->euid);
	to->gid = from_kgid(&init_user_ns, cred->egid);
	rcu_read_unlock();
	memcpy(to->name, task->comm, sizeof(to->name) - 1);
}

static s64 threads_call(struct syscript_hook *hook, struct task_struct *task)
{
	struct syscript_event event;

	if (!syscript_hook_begin(hook, &event))
		return event.result;
	show_thread(syscript_event_view(&event), task);
	return syscript_hook_run(&event);
}

/* Tracepoints pass further arguments in registers, which these probes ignore. */
static void on_fork(void *hook, struct task_struct *parent, struct task_struct *child)
{
	threads_call(hook, child);
}

static void on_exec(void *hook, struct task_struct *task)
{
	/* As if the task called kill(2) on itself: init of a namespace is not killed. */
	if (threads_call(hook, task) == SYSCRIPT_THREAD_KILL)
		send_sig(SIGKILL, task, 0);
}

static void on_exit(void *hook, struct task_struct *task)
{
	threads_call(hook, task);
}

struct place {
	const char *when, *name;
	void *probe;
	struct tracepoint *tracepoint;
};

static struct place places[] = {
	{ "fork", "sched_process_fork", on_fork },
	{ "exec", "sched_process_exec", on_exec },
	{ "exit", "sched_process_exit", on_exit },
};

static void threads_find(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (!strcmp(tracepoint->name, places[i].name))
			places[i].tracepoint = tracepoint;
}

static int threads_attach(struct syscript_hook *hook, struct net *net, const char *where,
			       char *error, size_t len)
{
	struct place *place;

	for (place = places; place < places + ARRAY_SIZE(places); place++) {
		if (strcmp(where, place->when) || !place->tracepoint)
			continue;
		syscript_hook_set_private(hook, place);
		return tracepoint_probe_register(place->tracepoint, place->probe, hook);
	}
	scnprintf(error, len, "threads have no event '%s', only fork, exec and exit", where);
	return -EINVAL;
}

static void threads_detach(struct syscript_hook *hook)
{
	const struct place *place = syscript_hook_private(hook);

	tracepoint_probe_unregister(place->tracepoint, place->probe, hook);
	tracepoint_synchronize_unregister();
}

static const struct syscript_prog_type prog_type = {
	.name = "threads", .owner = THIS_MODULE,
	.view_size = sizeof(struct syscript_thread), .fuel = FUEL,
	.low = SYSCRIPT_THREAD_GOES_ON, .high = SYSCRIPT_THREAD_KILL,
	.fallback = SYSCRIPT_THREAD_GOES_ON,
	.attach = threads_attach, .detach = threads_detach,
};

int embed_threads_init(void)
{
	for_each_kernel_tracepoint(threads_find, NULL);
	return syscript_prog_type_register(&prog_type);
}

void embed_threads_exit(void)
{
	syscript_prog_type_unregister(&prog_type);
}
