/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A ticket lock: it serves its callers in the order in which they came. */
#ifndef LIB_TICKET_H
#define LIB_TICKET_H

#include <pthread.h>
#include <stdbool.h>

/* ticket_lock.state */
#define TICKET_FREE	0
#define TICKET_TAKEN	1	/* no thread waits, or has waited for it */
#define TICKET_QUEUE	2	/* the thread with ticket @serving has it */

/**
 * struct ticket_lock - a lock
 * @state:   TICKET_*; written under @mutex, except from FREE to TAKEN and back
 * @holder:  ticket_self() of its holder; 0 before it is given back
 * @next, @serving: tickets, equal if there is no queue
 */
struct ticket_lock {
	unsigned int state;
	unsigned long holder;
	pthread_mutex_t mutex;
	pthread_cond_t served;
	unsigned long next, serving;
};

void ticket_init(struct ticket_lock *lock);

/* This thread: where its own variables are.  pthread_self() would be a call. */
static inline unsigned long ticket_self(void)
{
	unsigned long self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
}

/* Does this thread have it? */
static inline bool ticket_is_mine(const struct ticket_lock *lock)
{
	return __atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == ticket_self();
}

/* If it is free. */
static inline bool ticket_try(struct ticket_lock *lock)
{
	unsigned int state = TICKET_FREE;

	if (!__atomic_compare_exchange_n(&lock->state, &state, TICKET_TAKEN, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&lock->holder, ticket_self(), __ATOMIC_RELAXED);
	return true;
}

/* Waits for the caller's turn.  Returns 0, or -EDEADLK if it is theirs already. */
int ticket_take(struct ticket_lock *lock);

/* Gives it to a waiting thread. */
void ticket_pass_on(struct ticket_lock *lock);

static inline void ticket_give(struct ticket_lock *lock)
{
	unsigned int state = TICKET_TAKEN;

	__atomic_store_n(&lock->holder, 0, __ATOMIC_RELAXED);
	if (!__atomic_compare_exchange_n(&lock->state, &state, TICKET_FREE, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		ticket_pass_on(lock);
}

#endif /* LIB_TICKET_H */
