/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* GETs over UDP: a socket, its clients, and the state of each request ID. */
#ifndef GETS_H
#define GETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "client.h"
#include "dataset.h"
#include "stats.h"

#define REQUEST_IDS	65536
/* Datagrams per system call; the maximum of UDP_SEGMENT. */
#define GETS_BATCH	64
#define CLIENTS_MAX	4096	/* of a socket: limits how soon an ID is reused */

struct get_socket {
	int fd;
	bool segments;		/* the kernel splits a send into datagrams */
	bool survive;		/* the server may disappear */
	struct client *clients;
	unsigned int n;		/* number of clients, and distance between a client's IDs */
	unsigned int keys;	/* of a request */
	unsigned int waiting;
	struct client *free;
	struct dataset *data;
	struct stats *stats;
	size_t request_size;
	unsigned int at_once;	/* requests that fit into one UDP_SEGMENT send */
	unsigned char *requests;	/* waiting to be sent */
	unsigned int queued;
	unsigned char fates[REQUEST_IDS];
};

/* Requests of @keys each. Ends the program if a socket cannot be opened. */
void gets_open(struct get_socket *sock, const struct sockaddr_in *server, unsigned int clients,
	       unsigned int keys, struct dataset *data, struct stats *stats);
void gets_close(struct get_socket *sock);

/* Requests the client's keys, at the next gets_flush(); there is room for GETS_BATCH requests. */
void gets_queue(struct get_socket *sock, struct client *client, uint64_t now);

/* Sends what is queued; keeps it if the socket's buffer is full. */
void gets_flush(struct get_socket *sock);

/* Processes replies. Returns the number of datagrams. */
int gets_receive(struct get_socket *sock);

/* Sends requests again that were sent before @before. Returns their number. */
unsigned int gets_resend(struct get_socket *sock, uint64_t before, uint64_t now);

#endif
