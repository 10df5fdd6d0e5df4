/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Resources that a thread of the server uses: CPU time, and on request system calls. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server {
	int schedstat;
	int entries;		/* counts system calls; -1: not requested */
	uint64_t last_cpu_ns, last_calls;
	uint64_t cpu_ns, system_calls;	/* counted */
};

/* Ends the program if the thread cannot be watched. */
void server_open(struct server *server, pid_t thread, bool calls);

/* Counts, or skips, the usage since the last of these calls. */
void server_count(struct server *server);
void server_skip(struct server *server);
void server_close(struct server *server);

#endif
