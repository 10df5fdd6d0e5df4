/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* SETs over TCP: a connection with requests in flight, answered in order. */
#ifndef SETS_H
#define SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "client.h"
#include "dataset.h"
#include "stats.h"

struct set_connection {
	int fd;			/* -1: the server has closed it */
	bool survive;		/* that */
	struct sockaddr_in server;
	struct dataset *data;
	struct stats *stats;
	/* A ring of the clients that wait for an answer. */
	struct client **waiting;
	unsigned int room, first, n;
	unsigned char *requests;	/* waiting to be sent */
	size_t queued;
	char replies[4096];
	size_t have;
	uint64_t retry;		/* when to reconnect */
};

/* Ends the program if it cannot connect. */
void sets_open(struct set_connection *conn, const struct sockaddr_in *server, unsigned int clients,
	       struct dataset *data, struct stats *stats);
void sets_close(struct set_connection *conn);

/* Stores the next version of a claimed key, at the next sets_flush(). */
void sets_queue(struct set_connection *conn, struct client *client, uint32_t key, uint64_t now);

/* Sends queued requests, as far as the socket accepts them. */
void sets_flush(struct set_connection *conn, uint64_t now);

/* Processes answers. Returns their number. */
int sets_receive(struct set_connection *conn);

/* The time since which the oldest request waits for its answer, or @now. */
uint64_t sets_oldest(const struct set_connection *conn, uint64_t now);

#endif
