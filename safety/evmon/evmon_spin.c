// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of spinlocks, rwlocks and sleeping calls reports: held across sleep or on return
 * to user space; released by another holder; freed while held; inverted order; recursion; taken
 * in an interrupt that could arrive while it is held; a call that may sleep where none may,
 * with a spinlock held or without.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "locks.h"

static struct locks locks;
static struct evmon_monitor monitor;

static void taken(struct evmon_site *site, const void *object)
{
	order_context(locks.order, site, object);
	locks_taken(&locks, site, object);
}

static void wait(struct evmon_site *site, const void *object)
{
	switch (site->type) {
	case EVMON_SPIN_ACQUIRE:
	case EVMON_SPIN_ACQUIRE_IRQ:
	case EVMON_RWLOCK_READ:
	case EVMON_RWLOCK_WRITE:
		/* An acquisition that turns interrupts off says nothing about its context. */
		if (site->type != EVMON_SPIN_ACQUIRE_IRQ || in_hardirq())
			order_context(locks.order, site, object);
		locks_wait(&locks, site, object);
	}
}

static void released(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;

	if (held_remove(locks.held, object, &lock) == HELD_BY_OTHER)
		evmon_violation(&monitor, object, &here, "taken", &lock.where,
				"released by another than who took it");
}

static const struct held_lock *last_held(void)
{
	const struct holder *holder = held_by_me(locks.held);
	unsigned int i = holder ? holder->depth : 0;

	while (i--)
		if (locks_is_kept(&holder->locks[i]))
			return &holder->locks[i];
	return NULL;
}

/*
 * Why this context must not sleep, or NULL. The caller itself disabled preemption and entered RCU
 * read-side sections this many times.
 */
static const char *atomic_context(const struct memory_depth *own)
{
	if (in_hardirq() || in_serving_softirq())
		return "in an interrupt";
	if (irqs_disabled())
		return "with interrupts off";
	if (softirq_count())
		return "with softirqs off";
	if ((preempt_count() & PREEMPT_MASK) > own->preempt)
		return "with preemption off";
	if (rcu_preempt_depth() > own->rcu)
		return "in a read-side section of RCU";
	return NULL;
}

/* A function that may sleep is called where it must not, whether or not it does sleep. */
static void may_sleep(const struct evmon_where *here, const void *object, const char *what,
		      const struct memory_depth *own)
{
	const struct held_lock *lock = last_held();
	const char *context = lock ? NULL : atomic_context(own);

	if (lock)
		evmon_violation(&monitor, object, here, "spinlock taken", &lock->where,
				"%s while a spinlock is held", what);
	else if (context)
		evmon_violation(&monitor, object, here, NULL, NULL, "%s %s", what, context);
}

/* How deep the dispatcher's own sections are. */
static const struct memory_depth in_event = {
	.preempt = !IS_ENABLED(CONFIG_PREEMPT_RCU),
	.rcu = IS_ENABLED(CONFIG_PREEMPT_RCU),
};

/* kprobes turn preemption off, so its earlier state is unknown. */
static const struct memory_depth in_probe = { .preempt = INT_MAX, .rcu = INT_MAX };

static void event_may_sleep(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);

	may_sleep(&here, object, evmon_text_of(site->type), site->line ? &in_event : &in_probe);
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_SPIN_INIT:
	case EVMON_RWLOCK_INIT:
		order_init(locks.order, site, object, value);
		break;
	case EVMON_SPIN_ACQUIRE:
	case EVMON_SPIN_ACQUIRE_IRQ:
	case EVMON_RWLOCK_READ:
	case EVMON_RWLOCK_WRITE:
		taken(site, object);
		break;
	case EVMON_SPIN_RELEASE:
	case EVMON_SPIN_RELEASE_IRQ:
	case EVMON_RWLOCK_READ_RELEASE:
	case EVMON_RWLOCK_WRITE_RELEASE:
		released(site, object);
		break;
	case EVMON_MUTEX_ACQUIRE:
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
	case EVMON_SEM_DOWN:
	case EVMON_MAY_SLEEP:
		if (!site->tried)
			event_may_sleep(site, object);
	}
}

/* -- memory ------------------------------------------------------------------------- */

static void allocates(unsigned long ip, gfp_t flags)
{
	struct evmon_where here;

	if (!gfpflags_allow_blocking(flags) ||
	    likely(!(held_any(locks.held) && last_held()) && !atomic_context(memory_depth())))
		return;
	here = evmon_here_ip(ip ?: evmon_caller());
	may_sleep(&here, NULL, "memory allocated that may sleep,", memory_depth());
}

static void born(struct memory_listener *listener, unsigned long ip, const void *start,
		 size_t size, gfp_t flags)
{
	allocates(ip, flags);
}

static void pages(struct memory_listener *listener, gfp_t flags)
{
	allocates(0, flags);
}

/* -- held by who runs no more ------------------------------------------------- */

/* Found with the run queue locked, reported right after. */
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

static void out(struct task_struct *task)
{
	struct holder *holder = held_by(locks.held, task);
	struct slept *s = this_cpu_ptr(&slept);
	const struct held_lock *lock;

	if (!holder || READ_ONCE(s->pending))
		return;
	lock = &holder->locks[holder->depth - 1];
	if (locks_is_kept(lock)) {
		s->pending = true;
		s->object = lock->object;
		s->taken = lock->where;
		s->here = evmon_here_ip(_THIS_IP_);
		evmon_stack_save(&s->stack);
		irq_work_queue(&s->work);
	}
	/* Once. */
	held_clear(locks.held, holder);
}

static struct evmon_monitor monitor = {
	.name = "spinlock",
	.classes = BIT(EVMON_CLASS_LOCK),
	.event = event,
	.wait = wait,
};

static struct locks locks = {
	.monitor = &monitor,
	.out = out,
	.memory = { .born = born, .pages = pages },
};

static int __init evmon_spin_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(slept, cpu).work = IRQ_WORK_INIT_HARD(tell_slept);
	return locks_start(&locks);
}

static void __exit evmon_spin_exit(void)
{
	int cpu;

	locks_stop(&locks);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(slept, cpu).work);
}

module_init(evmon_spin_init);
module_exit(evmon_spin_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of spinlocks");
