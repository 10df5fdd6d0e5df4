/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the monitors of locks have in common: who holds which, in which order they are
 * taken, and what must not happen while one is held.  Exported by evmon.ko, GPL only.
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

/* From now on the monitor is called; 0 or -errno.  May sleep. */
int locks_start(struct locks *locks);
/* It is called no more, and all is forgotten.  May sleep. */
void locks_stop(struct locks *locks);

/* One was taken, after its checks. */
void locks_taken(struct locks *locks, struct evmon_site *site, const void *object);

/* One is not free: tells if that is for ever.  Before the wait, as it may not end. */
void locks_wait(struct locks *locks, struct evmon_site *site, const void *object);

/* Whether it is held still, by who has to release it: semaphores may be given to others. */
bool locks_is_kept(const struct held_lock *lock);

#endif /* EVMON_LOCKS_H */
