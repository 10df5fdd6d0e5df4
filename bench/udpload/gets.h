/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* GETs over UDP: a socket, its clients, and the fate of each request id. */
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
/* Datagrams for one system call; what UDP_SEGMENT takes in one. */
#define GETS_BATCH	64
#define CLIENTS_MAX	4096	/* of a socket: an id is not used again at once */

struct get_socket {
	int fd;
	bool segments;		/* the kernel cuts a send into datagrams */
	bool survive;		/* that there is no server */
	struct client *clients;
	unsigned int n;		/* clients, and how far apart the ids of one are */
	unsigned int keys;	/* of a request */
	unsigned int waiting;
	struct client *free;
	struct dataset *data;
	struct stats *stats;
	size_t request_size;
	unsigned int at_once;	/* requests that fit into what UDP_SEGMENT cuts */
	unsigned char *requests;	/* that wait to be sent */
	unsigned int queued;
	unsigned char fates[REQUEST_IDS];
};

/* Requests of @keys each.  Ends the program if a socket cannot be had. */
void gets_open(struct get_socket *sock, const struct sockaddr_in *server, unsigned int clients,
	       unsigned int keys, struct dataset *data, struct stats *stats);
void gets_close(struct get_socket *sock);

/*
 * Asks for the client's keys, at the next gets_flush(); there is room for GETS_BATCH
 * requests.
 */
void gets_queue(struct get_socket *sock, struct client *client, uint64_t now);

/* Sends what is queued; keeps it if the socket's buffer is full. */
void gets_flush(struct get_socket *sock);

/* Takes in replies.  Returns how many datagrams there were. */
int gets_receive(struct get_socket *sock);

/* Sends again what was sent before @before.  Returns how many that were. */
unsigned int gets_resend(struct get_socket *sock, uint64_t before, uint64_t now);

#endif
