// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of mutexes, rw-semaphores and semaphores reports: release by another task or
 * without an acquisition; held on return to user space, at the end of a task or the unloading of
 * a module; freed while held; inverted order; recursion; use before initialisation; and, on
 * request, held for too long.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

#include "locks.h"
#include "source_loc.h"

static unsigned int hold_ms;
module_param(hold_ms, uint, 0644);
MODULE_PARM_DESC(hold_ms, "milliseconds that are too long to hold one; 0: none are");

static struct locks locks;
static struct evmon_monitor monitor;

/*
 * Waiters are in a list; an all-zero list was never initialised. The layout is known for these
 * kernels only; on others nothing is reported.
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
	order_taken(locks.order, object);
	locks_taken(&locks, site, object);
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
	bool own = order_is_own(locks.order, site, object);
	bool was_free = own && order_freed(locks.order, object, &here, &before);
	struct held_lock lock;

	switch (held_remove(locks.held, object, &lock)) {
	case HELD_BY_ME:
		check_time(object, &here, &lock);
		break;
	case HELD_BY_OTHER:
		evmon_violation(&monitor, object, &here, "taken", &lock.where,
				"released by another task than took it");
		break;
	case HELD_BY_NONE:
		/* It may have been taken before this monitor was loaded. */
		if (was_free)
			evmon_violation(&monitor, object, &here, "released before",
					&before, "released, but not held");
	}
}

/* One task may hand a semaphore to another, and semaphores used as signals start at zero. */
static void sem_up(struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;
	u64 count = 0;

	if (held_remove(locks.held, object, &lock) == HELD_BY_NONE &&
	    order_init_value(locks.order, object, &count) && count)
		evmon_violation(&monitor, object, &here, NULL, NULL,
				"semaphore of %llu released, but not held", count);
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	switch (site->type) {
	case EVMON_MUTEX_INIT:
	case EVMON_RWSEM_INIT:
	case EVMON_SEM_INIT:
		order_init(locks.order, site, object, value);
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

/* evmon_spin judges the spinlocks and everything else of this class. */
static void wait(struct evmon_site *site, const void *object)
{
	switch (site->type) {
	case EVMON_MUTEX_ACQUIRE:
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
	case EVMON_SEM_DOWN:
		locks_wait(&locks, site, object);
	}
}

/* -- modules go --------------------------------------------------------------- */

static void tell_of_module(struct held_lock *lock, void *data)
{
	const struct module *module = data;
	const struct place *place = evmon_place(lock->where.place);
	struct evmon_where here = evmon_here_ip(_THIS_IP_);

	if (place && !strcmp(place->module, module->name) && locks_is_kept(lock))
		evmon_violation(&monitor, lock->object, &here, "taken", &lock->where,
				"held while its module goes");
}

static void going(const struct module *module)
{
	held_walk(locks.held, tell_of_module, (void *)module);
}

static struct evmon_monitor monitor = {
	.name = "mutex",
	.classes = BIT(EVMON_CLASS_LOCK),
	.event = event,
	.wait = wait,
	.going = going,
};

static struct locks locks = { .monitor = &monitor };

static int __init evmon_mutex_init(void)
{
	return locks_start(&locks);
}

static void __exit evmon_mutex_exit(void)
{
	locks_stop(&locks);
}

module_init(evmon_mutex_init);
module_exit(evmon_mutex_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of mutexes and semaphores");
