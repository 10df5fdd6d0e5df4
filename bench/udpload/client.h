/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Clients: each has one request in flight, a GET over UDP or a SET over TCP. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asked {
	uint32_t key;
	uint32_t since;		/* the oldest version that a reply may contain */
};

struct client {
	struct client *next;	/* next free client of its socket */
	struct get_socket *socket;
	uint64_t start;		/* when it was sent, or was due */
	uint64_t sent;		/* when it was last sent */
	uint32_t key;		/* of its SET */
	struct asked *asked;	/* by its GET */
	unsigned int keys;	/* number of keys collected for the next GET, or requested */
	uint16_t id;
	bool waiting;		/* waits for the reply to a GET */
	/* The datagrams of a multi-datagram reply, or the values, received so far. */
	uint64_t seen;
	size_t have;
	unsigned char *parts;
};

static inline void client_push(struct client **list, struct client *client)
{
	client->next = *list;
	*list = client;
}

static inline struct client *client_pop(struct client **list)
{
	struct client *client = *list;

	if (client)
		*list = client->next;
	return client;
}

#endif
