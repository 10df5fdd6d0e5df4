/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Several threads share the load: each has a part of the clients, sockets and requests. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>

#include "dataset.h"
#include "load.h"

#define THREADS_MAX	64

struct threads {
	struct dataset data[TARGETS_MAX];
	pthread_barrier_t together;
	struct thread {
		pthread_t id;
		struct load_options options;	/* its share of them */
		struct load loads[TARGETS_MAX];
	} thread[THREADS_MAX];
};

/* Makes the servers store all values, unless they hold them. */
void threads_open(struct threads *threads, const struct load_options *options);

/* Loads all servers. Afterwards the first thread's loads have the results of all threads. */
void threads_run(struct threads *threads, const struct load_options *options);
void threads_free(struct threads *threads, const struct load_options *options);

#endif
