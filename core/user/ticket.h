/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A ticket lock: it serves its callers in the order in which they came.  A signal handler finds
 * it free or owned by its own thread, never in between: one word names the owner, and threads
 * that wait block signals.
 *
 * An owner may lend the lock while it does work that needs no lock: the head of the queue may
 * then take it, and the owner learns that when it takes the lock back.
 */
#ifndef LIB_TICKET_H
#define LIB_TICKET_H

#include <stdbool.h>

#include "arch/arch.h"

/* Flags in @owner, besides ticket_self(). */
#define TICKET_WAITED		1UL	/* the thread at the queue's head waits for it */
#define TICKET_LENT		2UL
#define TICKET_SLOT_SHIFT	60	/* above addresses: the owner's slot, user/turn.h */
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

/*
 * Identifies this thread, by where its thread-local variables are. pthread_self() would be a
 * call.
 */
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

/* Is @word, of a lock, owned by this thread? */
static inline bool ticket_says_me(unsigned long word)
{
	return (word & ~(TICKET_WAITED | TICKET_LENT | TICKET_SLOT)) == ticket_self();
}

/* Does this thread own it? */
static inline bool ticket_is_mine(const struct ticket_lock *lock)
{
	return ticket_says_me(ticket_word(lock));
}

static inline bool ticket_change(struct ticket_lock *lock, unsigned long from, unsigned long to)
{
	return __atomic_compare_exchange_n(&lock->owner, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Takes the lock with @flags if it is free. */
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
 * Decides for the head of the queue about a lock that is free (@word is 0) or lent: returns the
 * word by which to take it, or 0: not yet. Called at least every TICKET_POLL_NS; @polls: calls
 * since @word has changed.
 */
typedef unsigned long ticket_choose(unsigned long word, unsigned int polls, void *arg);

#define TICKET_POLL_NS	10000000L

/*
 * Waits for the caller's turn; the caller must not own the lock. @choose: NULL if the lock is
 * never lent. Returns the word.
 */
unsigned long ticket_wait(struct ticket_lock *lock, ticket_choose *choose, void *arg);

/* Waits for the caller's turn. Returns 0, or -EDEADLK if the caller owns the lock. */
int ticket_take(struct ticket_lock *lock);

/*
 * Takes back the lock that the caller lent as @word, making its word @to, plus TICKET_WAITED if a
 * thread waits and @to is not 0. False if another thread has taken the lock.
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
