// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of mutexes, rw-semaphores and semaphores: released by another task or
 * without having been taken, held on return to user space, by a task that ends or a module
 * that goes, taken in two orders, taken before it was initialised, held for too long if
 * that is asked for.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

#include "held.h"
#include "monitor.h"
#include "order.h"
#include "place.h"
#include "switches.h"

static unsigned int hold_ms;
module_param(hold_ms, uint, 0644);
MODULE_PARM_DESC(hold_ms, "milliseconds that are too long to hold one; 0: none are");

static struct held_set *held;
static struct order *order;
static struct evmon_monitor monitor;

/*
 * Waiters are in a list; zeros are not a list.  Its form is known for these kernels only;
 * on others nothing is reported.
 */
static bool is_initialised(const struct evmon_site *site, const void *object)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0) && !defined(CONFIG_PREEMPT_RT)
	switch (site->type) {
	case EVMON_MUTEX_ACQUIRE:
		return ((const struct mutex *)object)->wait_list.next;
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
		return ((const struct rw_semaphore *)object)->wait_list.next;
	}
#endif
	return true;
}

static void taken(struct evmon_site *site, const void *object)
{
	struct evmon_where here;

	if (!is_initialised(site, object)) {
		here = evmon_here(site);
		evmon_violation(&monitor, object, &here, NULL, NULL,
				"taken, but never initialised");
	}
	order_taken(order, object);
	order_take(order, held_by_me(held), site, object);
	held_add(held, site, object);
}

static void check_time(const void *object, const struct evmon_where *here,
		       const struct held_lock *lock)
{
	u64 ms = (ktime_get_mono_fast_ns() - lock->since) / NSEC_PER_MSEC;
	unsigned int most = READ_ONCE(hold_ms);

	if (most && ms >= most)
		evmon_violation(&monitor, object, here, "taken", &lock->where,
				"held for %llu ms", ms);
}

static void released(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site), before;
	bool own = order_is_own(order, site, object);
	bool was_free = own && order_freed(order, object, &here, &before);
	struct held_lock lock;

	switch (held_remove(held, object, &lock)) {
	case HELD_BY_ME:
		check_time(object, &here, &lock);
		break;
	case HELD_BY_OTHER:
		evmon_violation(&monitor, object, &here, "taken", &lock.where,
				"released by another task than took it");
		break;
	case HELD_BY_NONE:
		/* It may have been taken before this monitor came. */
		if (was_free)
			evmon_violation(&monitor, object, &here, "released before",
					&before, "released, but not held");
	}
}

/* A semaphore may be given by one task to another, and signals start at zero. */
static void sem_up(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;
	u64 count = 0;

	if (held_remove(held, object, &lock) == HELD_BY_NONE &&
	    order_init_value(order, object, &count) && count)
		evmon_violation(&monitor, object, &here, NULL, NULL,
				"semaphore of %llu released, but not held", count);
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_MUTEX_INIT:
	case EVMON_RWSEM_INIT:
	case EVMON_SEM_INIT:
		order_init(order, site, object, value);
		break;
	case EVMON_MUTEX_ACQUIRE:
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
	case EVMON_SEM_DOWN:
		taken(site, object);
		break;
	case EVMON_MUTEX_RELEASE:
	case EVMON_RWSEM_READ_RELEASE:
	case EVMON_RWSEM_WRITE_RELEASE:
		released(site, object);
		break;
	case EVMON_SEM_UP:
		sem_up(site, object);
	}
}

static void out(struct task_struct *task)
{
}

/* Semaphores may be released by others still. */
static void exited(struct task_struct *task)
{
	struct holder *holder = held_by(held, task);
	struct evmon_where here;
	unsigned int i;

	if (!holder)
		return;
	here = evmon_here_ip(_THIS_IP_);
	for (i = 0; i < holder->depth; i++)
		if (holder->locks[i].object && holder->locks[i].type != EVMON_SEM_DOWN)
			evmon_violation(&monitor, holder->locks[i].object, &here, "taken",
					&holder->locks[i].where,
					"held by a process that ends");
	held_clear(holder);
}

/* Semaphores may be given to others. */
static void returned(struct task_struct *task)
{
	struct holder *holder = held_by(held, task);
	struct evmon_where here;
	bool kept = false;
	unsigned int i;

	if (likely(!holder))
		return;
	here = evmon_here_ip(_THIS_IP_);
	for (i = 0; i < holder->depth; i++) {
		if (!holder->locks[i].object || holder->locks[i].type == EVMON_SEM_DOWN)
			continue;
		kept = true;
		evmon_violation(&monitor, holder->locks[i].object, &here, "taken",
				&holder->locks[i].where, "held on return to user space");
	}
	/* Once. */
	if (kept)
		held_clear(holder);
}

static struct switches switches = { .out = out, .exit = exited, .user = returned };

/* -- modules go --------------------------------------------------------------- */

static void tell_of_module(const struct held_lock *lock, void *data)
{
	const struct module *module = data;
	const struct place *place = evmon_place(lock->where.place);
	struct evmon_where here = evmon_here_ip(_THIS_IP_);

	if (place && !strcmp(place->module, module->name))
		evmon_violation(&monitor, lock->object, &here, "taken", &lock->where,
				"held while its module goes");
}

static void going(const struct module *module)
{
	held_walk(held, tell_of_module, (void *)module);
}

static struct evmon_monitor monitor = {
	.name = "mutex",
	.classes = BIT(EVMON_CLASS_LOCK),
	.event = event,
	.going = going,
};

static int __init evmon_mutex_init(void)
{
	int err = -ENOMEM;

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

static void __exit evmon_mutex_exit(void)
{
	evmon_unregister(&monitor);
	switches_unregister(&switches);
	order_destroy(order);
	held_destroy(held);
}

module_init(evmon_mutex_init);
module_exit(evmon_mutex_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of mutexes and semaphores");
