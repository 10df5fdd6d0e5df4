// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <string.h>

#include "ticket.h"

void ticket_init(struct ticket_lock *lock)
{
	memset(lock, 0, sizeof(*lock));
	pthread_mutex_init(&lock->mutex, NULL);
	pthread_cond_init(&lock->served, NULL);
}

/* Under the mutex: takes it if it is free, else makes its holder look for a queue. */
static bool take_or_join(struct ticket_lock *lock)
{
	unsigned int state = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
	bool mine;

	do {
		if (state == TICKET_QUEUE)
			return false;
		mine = state == TICKET_FREE;
	} while (!__atomic_compare_exchange_n(&lock->state, &state,
					      mine ? TICKET_TAKEN : TICKET_QUEUE, false,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	/* The ticket of the holder, which has none. */
	if (!mine)
		lock->next++;
	return mine;
}

static void wait_for_turn(struct ticket_lock *lock)
{
	unsigned long ticket = lock->next++;

	while (lock->serving != ticket)
		pthread_cond_wait(&lock->served, &lock->mutex);
}

int ticket_take(struct ticket_lock *lock)
{
	int cancel;

	if (ticket_try(lock))
		return 0;
	if (ticket_is_mine(lock))
		return -EDEADLK;
	/* A thread cancelled in the queue would hold its turn for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock->mutex);
	if (!take_or_join(lock))
		wait_for_turn(lock);
	__atomic_store_n(&lock->holder, ticket_self(), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock->mutex);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

void ticket_pass_on(struct ticket_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	lock->serving++;
	if (lock->next != lock->serving)
		pthread_cond_broadcast(&lock->served);
	else
		__atomic_store_n(&lock->state, TICKET_FREE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock->mutex);
}
