// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of spinlocks: held across sleep, released by another than who took
 * it, taken in two orders, taken in an interrupt that could come while it is held.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "held.h"
#include "monitor.h"
#include "order.h"
#include "switches.h"

static struct held_set *held;
static struct order *order;
static struct evmon_monitor monitor;

static void taken(struct evmon_site *site, const void *object)
{
	struct holder *holder = held_by_me(held);

	order_context(order, site, object);
	order_take(order, holder, site, object);
	held_add(held, site, object);
}

static void released(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;

	if (held_remove(held, object, &lock) == HELD_BY_OTHER)
		evmon_violation(&monitor, object, &here, "taken", &lock.where,
				"released by another than who took it");
}

/* What may sleep is entered while a spinlock is held, whether or not it sleeps. */
static void may_sleep(struct evmon_site *site, const void *object)
{
	const struct holder *holder = held_by_me(held);
	struct evmon_where here;

	if (!holder || !holder->depth || !holder->locks[holder->depth - 1].object)
		return;
	here = evmon_here(site);
	evmon_violation(&monitor, object, &here, "spinlock taken",
			&holder->locks[holder->depth - 1].where,
			"%s while a spinlock is held", evmon_text_of(site->type));
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_SPIN_INIT:
		order_init(order, site, object, value);
		break;
	case EVMON_SPIN_ACQUIRE:
	case EVMON_SPIN_ACQUIRE_IRQ:
		taken(site, object);
		break;
	case EVMON_SPIN_RELEASE:
	case EVMON_SPIN_RELEASE_IRQ:
		released(site, object);
		break;
	case EVMON_MUTEX_ACQUIRE:
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
	case EVMON_SEM_DOWN:
		if (!site->tried)
			may_sleep(site, object);
	}
}

/* -- held by who runs no more ------------------------------------------------- */

/* Found while the run queue was locked, told right after. */
struct slept {
	struct irq_work work;
	bool pending;
	const void *object;
	struct evmon_where taken, here;
	struct evmon_stack stack;
};
static DEFINE_PER_CPU(struct slept, slept);

static void tell_slept(struct irq_work *work)
{
	struct slept *s = container_of(work, struct slept, work);

	evmon_violation_of(&monitor, s->object, &s->here, &s->stack, "taken", &s->taken,
			   "held across sleep");
	WRITE_ONCE(s->pending, false);
}

static void switched(struct task_struct *task)
{
	struct holder *holder = held_by(held, task);
	struct slept *s = this_cpu_ptr(&slept);
	const struct held_lock *lock;

	if (!holder || READ_ONCE(s->pending))
		return;
	lock = &holder->locks[holder->depth - 1];
	if (lock->object) {
		s->pending = true;
		s->object = lock->object;
		s->taken = lock->where;
		s->here = evmon_here_ip(_THIS_IP_);
		evmon_stack_save(&s->stack);
		irq_work_queue(&s->work);
	}
	/* Once. */
	held_clear(holder);
}

static void exited(struct task_struct *task)
{
	struct holder *holder = held_by(held, task);

	if (holder)
		held_clear(holder);
}

static struct switches switches = { .out = switched, .exit = exited };

static struct evmon_monitor monitor = {
	.name = "spinlock",
	.classes = BIT(EVMON_CLASS_LOCK),
	.event = event,
};

static int __init evmon_spin_init(void)
{
	int err = -ENOMEM, cpu;

	for_each_possible_cpu(cpu)
		per_cpu(slept, cpu).work = IRQ_WORK_INIT_HARD(tell_slept);
	held = held_create();
	order = order_create(&monitor);
	if (!held || !order)
		goto destroy;
	err = switches_register(&switches);
	if (err)
		goto destroy;
	evmon_register(&monitor);
	return 0;

destroy:
	order_destroy(order);
	held_destroy(held);
	return err;
}

static void __exit evmon_spin_exit(void)
{
	int cpu;

	evmon_unregister(&monitor);
	switches_unregister(&switches);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(slept, cpu).work);
	order_destroy(order);
	held_destroy(held);
}

module_init(evmon_spin_init);
module_exit(evmon_spin_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of spinlocks");
