/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Turns: a lock that serves its callers in the order in which they came. */
#ifndef LIB_TURN_H
#define LIB_TURN_H

#include <pthread.h>
#include <stdbool.h>

struct turn {
	pthread_mutex_t lock;
	pthread_cond_t served;
	unsigned long next, serving;
	bool held;
	pthread_t holder;		/* valid while held */
};

void turn_init(struct turn *turn);

/* Waits for the caller's turn.  Returns 0, or -EDEADLK if he has it already. */
int turn_take(struct turn *turn);

void turn_give(struct turn *turn);

#endif /* LIB_TURN_H */
