/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A ticket lock: it serves its callers in the order in which they came.  A signal handler
 * finds it free, or its thread's: one word says who has it, and threads that wait for it
 * block signals.
 *
 * An owner may lend it while it does what needs no lock: the head of the queue may then take
 * it, and the owner learns so when it wants the lock back.
 */
#ifndef LIB_TICKET_H
#define LIB_TICKET_H

#include <stdbool.h>

#include "arch/arch.h"

/* What @owner has beside ticket_self() */
#define TICKET_WAITED		1UL	/* the thread at the queue's head waits for it */
#define TICKET_LENT		2UL
#define TICKET_SLOT_SHIFT	60	/* beyond addresses: the owner's slot, see user/turn.h */
#define TICKET_SLOT		(~0UL << TICKET_SLOT_SHIFT)

/**
 * struct ticket_lock - a lock; free when zeroed
 * @owner: ticket_self() of the thread that has it, and TICKET_*, or 0
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

static inline unsigned long ticket_word(const struct ticket_lock *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
}

static inline unsigned int ticket_slot(unsigned long word)
{
	return word >> TICKET_SLOT_SHIFT;
}

/* Is @word, of a lock, this thread's? */
static inline bool ticket_says_me(unsigned long word)
{
	return (word & ~(TICKET_WAITED | TICKET_LENT | TICKET_SLOT)) == ticket_self();
}

/* Does this thread have it? */
static inline bool ticket_is_mine(const struct ticket_lock *lock)
{
	return ticket_says_me(ticket_word(lock));
}

static inline bool ticket_change(struct ticket_lock *lock, unsigned long from, unsigned long to)
{
	return __atomic_compare_exchange_n(&lock->owner, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* If it is free: the caller has it then, with @flags. */
static inline bool ticket_try_with(struct ticket_lock *lock, unsigned long flags)
{
	return !ticket_word(lock) &&
	       __atomic_load_n(&lock->next, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&lock->serving, __ATOMIC_RELAXED) &&
	       ticket_change(lock, 0, ticket_self() | flags);
}

static inline bool ticket_try(struct ticket_lock *lock)
{
	return ticket_try_with(lock, 0);
}

/*
 * Asked by the head of the queue, of a lock that is free (@word is 0) or lent, every
 * TICKET_POLL_NS at least, and for the @polls th time since @word has changed: the word by
 * which to take it, or 0: not yet.
 */
typedef unsigned long ticket_choose(unsigned long word, unsigned int polls, void *arg);

#define TICKET_POLL_NS	10000000L

/*
 * Waits for the turn of the caller, who has not got it.  @choose: NULL if it is never lent.
 * Returns the word.
 */
unsigned long ticket_wait(struct ticket_lock *lock, ticket_choose *choose, void *arg);

/* Waits for the caller's turn.  Returns 0, or -EDEADLK if it is theirs already. */
int ticket_take(struct ticket_lock *lock);

/*
 * From the word @word, which the caller has lent, to @to, with TICKET_WAITED if a thread
 * waits and it is not 0: false if another thread has taken it.
 */
bool ticket_back(struct ticket_lock *lock, unsigned long word, unsigned long to);

/* Wakes the thread at the queue's head. */
void ticket_wake(struct ticket_lock *lock);

static inline void ticket_give(struct ticket_lock *lock)
{
	if (__atomic_exchange_n(&lock->owner, 0, __ATOMIC_RELEASE) & TICKET_WAITED)
		ticket_wake(lock);
}

#endif /* LIB_TICKET_H */
