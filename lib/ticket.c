// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See ticket.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#include "lock.h"
#include "sys.h"
#include "ticket.h"

static void wait_while(void *word, unsigned int value)
{
	sys_call(futex, word, FUTEX_WAIT_PRIVATE, value, 0);
}

/* Until the caller, with @ticket, is the head of the queue. */
static void queue(struct ticket_lock *lock, unsigned int ticket)
{
	unsigned int serving;

	while ((serving = __atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE)) != ticket)
		wait_while(&lock->serving, serving);
}

/* By the head of the queue: the half of @owner that futexes compare comes first. */
static void own(struct ticket_lock *lock)
{
	unsigned long owner = 0;

	while (!__atomic_compare_exchange_n(&lock->owner, &owner, ticket_self(), false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (owner & TICKET_WAITED ||
		    __atomic_compare_exchange_n(&lock->owner, &owner, owner | TICKET_WAITED,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			wait_while(&lock->owner, owner | TICKET_WAITED);
		owner = 0;
	}
}

int ticket_take(struct ticket_lock *lock)
{
	if (ticket_try(lock))
		return 0;
	if (ticket_is_mine(lock))
		return -EDEADLK;
	signals_block();
	queue(lock, __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED));
	own(lock);
	__atomic_store_n(&lock->serving, lock->serving + 1, __ATOMIC_RELEASE);
	sys_call(futex, &lock->serving, FUTEX_WAKE_PRIVATE, INT_MAX);
	signals_unblock();
	return 0;
}

void ticket_wake(struct ticket_lock *lock)
{
	sys_call(futex, &lock->owner, FUTEX_WAKE_PRIVATE, 1);
}
