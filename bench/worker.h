/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A memcached with one worker, whose instructions are counted. */
#ifndef WORKER_H
#define WORKER_H

#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t memcached;	/* 0: there is none */
	int schedstat;		/* of the thread */
};

/*
 * Starts one in this thread's network namespace and on its CPU; it serves UDP in @mode, on frames
 * of @device if that is "frames". Returns at once.
 */
void worker_start(struct worker *worker, const char *mode, const char *device,
		  unsigned int batch, uint16_t port);
/* Does nothing if it was not started. */
void worker_stop(const struct worker *worker);

/* Call it once the server works. Its ns on a CPU so far; it must be asleep. */
void worker_watch(struct worker *worker);
uint64_t worker_time(const struct worker *worker);

#endif
