// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements ticket.h: the queue, by futexes. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <time.h>

#include "lock.h"
#include "sys.h"
#include "ticket.h"

static void wait_while(void *word, unsigned int value, const struct timespec *timeout)
{
	sys_call(futex, word, FUTEX_WAIT_PRIVATE, value, timeout);
}

/* Waits until the caller, with @ticket, is the head of the queue. */
static void queue(struct ticket_lock *lock, unsigned int ticket)
{
	unsigned int serving;

	while ((serving = __atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE)) != ticket)
		wait_while(&lock->serving, serving, NULL);
}

/* For the head of the queue: sets TICKET_WAITED in @word. Returns the new word, or 0: try again. */
static unsigned long mark(struct ticket_lock *lock, unsigned long word)
{
	if (word & TICKET_WAITED)
		return word;
	word |= TICKET_WAITED;
	return ticket_change(lock, word & ~TICKET_WAITED, word) ? word : 0;
}

/* For the head of the queue. Futexes compare the first half of @owner. */
static unsigned long own(struct ticket_lock *lock, ticket_choose *choose, void *arg)
{
	const struct timespec poll = { 0, TICKET_POLL_NS };
	unsigned long word, to, last = 0;
	unsigned int polls = 0;

	for (;;) {
		word = ticket_word(lock);
		if (word) {
			word = mark(lock, word);
			if (!word)
				continue;
		}
		polls = word == last ? polls + 1 : 0;
		last = word;
		if (!choose)
			to = word ? 0 : ticket_self();
		else
			to = word && !(word & TICKET_LENT) ? 0 : choose(word, polls, arg);
		if (!to)
			wait_while(&lock->owner, word, choose ? &poll : NULL);
		else if (ticket_change(lock, word, to))
			return to;
	}
}

unsigned long ticket_wait(struct ticket_lock *lock, ticket_choose *choose, void *arg)
{
	unsigned long word;

	signals_block();
	queue(lock, __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED));
	word = own(lock, choose, arg);
	__atomic_store_n(&lock->serving, lock->serving + 1, __ATOMIC_RELEASE);
	sys_call(futex, &lock->serving, FUTEX_WAKE_PRIVATE, INT_MAX);
	signals_unblock();
	return word;
}

int ticket_take(struct ticket_lock *lock)
{
	if (ticket_try(lock))
		return 0;
	if (ticket_is_mine(lock))
		return -EDEADLK;
	ticket_wait(lock, NULL, NULL);
	return 0;
}

bool ticket_back(struct ticket_lock *lock, unsigned long word, unsigned long to)
{
	word &= ~TICKET_WAITED;
	if (ticket_change(lock, word, to))
		return true;
	if (to)
		return ticket_change(lock, word | TICKET_WAITED, to | TICKET_WAITED);
	if (!ticket_change(lock, word | TICKET_WAITED, 0))
		return false;
	ticket_wake(lock);
	return true;
}

void ticket_wake(struct ticket_lock *lock)
{
	sys_call(futex, &lock->owner, FUTEX_WAKE_PRIVATE, 1);
}
