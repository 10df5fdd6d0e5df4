// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See sets.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gets.h"
#include "measure.h"
#include "sets.h"

static const char stored[] = "STORED";

/* ns between two attempts to reconnect. */
#define RETRY_NS	100000000

static int try_connect(struct set_connection *conn)
{
	int one = 1;

	conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		measure_die("no TCP socket: %m");
	if (connect(conn->fd, (struct sockaddr *)&conn->server, sizeof(conn->server))) {
		close(conn->fd);
		conn->fd = -1;
		return -1;
	}
	return setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void sets_open(struct set_connection *conn, const struct sockaddr_in *server, unsigned int clients,
	       struct dataset *data, struct stats *stats)
{
	*conn = (struct set_connection){
		.server = *server,
		.data = data,
		.stats = stats,
		.room = clients,
		.waiting = calloc(clients, sizeof(struct client *)),
		.requests = malloc(clients * (data->value_size + FRAME_SIZE)),
	};
	if (!conn->waiting || !conn->requests)
		measure_die("no memory for %u clients", clients);
	if (try_connect(conn))
		measure_die("no TCP connection to the server's port %u: %m",
			    ntohs(server->sin_port));
}

void sets_close(struct set_connection *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	free(conn->waiting);
	free(conn->requests);
}

void sets_queue(struct set_connection *conn, struct client *client, uint32_t key, uint64_t now)
{
	client->key = key;
	client->sent = now;
	conn->waiting[(conn->first + conn->n++) % conn->room] = client;
	conn->queued += dataset_set(conn->data, key, dataset_next(conn->data, key),
				    conn->requests + conn->queued);
}

static struct client *next_answered(struct set_connection *conn, bool is_stored)
{
	struct client *client = conn->waiting[conn->first];

	conn->first = (conn->first + 1) % conn->room;
	conn->n--;
	dataset_release(conn->data, client->key, is_stored);
	client_push(&client->socket->free, client);
	return client;
}

/* The server is gone, and requests in flight are lost. */
static void disconnect(struct set_connection *conn, const char *why)
{
	if (!conn->survive)
		measure_die("the server closed a TCP connection (%s)", why);
	conn->stats->broken += conn->n;
	while (conn->n)
		next_answered(conn, false);
	conn->queued = 0;
	conn->have = 0;
	close(conn->fd);
	conn->fd = -1;
}

static bool connected(struct set_connection *conn, uint64_t now)
{
	if (conn->fd < 0 && now >= conn->retry) {
		conn->retry = now + RETRY_NS;
		try_connect(conn);
	}
	return conn->fd >= 0;
}

void sets_flush(struct set_connection *conn, uint64_t now)
{
	ssize_t len;

	if (!connected(conn, now))
		return;
	len = send(conn->fd, conn->requests, conn->queued, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (len < 0) {
		if (errno != EAGAIN && errno != EINTR)
			disconnect(conn, strerror(errno));
		return;
	}
	conn->queued -= len;
	memmove(conn->requests, conn->requests + len, conn->queued);
}

static void answered(struct set_connection *conn, const char *line, size_t len, uint64_t now)
{
	struct client *client;

	if (!conn->n)
		measure_die("the server answered a SET that was not sent: %.*s", (int)len, line);
	if (len != sizeof(stored) - 1 || memcmp(line, stored, len))
		measure_die("the server refused a SET: %.*s", (int)len, line);
	client = next_answered(conn, true);
	stats_answered(conn->stats, &conn->stats->sets, client->start, now);
}

int sets_receive(struct set_connection *conn)
{
	ssize_t len = recv(conn->fd, conn->replies + conn->have,
			   sizeof(conn->replies) - conn->have, MSG_DONTWAIT);
	char *line = conn->replies, *newline;
	uint64_t now = measure_now();
	int n = 0;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (len <= 0) {
		disconnect(conn, len ? strerror(errno) : "end of data");
		return 0;
	}
	conn->have += len;
	while ((newline = memchr(line, '\n', conn->have))) {
		answered(conn, line, newline - line - (newline > line), now);
		conn->have -= newline + 1 - line;
		line = newline + 1;
		n++;
	}
	memmove(conn->replies, line, conn->have);
	return n;
}

uint64_t sets_oldest(const struct set_connection *conn, uint64_t now)
{
	return conn->n ? conn->waiting[conn->first]->sent : now;
}
