// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>

#include "ticket.h"

void ticket_init(struct ticket_lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	pthread_cond_init(&lock->served, NULL);
	lock->next = 0;
	lock->serving = 0;
	lock->held = false;
}

int ticket_take(struct ticket_lock *lock)
{
	unsigned long ticket;
	int cancel, ret = 0;

	/* A thread cancelled in the queue would hold its turn for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock->mutex);
	if (lock->held && pthread_equal(lock->holder, pthread_self())) {
		ret = -EDEADLK;
	} else {
		ticket = lock->next++;
		while (lock->serving != ticket)
			pthread_cond_wait(&lock->served, &lock->mutex);
		lock->held = true;
		lock->holder = pthread_self();
	}
	pthread_mutex_unlock(&lock->mutex);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

void ticket_give(struct ticket_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	lock->held = false;
	lock->serving++;
	if (lock->next != lock->serving)
		pthread_cond_broadcast(&lock->served);
	pthread_mutex_unlock(&lock->mutex);
}
