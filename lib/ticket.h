/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A ticket lock: it serves its callers in the order in which they came.  A signal handler
 * finds it free, or its thread's: one word says who has it, and threads that wait for it
 * block signals.
 */
#ifndef LIB_TICKET_H
#define LIB_TICKET_H

#include <stdbool.h>

#include "arch/arch.h"

#define TICKET_WAITED	1UL	/* of @owner: the thread at the queue's head waits for it */

/**
 * struct ticket_lock - a lock; free when zeroed
 * @owner: ticket_self() of the thread that has it, and TICKET_WAITED; or 0
 * @next, @serving: tickets: of the next thread to join the queue, and of its head; equal
 *         if there is no queue
 */
struct ticket_lock {
	unsigned long owner;
	unsigned int next, serving;
};

static inline void ticket_init(struct ticket_lock *lock)
{
	*lock = (struct ticket_lock){ 0 };
}

/* This thread: where its own variables are.  pthread_self() would be a call. */
static inline unsigned long ticket_self(void)
{
	return arch_thread();
}

/* Does this thread have it? */
static inline bool ticket_is_mine(const struct ticket_lock *lock)
{
	return (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) & ~TICKET_WAITED) ==
	       ticket_self();
}

/* If it is free. */
static inline bool ticket_try(struct ticket_lock *lock)
{
	unsigned long owner = 0;

	return __atomic_load_n(&lock->next, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&lock->serving, __ATOMIC_RELAXED) &&
	       __atomic_compare_exchange_n(&lock->owner, &owner, ticket_self(), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Waits for the caller's turn.  Returns 0, or -EDEADLK if it is theirs already. */
int ticket_take(struct ticket_lock *lock);

/* Wakes the thread at the queue's head. */
void ticket_wake(struct ticket_lock *lock);

static inline void ticket_give(struct ticket_lock *lock)
{
	if (__atomic_exchange_n(&lock->owner, 0, __ATOMIC_RELEASE) & TICKET_WAITED)
		ticket_wake(lock);
}

#endif /* LIB_TICKET_H */
