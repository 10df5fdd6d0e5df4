// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>

#include "turn.h"

void turn_init(struct turn *turn)
{
	pthread_mutex_init(&turn->lock, NULL);
	pthread_cond_init(&turn->served, NULL);
	turn->next = 0;
	turn->serving = 0;
	turn->held = false;
}

int turn_take(struct turn *turn)
{
	unsigned long ticket;
	int cancel, ret = 0;

	/* A thread cancelled in the queue would hold its turn for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&turn->lock);
	if (turn->held && pthread_equal(turn->holder, pthread_self())) {
		ret = -EDEADLK;
	} else {
		ticket = turn->next++;
		while (turn->serving != ticket)
			pthread_cond_wait(&turn->served, &turn->lock);
		turn->held = true;
		turn->holder = pthread_self();
	}
	pthread_mutex_unlock(&turn->lock);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

void turn_give(struct turn *turn)
{
	pthread_mutex_lock(&turn->lock);
	turn->held = false;
	turn->serving++;
	if (turn->next != turn->serving)
		pthread_cond_broadcast(&turn->served);
	pthread_mutex_unlock(&turn->lock);
}
