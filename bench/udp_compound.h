/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A UDP server whose step is a compound. */
#ifndef UDP_COMPOUND_H
#define UDP_COMPOUND_H

#include "udp_server.h"

/* In the shared buffer. */
struct udp_compound {
	int sock, epoll;
	struct udp_messages in, out;
};

/* Waits for requests, and answers up to BATCH; returns their number, or -errno. */
long udp_compound_step(struct udp_compound *server);

#endif /* UDP_COMPOUND_H */
