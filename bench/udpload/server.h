/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a thread of the server uses: CPU time, and mode switches if asked for. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server {
	int schedstat;
	int entries;		/* counts system calls; -1: not asked for */
	uint64_t total_cpu_ns, total_switches;
	/* Between the last two looks. */
	uint64_t cpu_ns, mode_switches;
};

/* Ends the program if the thread cannot be watched. */
void server_open(struct server *server, pid_t thread, bool switches);

/* Looks at what has been used. */
void server_read(struct server *server);
void server_close(struct server *server);

#endif
