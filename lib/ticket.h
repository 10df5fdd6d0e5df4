/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A ticket lock: it serves its callers in the order in which they came. */
#ifndef LIB_TICKET_H
#define LIB_TICKET_H

#include <pthread.h>
#include <stdbool.h>

struct ticket_lock {
	pthread_mutex_t mutex;
	pthread_cond_t served;
	unsigned long next, serving;
	bool held;
	pthread_t holder;		/* valid while held */
};

void ticket_init(struct ticket_lock *lock);

/* Waits for the caller's turn.  Returns 0, or -EDEADLK if it is theirs already. */
int ticket_take(struct ticket_lock *lock);

void ticket_give(struct ticket_lock *lock);

#endif /* LIB_TICKET_H */
