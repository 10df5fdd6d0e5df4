// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See gets.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gets.h"
#include "measure.h"

/* The header of each datagram in memcached's protocol, in network order. */
struct frame {
	uint16_t id;
	uint16_t number;
	uint16_t total;
	uint16_t reserved;
};

enum fate {
	NEVER_SENT,
	WAITING,
	ANSWERED,
	GIVEN_UP,
};

#define DATAGRAM_MAX	2048
#define DATAGRAMS_MAX	64	/* of a reply */
#define RECEIVE_BUFFER	(4 << 20)
#define SEND_MAX	65000	/* bytes for UDP_SEGMENT */
/* Wrong replies to describe, at most. */
#define DESCRIBED	5

static void fit(struct get_socket *sock)
{
	int size = RECEIVE_BUFFER, segment = sock->request_size;

	/* The kernel may grant less: then losses are counted. */
	setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	sock->segments = !setsockopt(sock->fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
}

static void add_clients(struct get_socket *sock, unsigned int clients)
{
	for (sock->n = 1; sock->n < clients;)
		sock->n *= 2;
	sock->clients = calloc(sock->n, sizeof(*sock->clients));
	if (!sock->clients)
		measure_die("no memory for %u clients", sock->n);
	for (unsigned int i = 0; i < clients; i++) {
		struct client *client = &sock->clients[i];

		client->socket = sock;
		client->id = i;
		client->parts = malloc(sock->data->reply_size);
		client->asked = calloc(sock->keys, sizeof(*client->asked));
		if (!client->parts || !client->asked)
			measure_die("no memory for replies");
		client_push(&sock->free, client);
	}
}

void gets_open(struct get_socket *sock, const struct sockaddr_in *server, unsigned int clients,
	       unsigned int keys, struct dataset *data, struct stats *stats)
{
	const struct asked any[KEYS_PER_GET_MAX] = { 0 };
	unsigned char request[GET_SIZE_MAX];

	*sock = (struct get_socket){ .data = data, .stats = stats, .keys = keys };
	sock->request_size = sizeof(struct frame) + dataset_get(data, any, keys, request);
	sock->at_once = SEND_MAX / sock->request_size;
	sock->requests = malloc(GETS_BATCH * sock->request_size);
	if (!sock->requests)
		measure_die("no memory for requests");
	add_clients(sock, clients);
	sock->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock->fd < 0 || connect(sock->fd, (const struct sockaddr *)server, sizeof(*server)))
		measure_die("no UDP socket: %m");
	fit(sock);
}

void gets_close(struct get_socket *sock)
{
	for (unsigned int i = 0; i < sock->n; i++) {
		free(sock->clients[i].parts);
		free(sock->clients[i].asked);
	}
	free(sock->clients);
	free(sock->requests);
	close(sock->fd);
}

void gets_queue(struct get_socket *sock, struct client *client, uint64_t now)
{
	unsigned char *request = sock->requests + sock->queued++ * sock->request_size;
	struct frame frame = { .total = htons(1) };

	client->id += sock->n;
	for (unsigned int i = 0; i < client->keys; i++)
		client->asked[i].since = dataset_since(sock->data, client->asked[i].key);
	client->sent = now;
	sock->waiting += !client->waiting;
	client->waiting = true;
	client->seen = 0;
	client->have = 0;
	sock->fates[client->id] = WAITING;
	frame.id = htons(client->id);
	memcpy(request, &frame, sizeof(frame));
	dataset_get(sock->data, client->asked, client->keys, request + sizeof(frame));
}

/* Returns the number of datagrams sent, or -1. */
static int send_queued(struct get_socket *sock)
{
	struct mmsghdr messages[GETS_BATCH] = { 0 };
	struct iovec parts[GETS_BATCH];
	size_t size = sock->request_size;
	ssize_t len;

	if (sock->segments || sock->queued == 1) {
		unsigned int n = sock->queued < sock->at_once ? sock->queued : sock->at_once;

		len = send(sock->fd, sock->requests, n * size, MSG_DONTWAIT);
		return len < 0 ? -1 : (int)(len / size);
	}
	for (unsigned int i = 0; i < sock->queued; i++) {
		parts[i] = (struct iovec){ sock->requests + i * size, size };
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	return sendmmsg(sock->fd, messages, sock->queued, MSG_DONTWAIT);
}

static int refused(struct get_socket *sock)
{
	int err = errno;

	if (err == EAGAIN || err == ENOBUFS || err == EINTR)
		return 0;
	if (err == ECONNREFUSED && sock->survive)
		return 0;
	if (sock->segments && (err == EIO || err == EINVAL)) {
		int none = 0;

		setsockopt(sock->fd, SOL_UDP, UDP_SEGMENT, &none, sizeof(none));
		sock->segments = false;
		return 0;
	}
	if (err == ECONNREFUSED)
		measure_die("nothing listens on the server's UDP port: memcached needs -U PORT");
	measure_die("sending failed: %s", strerror(err));
}

void gets_flush(struct get_socket *sock)
{
	int sent = send_queued(sock);

	if (sent < 0)
		sent = refused(sock);
	sock->queued -= sent;
	memmove(sock->requests, sock->requests + sent * sock->request_size,
		sock->queued * sock->request_size);
}

static void describe(const struct client *client, const unsigned char *reply, size_t len)
{
	static _Atomic int described;

	if (described++ >= DESCRIBED)
		return;
	fprintf(stderr, "udpload: wrong reply to id %u, key %u, %zu bytes: ", client->id,
		client->asked[0].key, len);
	for (size_t i = 0; i < len && i < 64; i++)
		fprintf(stderr, reply[i] >= ' ' && reply[i] <= '~' ? "%c" : "\\x%02x", reply[i]);
	fprintf(stderr, "\n");
}

static void wrong(struct get_socket *sock, const struct client *client,
		  const unsigned char *reply, size_t len)
{
	describe(client, reply, len);
	sock->stats->wrong++;
}

static void complete(struct get_socket *sock, struct client *client, uint64_t now)
{
	struct stats *stats = sock->stats;

	client->waiting = false;
	client->keys = 0;
	sock->waiting--;
	sock->fates[client->id] = ANSWERED;
	stats_answered(stats, &stats->gets, client->start, now);
	client_push(&sock->free, client);
}

static void malformed(struct get_socket *sock, struct client *client,
		      const unsigned char *payload, size_t len, uint64_t now)
{
	wrong(sock, client, payload, len);
	complete(sock, client, now);
}

/* The whole reply to a GET of one key. */
static void take_reply(struct get_socket *sock, struct client *client,
		       const unsigned char *reply, size_t len, uint64_t now)
{
	enum reply what = dataset_check(sock->data, client->asked, reply, len);

	if (what == REPLY_WRONG)
		wrong(sock, client, reply, len);
	sock->stats->misses += what == REPLY_MISS;
	complete(sock, client, now);
}

/* For a GET of several keys: values come in order, and keys without one at the end are misses. */
static void take_value(struct get_socket *sock, struct client *client,
		       const unsigned char *reply, size_t len, uint64_t now)
{
	unsigned int at;
	bool last;
	enum reply what = dataset_check_value(sock->data, client->asked, client->keys,
					      client->seen, reply, len, &at, &last);

	if (what == REPLY_RIGHT && client->seen & 1ull << at) {
		sock->stats->duplicate++;
		return;
	}
	if (what == REPLY_RIGHT)
		client->seen |= 1ull << at;
	if (what == REPLY_WRONG)
		wrong(sock, client, reply, len);
	client->have += what != REPLY_MISS;
	if (!last)
		return;
	sock->stats->misses += client->keys > client->have ? client->keys - client->have : 0;
	complete(sock, client, now);
}

/* One datagram of several: all except the last have the same length. */
static void add_part(struct get_socket *sock, struct client *client, const struct frame *frame,
		     const unsigned char *payload, size_t len, uint64_t now)
{
	unsigned int number = ntohs(frame->number), total = ntohs(frame->total);
	size_t size = sock->data->reply_size;
	size_t at = number + 1 < total ? number * len : size - len;

	if (total > DATAGRAMS_MAX || number >= total || len > size || at > size - len) {
		malformed(sock, client, payload, len, now);
		return;
	}
	if (client->seen & 1ull << number) {
		sock->stats->duplicate++;
		return;
	}
	client->seen |= 1ull << number;
	client->have += len;
	memcpy(client->parts + at, payload, len);
	if (client->seen + 1 == (total == DATAGRAMS_MAX ? 0 : 1ull << total))
		take_reply(sock, client, client->parts, client->have, now);
}

static void unexpected(struct get_socket *sock, uint16_t id)
{
	switch (sock->fates[id]) {
	case ANSWERED:
		sock->stats->duplicate++;
		break;
	case GIVEN_UP:
		sock->stats->late++;
		break;
	default:
		sock->stats->stray++;
	}
}

static void take_datagram(struct get_socket *sock, const unsigned char *datagram, size_t len,
			  uint64_t now)
{
	struct client *client;
	struct frame frame;
	uint16_t id;

	if (len < sizeof(frame)) {
		sock->stats->stray++;
		return;
	}
	memcpy(&frame, datagram, sizeof(frame));
	datagram += sizeof(frame);
	len -= sizeof(frame);
	id = ntohs(frame.id);
	client = &sock->clients[id % sock->n];
	if (!client->waiting || client->id != id)
		unexpected(sock, id);
	else if (frame.reserved || !frame.total)
		malformed(sock, client, datagram, len, now);
	else if (sock->keys > 1)
		take_value(sock, client, datagram, len, now);
	else if (frame.total == htons(1) && !frame.number)
		take_reply(sock, client, datagram, len, now);
	else
		add_part(sock, client, &frame, datagram, len, now);
}

int gets_receive(struct get_socket *sock)
{
	static _Thread_local unsigned char buffers[GETS_BATCH][DATAGRAM_MAX];
	static _Thread_local struct mmsghdr messages[GETS_BATCH];
	static _Thread_local struct iovec parts[GETS_BATCH];
	uint64_t now;
	int n;

	if (!parts[0].iov_base) {
		for (int i = 0; i < GETS_BATCH; i++) {
			parts[i] = (struct iovec){ buffers[i], DATAGRAM_MAX };
			messages[i].msg_hdr.msg_iov = &parts[i];
			messages[i].msg_hdr.msg_iovlen = 1;
		}
	}
	n = recvmmsg(sock->fd, messages, GETS_BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return refused(sock);
	now = measure_now();
	for (int i = 0; i < n; i++)
		take_datagram(sock, buffers[i], messages[i].msg_len, now);
	return n;
}

unsigned int gets_resend(struct get_socket *sock, uint64_t before, uint64_t now)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sock->n && sock->queued < GETS_BATCH; i++) {
		struct client *client = &sock->clients[i];

		if (!client->waiting || client->sent >= before)
			continue;
		sock->fates[client->id] = GIVEN_UP;
		gets_queue(sock, client, now);
		n++;
	}
	sock->stats->lost += n;
	return n;
}
