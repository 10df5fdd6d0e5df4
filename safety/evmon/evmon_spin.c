// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of spinlocks and rwlocks: held across sleep, and while what may sleep is
 * called; released by another than who took it, freed while held, taken in two orders,
 * taken in an interrupt that could come while it is held.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <trace/events/kmem.h>

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

/* Memory that is freed with locks in it that this holder has. */
static void freed(const void *start, size_t size, unsigned long ip)
{
	const struct holder *holder = held_by_me(held);
	struct evmon_where here;
	unsigned int i;

	for (i = 0; holder && i < holder->depth; i++) {
		const struct held_lock *lock = &holder->locks[i];

		if (!lock->object || lock->object < start || lock->object >= start + size)
			continue;
		here = evmon_here_ip(ip);
		evmon_violation(&monitor, lock->object, &here, "taken", &lock->where,
				"freed while it is held");
	}
}

static void released(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;

	if (held_remove(held, object, &lock) == HELD_BY_OTHER)
		evmon_violation(&monitor, object, &here, "taken", &lock.where,
				"released by another than who took it");
}

static const struct held_lock *last_held(void)
{
	const struct holder *holder = held_by_me(held);
	const struct held_lock *lock;

	if (!holder || !holder->depth)
		return NULL;
	lock = &holder->locks[holder->depth - 1];
	return lock->object ? lock : NULL;
}

/* Why nothing may sleep here, or NULL. */
static const char *atomic_context(void)
{
	if (in_hardirq() || in_serving_softirq())
		return "in an interrupt";
	if (irqs_disabled())
		return "with interrupts off";
	if (softirq_count())
		return "with softirqs off";
	return NULL;
}

/* What may sleep is entered where it must not, whether or not it sleeps. */
static void may_sleep(const struct evmon_where *here, const void *object, const char *what)
{
	const struct held_lock *lock = last_held();
	const char *context = lock ? NULL : atomic_context();

	if (lock)
		evmon_violation(&monitor, object, here, "spinlock taken", &lock->where,
				"%s while a spinlock is held", what);
	else if (context)
		evmon_violation(&monitor, object, here, NULL, NULL, "%s %s", what, context);
}

static void event_may_sleep(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);

	may_sleep(&here, object, evmon_text_of(site->type));
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_SPIN_INIT:
	case EVMON_RWLOCK_INIT:
		order_init(order, site, object, value);
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

/* From the kernel's tracepoints: the allocator need not be instrumented. */
static void allocates(unsigned long ip, gfp_t flags)
{
	const struct held_lock *lock = gfpflags_allow_blocking(flags) ? last_held() : NULL;
	struct evmon_where here;

	if (likely(!lock))
		return;
	here = evmon_here_ip(ip);
	evmon_violation(&monitor, lock->object, &here, "spinlock taken", &lock->where,
			"memory allocated that may sleep, while a spinlock is held");
}

static void on_kmalloc(void *data, unsigned long ip, const void *start, size_t asked,
		       size_t got, gfp_t flags, int node)
{
	allocates(ip, flags);
}

static void on_cache_alloc(void *data, unsigned long ip, const void *start,
			   struct kmem_cache *cache, gfp_t flags, int node)
{
	allocates(ip, flags);
}

static void on_kfree(void *data, unsigned long ip, const void *start)
{
	if (held_by_me(held) && !ZERO_OR_NULL_PTR(start))
		freed(start, ksize(start), ip);
}

static void on_cache_free(void *data, unsigned long ip, const void *start,
			  const struct kmem_cache *cache)
{
	if (held_by_me(held))
		freed(start, kmem_cache_size((struct kmem_cache *)cache), ip);
}

static void memory_off(void)
{
	unregister_trace_kmem_cache_free(on_cache_free, NULL);
	unregister_trace_kfree(on_kfree, NULL);
	unregister_trace_kmem_cache_alloc(on_cache_alloc, NULL);
	unregister_trace_kmalloc(on_kmalloc, NULL);
	tracepoint_synchronize_unregister();
}

static int memory_on(void)
{
	int err = register_trace_kmalloc(on_kmalloc, NULL) ?:
		  register_trace_kmem_cache_alloc(on_cache_alloc, NULL) ?:
		  register_trace_kfree(on_kfree, NULL) ?:
		  register_trace_kmem_cache_free(on_cache_free, NULL);

	if (err)
		memory_off();
	return err;
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
	err = memory_on();
	if (err)
		goto unregister;
	evmon_register(&monitor);
	return 0;

unregister:
	switches_unregister(&switches);
destroy:
	order_destroy(order);
	held_destroy(held);
	return err;
}

static void __exit evmon_spin_exit(void)
{
	int cpu;

	evmon_unregister(&monitor);
	memory_off();
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
