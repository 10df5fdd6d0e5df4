// SPDX-License-Identifier: GPL-2.0
/* Shared by the monitors of locks. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/instruction_pointer.h>

#include "locks.h"

/* Another task may release a semaphore, and the task that waited may free its memory. */
static bool is_owned(const struct held_lock *lock)
{
	return lock->object && lock->type != EVMON_SEM_DOWN;
}

bool locks_is_kept(const struct held_lock *lock)
{
	return is_owned(lock) && held_is_locked(lock);
}
EXPORT_SYMBOL_GPL(locks_is_kept);

void locks_taken(struct locks *locks, struct evmon_site *site, const void *object)
{
	order_take(locks->order, held_by_me(locks->held), site, object);
	held_add(locks->held, site, object);
}
EXPORT_SYMBOL_GPL(locks_taken);

static bool reads(u16 type)
{
	return type == EVMON_RWLOCK_READ || type == EVMON_RWSEM_READ;
}

void locks_wait(struct locks *locks, struct evmon_site *site, const void *object)
{
	const struct holder *holder = held_by_me(locks->held);
	struct evmon_where here;
	unsigned int i;

	for (i = 0; holder && i < holder->depth; i++) {
		const struct held_lock *lock = &holder->locks[i];

		/* A reader blocks writers only; all other holders block everyone. */
		if (lock->object != object || !is_owned(lock) ||
		    (reads(lock->type) && reads(site->type)))
			continue;
		here = evmon_here(site);
		evmon_violation(locks->monitor, object, &here, "taken", &lock->where,
				"taken again by its holder, which waits for ever");
	}
	order_take(locks->order, holder, site, object);
}
EXPORT_SYMBOL_GPL(locks_wait);

/* -- what must not happen while one is held ------------------------------------------ */

struct freed {
	struct locks *locks;
	unsigned long ip;
};

static void tell_freed(struct held_lock *lock, void *data)
{
	const struct freed *freed = data;
	struct evmon_where here;

	/* A semaphore handed to another task has no holder to report. */
	if (!is_owned(lock))
		held_forget(freed->locks->held, lock);
	if (locks_is_kept(lock)) {
		here = evmon_here_ip(freed->ip);
		evmon_violation(freed->locks->monitor, lock->object, &here, "taken",
				&lock->where, "freed while it is held");
	}
	held_gone(lock);
}

static void died(struct memory_listener *listener, unsigned long ip, const void *start,
		 const struct kmem_cache *cache)
{
	struct locks *locks = container_of(listener, struct locks, memory);
	struct freed freed = { .locks = locks, .ip = ip };

	if (likely(!held_any(locks->held)))
		return;
	held_walk_in(locks->held, start, memory_size(start, cache), tell_freed, &freed);
}

/* Reports locks that a task still holds when it ends. */
static void tell_kept(struct locks *locks, struct task_struct *task, const char *what)
{
	struct holder *holder = held_by(locks->held, task);
	struct evmon_where here;
	bool kept = false;
	unsigned int i;

	if (likely(!holder))
		return;
	here = evmon_here_ip(_THIS_IP_);
	for (i = 0; i < holder->depth; i++) {
		const struct held_lock *lock = &holder->locks[i];

		if (!is_owned(lock))
			continue;
		kept = true;
		if (!held_is_locked(lock))
			continue;
		evmon_violation(locks->monitor, lock->object, &here, "taken", &lock->where,
				"%s", what);
	}
	/* Once. */
	if (kept)
		held_clear(locks->held, holder);
}

static void switched(struct switches *switches, struct task_struct *task)
{
	struct locks *locks = container_of(switches, struct locks, switches);

	if (locks->out)
		locks->out(task);
}

static void returned(struct switches *switches, struct task_struct *task)
{
	tell_kept(container_of(switches, struct locks, switches), task,
		  "held on return to user space");
}

static void exited(struct switches *switches, struct task_struct *task)
{
	struct locks *locks = container_of(switches, struct locks, switches);
	struct holder *holder;

	tell_kept(locks, task, "held by a process that ends");
	holder = held_by(locks->held, task);
	if (holder)
		held_clear(locks->held, holder);
}

/* -- begin and end --------------------------------------------------------------------- */

static void destroy(struct locks *locks)
{
	order_destroy(locks->order);
	held_destroy(locks->held);
}

int locks_start(struct locks *locks)
{
	int err = -ENOMEM;

	locks->switches.out = switched;
	locks->switches.exit = exited;
	locks->switches.user = returned;
	locks->memory.died = died;
	locks->held = held_create();
	locks->order = order_create(locks->monitor);
	if (!locks->held || !locks->order)
		goto destroy;
	err = switches_register(&locks->switches);
	if (err)
		goto destroy;
	err = memory_listen(&locks->memory);
	if (err)
		goto unregister;
	evmon_register(locks->monitor);
	return 0;

unregister:
	switches_unregister(&locks->switches);
destroy:
	destroy(locks);
	return err;
}
EXPORT_SYMBOL_GPL(locks_start);

void locks_stop(struct locks *locks)
{
	evmon_unregister(locks->monitor);
	memory_ignore(&locks->memory);
	switches_unregister(&locks->switches);
	destroy(locks);
}
EXPORT_SYMBOL_GPL(locks_stop);
