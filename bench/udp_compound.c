// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The UDP server's loop as a compound: compiled by cosy-cc. */
#include <cosy.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "udp_compound.h"

/* Tries without waiting first; waits only if there is nothing. */
static int receive(struct udp_compound *server)
{
	struct epoll_event event;
	int n;

	for (;;) {
		n = recvmmsg(server->sock, server->in.hdr, BATCH, MSG_DONTWAIT, NULL);
		if (n >= 0 || errno != EAGAIN)
			return n;
		if (epoll_wait(server->epoll, &event, 1, -1) < 0)
			return -1;
	}
}

static void answer(struct udp_compound *server, int i)
{
	server->in.hdr[i].msg_hdr.msg_namelen = sizeof(server->in.name[i]);
	server->out.name[i] = server->in.name[i];
	memcpy(server->out.data[i], server->in.data[i], HEADER_LEN);
}

COSY_FUNCTION long udp_compound_step(struct udp_compound *shared)
{
	struct udp_compound *server = COSY_SHARED(shared);
	int n = receive(server);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		answer(server, i);
	n = sendmmsg(server->sock, server->out.hdr, n, 0);
	return n < 0 ? -errno : n;
}
