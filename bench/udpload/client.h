/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Clients: each has one request out at a time, a GET over UDP or a SET over TCP. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asked {
	uint32_t key;
	uint32_t since;		/* the oldest version that may be seen */
};

struct client {
	struct client *next;	/* of those of its socket that are free */
	struct get_socket *socket;
	uint64_t start;		/* when it was sent, or was to be sent */
	uint64_t sent;		/* when it was sent the last time */
	uint32_t key;		/* of its SET */
	struct asked *asked;	/* by its GET */
	unsigned int keys;	/* of these, collected for the next GET or asked for */
	uint16_t id;
	bool waiting;		/* for the reply to a GET */
	/* The datagrams of a reply that has several, or the values that have come. */
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
