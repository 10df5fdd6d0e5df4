// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of interrupts reports when they are off for too long, still off when a task gives up
 * the CPU, or turned on inside a section that had them off.
 *
 * The state is per CPU, and accessed with interrupts off.
 */
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "monitor.h"
#include "switches.h"

#define NESTED_MAX	8

static unsigned int limit_us = 1000;
module_param(limit_us, uint, 0644);
MODULE_PARM_DESC(limit_us, "microseconds that interrupts may be off");

struct irqs {
	unsigned int nested;		/* nesting depth of sections with interrupts off */
	struct evmon_where off[NESTED_MAX];
	u64 since;			/* ns */
	/* Reports after the run queue is unlocked. */
	struct irq_work work;
	bool pending;
	struct evmon_where forgotten;
	struct evmon_stack stack;
};
static DEFINE_PER_CPU(struct irqs, irqs);
static struct evmon_monitor monitor;

static void turned_off(struct irqs *i, struct evmon_site *site)
{
	if (!i->nested)
		i->since = ktime_get_mono_fast_ns();
	if (i->nested < NESTED_MAX)
		i->off[i->nested] = evmon_here(site);
	i->nested++;
}

static void check_time(struct irqs *i, struct evmon_site *site)
{
	struct evmon_where here = evmon_here(site);
	u64 us = (ktime_get_mono_fast_ns() - i->since) / NSEC_PER_USEC;

	if (us > READ_ONCE(limit_us))
		evmon_violation(&monitor, NULL, &here, "turned off", &i->off[0],
				"interrupts were off for %llu us", us);
}

static void turned_on(struct irqs *i, struct evmon_site *site, u64 how)
{
	struct evmon_where here = evmon_here(site);

	/* They were turned off before this monitor was loaded, or by uninstrumented code. */
	if (!i->nested)
		return;
	if (how & EVMON_REGARDLESS && i->nested > 1)
		evmon_violation(&monitor, NULL, &here, "turned off",
				&i->off[min(i->nested, (unsigned int)NESTED_MAX) - 2],
				"interrupts turned on inside a part that has them off");
	/* A lock taken with irq or irqsave may be released without. */
	if (how & EVMON_ON_AGAIN)
		check_time(i, site);
	i->nested = how & EVMON_ON_AGAIN ? 0 : i->nested - 1;
}

/* Spinlock events matter only if they change the interrupt state. */
static void event(struct evmon_site *site, const void *object, u64 value)
{
	unsigned long flags;
	struct irqs *i;

	if (in_nmi())
		return;
	raw_local_irq_save(flags);
	i = this_cpu_ptr(&irqs);
	switch (site->type) {
	case EVMON_IRQ_OFF:
	case EVMON_SPIN_ACQUIRE_IRQ:
		turned_off(i, site);
		break;
	case EVMON_IRQ_ON:
		turned_on(i, site, EVMON_ON_AGAIN | EVMON_REGARDLESS);
		break;
	case EVMON_IRQ_RESTORE:
	case EVMON_SPIN_RELEASE_IRQ:
		turned_on(i, site, value);
	}
	raw_local_irq_restore(flags);
}

static void tell_forgotten(struct irq_work *work)
{
	struct irqs *i = container_of(work, struct irqs, work);
	struct evmon_where here = evmon_here_ip(0);

	here.ip = i->stack.len ? i->stack.entries[i->stack.len - 1] : 0;
	evmon_violation_of(&monitor, NULL, &here, &i->stack, "turned off", &i->forgotten,
			   "interrupts not turned on again");
	WRITE_ONCE(i->pending, false);
}

static void switched(struct switches *switches, struct task_struct *task)
{
	struct irqs *i = this_cpu_ptr(&irqs);

	if (likely(!i->nested))
		return;
	if (!READ_ONCE(i->pending)) {
		i->pending = true;
		i->forgotten = i->off[0];
		evmon_stack_save(&i->stack);
		irq_work_queue(&i->work);
	}
	i->nested = 0;
}

static struct switches switches = { .out = switched };

static struct evmon_monitor monitor = {
	.name = "irq",
	.classes = BIT(EVMON_CLASS_LOCK) | BIT(EVMON_CLASS_IRQ),
	.event = event,
};

static int __init evmon_irq_init(void)
{
	int err, cpu;

	for_each_possible_cpu(cpu)
		per_cpu(irqs, cpu).work = IRQ_WORK_INIT_HARD(tell_forgotten);
	err = switches_register(&switches);
	if (err)
		return err;
	evmon_register(&monitor);
	return 0;
}

static void __exit evmon_irq_exit(void)
{
	int cpu;

	evmon_unregister(&monitor);
	switches_unregister(&switches);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(irqs, cpu).work);
}

module_init(evmon_irq_init);
module_exit(evmon_irq_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of interrupts that are off");
