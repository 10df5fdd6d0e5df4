/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the monitors of locks: the holders, the order of acquisition, and what must not happen
 * while a lock is held. Exported by evmon.ko, GPL only.
 */
#ifndef EVMON_LOCKS_H
#define EVMON_LOCKS_H

#include "held.h"
#include "memory.h"
#include "monitor.h"
#include "order.h"
#include "switches.h"

struct locks {
	struct evmon_monitor *monitor;
	/* @task stops running, with interrupts off and the run queue locked; may be NULL. */
	void (*out)(struct task_struct *task);

	/* Filled in by locks_start(). */
	struct held_set *held;
	struct order *order;
	struct switches switches;
	struct memory_listener memory;
};

/* Starts calling the monitor; 0 or -errno. May sleep. */
int locks_start(struct locks *locks);
/* Stops calling the monitor and forgets all holders. May sleep. */
void locks_stop(struct locks *locks);

/* A lock was taken, and its checks are done. */
void locks_taken(struct locks *locks, struct evmon_site *site, const void *object);

/* A lock is not free: reports a wait that can never end. Called before waiting. */
void locks_wait(struct locks *locks, struct evmon_site *site, const void *object);

/* Whether its holder must still release it: a semaphore may have been handed on. */
bool locks_is_kept(const struct held_lock *lock);

#endif /* EVMON_LOCKS_H */
