// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of sections that must not sleep: RCU read-side critical sections, bottom halves
 * off, preemption off. Reports a section ended without a begin, sleeping in one, and one still
 * open on return to user space or at the end of a process.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "held.h"
#include "monitor.h"
#include "switches.h"

static struct held_set *held;
static struct evmon_monitor monitor;

static void ended(struct evmon_site *site, const void *object, u64 begun)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;

	held_remove(held, object, &lock);
	if (!begun)
		evmon_violation(&monitor, NULL, &here, NULL, NULL, "%s without its begin",
				evmon_text_of(site->type));
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_RCU_BEGIN:
	case EVMON_BH_BEGIN:
	case EVMON_PREEMPT_BEGIN:
		held_add(held, site, object);
		break;
	case EVMON_RCU_END:
	case EVMON_BH_END:
	case EVMON_PREEMPT_END:
		ended(site, object, value);
	}
}

static const char *within(u16 begun)
{
	switch (begun) {
	case EVMON_RCU_BEGIN:
		return "in a read-side section of RCU";
	case EVMON_BH_BEGIN:
		return "with bottom halves off";
	default:
		return "with preemption off";
	}
}

static void tell_all(struct task_struct *task, const char *what)
{
	struct holder *holder = held_by(held, task);
	struct evmon_where here;
	unsigned int i;

	if (likely(!holder))
		return;
	here = evmon_here_ip(_THIS_IP_);
	for (i = 0; i < holder->depth; i++)
		if (holder->locks[i].object)
			evmon_violation(&monitor, NULL, &here, "begun", &holder->locks[i].where,
					"%s %s", what, within(holder->locks[i].type));
	held_clear(held, holder);
}

static void returned(struct switches *switches, struct task_struct *task)
{
	tell_all(task, "returned to user space");
}

static void exited(struct switches *switches, struct task_struct *task)
{
	tell_all(task, "process ended");
}

/* Found with the run queue locked, reported right after. */
struct slept {
	struct irq_work work;
	bool pending;
	struct held_lock lock;
	struct evmon_where here;
	struct evmon_stack stack;
};
static DEFINE_PER_CPU(struct slept, slept);

static void tell_slept(struct irq_work *work)
{
	struct slept *s = container_of(work, struct slept, work);

	evmon_violation_of(&monitor, NULL, &s->here, &s->stack, "begun", &s->lock.where,
			   "slept %s", within(s->lock.type));
	WRITE_ONCE(s->pending, false);
}

/* An RCU reader may be preempted: it stays runnable. */
static void switched(struct switches *switches, struct task_struct *task)
{
	struct holder *holder = held_by(held, task);
	struct slept *s = this_cpu_ptr(&slept);

	if (likely(!holder) || READ_ONCE(s->pending) || !READ_ONCE(task->__state))
		return;
	s->lock = holder->locks[holder->depth - 1];
	if (s->lock.object) {
		s->pending = true;
		s->here = evmon_here_ip(_THIS_IP_);
		evmon_stack_save(&s->stack);
		irq_work_queue(&s->work);
	}
	/* Report the parts only once. */
	held_clear(held, holder);
}

static struct switches switches = { .out = switched, .exit = exited, .user = returned };

static struct evmon_monitor monitor = {
	.name = "part",
	.classes = BIT(EVMON_CLASS_PART),
	.event = event,
};

static int __init evmon_part_init(void)
{
	int err, cpu;

	for_each_possible_cpu(cpu)
		per_cpu(slept, cpu).work = IRQ_WORK_INIT_HARD(tell_slept);
	held = held_create();
	if (!held)
		return -ENOMEM;
	err = switches_register(&switches);
	if (err) {
		held_destroy(held);
		return err;
	}
	evmon_register(&monitor);
	return 0;
}

static void __exit evmon_part_exit(void)
{
	int cpu;

	evmon_unregister(&monitor);
	switches_unregister(&switches);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(slept, cpu).work);
	held_destroy(held);
}

module_init(evmon_part_init);
module_exit(evmon_part_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of RCU, bottom halves and preemption");
