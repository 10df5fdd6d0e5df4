/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a thread of the server uses: CPU time, and system calls if asked for. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server {
	int schedstat;
	int entries;		/* counts system calls; -1: not asked for */
	uint64_t last_cpu_ns, last_calls;
	uint64_t cpu_ns, system_calls;	/* counted */
};

/* Ends the program if the thread cannot be watched. */
void server_open(struct server *server, pid_t thread, bool calls);

/* What has been used since the last of these calls counts, or does not. */
void server_count(struct server *server);
void server_skip(struct server *server);
void server_close(struct server *server);

#endif
