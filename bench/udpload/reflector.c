// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The least that can answer udpload: GETs over UDP, SETs over TCP, of keys that udpload makes. It
 * causes the faults that udpload must notice: replies that are lost, duplicated, changed, or late.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataset.h"
#include "measure.h"

#define BATCH		64
#define FRAME		8
#define DATAGRAM_MAX	1400
#define PEERS_MAX	1024
#define ROOM		(VALUE_SIZE_MAX + FRAME_SIZE)

/* Settings by options, a number each. */
enum setting {
	/* Every nth reply; 0: none. */
	LOSE,
	DUPLICATE,
	CORRUPT,
	STALE,
	/* The GET before which to sleep, and for how long. */
	STALL_AT,
	STALL_MS,
	VALUE_SIZE,
	KEY_SIZE,
	KEYS,
	PORT,
	SETTINGS,
};

static const unsigned char get[] = "get", miss[] = "END\r\n";

#define LEN(text)	(sizeof(text) - 1)

struct peer {
	int fd;
	size_t have;
	unsigned char *data;
};

struct reflector {
	struct dataset data;
	uint32_t *versions;
	struct pollfd fds[2 + PEERS_MAX];	/* UDP, TCP, and TCP's connections */
	struct peer peers[PEERS_MAX];
	unsigned int n;
	unsigned long settings[SETTINGS];
	/* Counts of served and deliberately wrong replies. */
	unsigned long gets, sets, lost, duplicated, corrupted, staled, refused;
};

static volatile sig_atomic_t stopped;

static void stop(int signum)
{
	stopped = signum;
}

/* Whether this GET gets this treatment. */
static bool hits(struct reflector *r, enum setting how, unsigned long *count)
{
	unsigned long nth = r->settings[how];

	if (!nth || r->gets % nth)
		return false;
	++*count;
	return true;
}

static void send_part(struct reflector *r, unsigned char *part, size_t len,
		      const struct sockaddr_in *to)
{
	while (sendto(r->fds[0].fd, part, len, 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
		if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
			measure_die("sending failed: %m");
}

/* A reply in as many datagrams as needed, each with the frame. */
static void send_reply(struct reflector *r, const unsigned char *frame,
		       const unsigned char *reply, size_t len, const struct sockaddr_in *to)
{
	const size_t most = DATAGRAM_MAX - FRAME;
	unsigned char part[DATAGRAM_MAX];
	uint16_t total = htons((len + most - 1) / most);

	for (uint16_t number = 0; number < ntohs(total); number++) {
		size_t size = len < most ? len : most;
		uint16_t n = htons(number);

		memcpy(part, frame, FRAME);
		memcpy(part + 2, &n, sizeof(n));
		memcpy(part + 4, &total, sizeof(total));
		memcpy(part + FRAME, reply, size);
		send_part(r, part, FRAME + size, to);
		reply += size;
		len -= size;
	}
}

/* The reply for a key of a GET; with several keys, each has its own datagram. */
static void answer_key(struct reflector *r, const unsigned char *request, int64_t key, bool last,
		       const struct sockaddr_in *from)
{
	static unsigned char reply[ROOM];
	uint32_t version;
	size_t size;

	if (++r->gets == r->settings[STALL_AT])
		usleep(r->settings[STALL_MS] * 1000);
	if (!r->versions[key]) {
		if (last)
			send_reply(r, request, miss, LEN(miss), from);
		return;
	}
	version = r->versions[key] - hits(r, STALE, &r->staled);
	size = dataset_reply(&r->data, key, version, reply) - (last ? 0 : LEN(miss));
	if (hits(r, LOSE, &r->lost))
		return;
	if (hits(r, CORRUPT, &r->corrupted))
		reply[r->gets % size] ^= 1;
	send_reply(r, request, reply, size, from);
	if (hits(r, DUPLICATE, &r->duplicated))
		send_reply(r, request, reply, size, from);
}

static void answer_get(struct reflector *r, const unsigned char *request, size_t len,
		       const struct sockaddr_in *from)
{
	size_t each = 1 + r->data.key_size, names = len - FRAME - LEN(get) - 2;
	int64_t keys[KEYS_PER_GET_MAX];
	size_t n = names / each;

	if (len < FRAME + LEN(get) + 2 || names % each || n < 1 || n > KEYS_PER_GET_MAX ||
	    memcmp(request + FRAME, get, LEN(get))) {
		r->refused++;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		keys[i] = dataset_find(&r->data, (const char *)request + FRAME + LEN(get) +
				       i * each + 1, r->data.key_size);
		if (keys[i] < 0) {
			r->refused++;
			return;
		}
	}
	for (size_t i = 0; i < n; i++)
		answer_key(r, request, keys[i], i + 1 == n, from);
}

static void receive_gets(struct reflector *r)
{
	static unsigned char requests[BATCH][FRAME + GET_SIZE_MAX];
	struct sockaddr_in from[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int n;

	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ requests[i], sizeof(requests[i]) };
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &parts[i],
			.msg_iovlen = 1,
		};
	}
	n = recvmmsg(r->fds[0].fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		answer_get(r, requests[i], messages[i].msg_len, &from[i]);
}

static void forget(struct reflector *r, unsigned int i)
{
	close(r->peers[i].fd);
	free(r->peers[i].data);
	r->peers[i] = r->peers[--r->n];
	r->fds[2 + i].fd = r->peers[i].fd;
}

/* Length of the request that starts there, 0 if incomplete. */
static size_t take_set(struct reflector *r, struct peer *peer, const unsigned char *request,
		       size_t len)
{
	size_t at = 4 + r->data.key_size + 2 + r->data.tail_len;
	size_t size = at + r->data.value_size + 2;
	const char *answer = "STORED\r\n";
	uint32_t version;
	int64_t key;

	if (len < size)
		return 0;
	key = dataset_find(&r->data, (const char *)request + 4, r->data.key_size);
	if (memcmp(request, "set ", 4) || key < 0 ||
	    !dataset_value_is(&r->data, key, request + at, &version) ||
	    memcmp(request + size - 2, "\r\n", 2)) {
		r->refused++;
		answer = "SERVER_ERROR not what is stored for this key\r\n";
	} else {
		r->sets++;
		r->versions[key] = version;
	}
	if (send(peer->fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		return 0;
	return size;
}

static void receive_sets(struct reflector *r, unsigned int i)
{
	struct peer *peer = &r->peers[i];
	ssize_t len = recv(peer->fd, peer->data + peer->have, 2 * ROOM - peer->have, MSG_DONTWAIT);
	size_t at = 0, taken;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		forget(r, i);
		return;
	}
	peer->have += len;
	while ((taken = take_set(r, peer, peer->data + at, peer->have - at)))
		at += taken;
	peer->have -= at;
	memmove(peer->data, peer->data + at, peer->have);
}

static void welcome(struct reflector *r)
{
	struct peer peer = { .fd = accept(r->fds[1].fd, NULL, NULL) };

	if (peer.fd < 0)
		return;
	peer.data = malloc(2 * ROOM);
	if (!peer.data || r->n == PEERS_MAX)
		measure_die("too many connections");
	r->fds[2 + r->n] = (struct pollfd){ peer.fd, POLLIN, 0 };
	r->peers[r->n++] = peer;
}

static void serve(struct reflector *r)
{
	while (!stopped) {
		if (poll(r->fds, 2 + r->n, -1) < 0)
			continue;
		if (r->fds[0].revents)
			receive_gets(r);
		for (unsigned int i = r->n; i--;)
			if (r->fds[2 + i].revents)
				receive_sets(r, i);
		if (r->fds[1].revents)
			welcome(r);
	}
}

#define TRIES	20	/* of ports that the kernel chooses */

/* Binds new sockets to @addr, whose port may be 0; false: see errno. */
static bool bind_both(struct sockaddr_in *addr, int *udp, int *tcp)
{
	socklen_t len = sizeof(*addr);
	int one = 1;

	*udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	*tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(*tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return *udp >= 0 && *tcp >= 0 && !bind(*tcp, (struct sockaddr *)addr, len) &&
	       !getsockname(*tcp, (struct sockaddr *)addr, &len) &&
	       !bind(*udp, (struct sockaddr *)addr, len) && !listen(*tcp, PEERS_MAX);
}

/* Listens for UDP and TCP at one port, and prints it. The kernel chooses one that TCP has free. */
static void listen_at(struct reflector *r)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int udp, tcp, size = 4 << 20, tries = r->settings[PORT] ? 1 : TRIES;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = htons(r->settings[PORT]);
	while (!bind_both(&addr, &udp, &tcp)) {
		if (errno != EADDRINUSE || !--tries)
			measure_die("no sockets at one port: %m");
		close(udp);
		close(tcp);
		addr.sin_port = 0;
	}
	setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	r->fds[0] = (struct pollfd){ udp, POLLIN, 0 };
	r->fds[1] = (struct pollfd){ tcp, POLLIN, 0 };
	printf("%u\n", ntohs(addr.sin_port));
	fflush(stdout);
}

static void parse(struct reflector *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "lose", required_argument, NULL, LOSE },
		{ "duplicate", required_argument, NULL, DUPLICATE },
		{ "corrupt", required_argument, NULL, CORRUPT },
		{ "stale", required_argument, NULL, STALE },
		{ "stall-at", required_argument, NULL, STALL_AT },
		{ "stall-ms", required_argument, NULL, STALL_MS },
		{ "value-size", required_argument, NULL, VALUE_SIZE },
		{ "key-size", required_argument, NULL, KEY_SIZE },
		{ "keys", required_argument, NULL, KEYS },
		{ "port", required_argument, NULL, PORT },
		{ 0 },
	};
	int option;

	r->settings[VALUE_SIZE] = 64;
	r->settings[KEY_SIZE] = 16;
	r->settings[KEYS] = 10000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = "";

		if (option < SETTINGS)
			r->settings[option] = strtoul(optarg, &end, 10);
		if (option >= SETTINGS || *end)
			measure_die("options take numbers: see the source for their names");
	}
}

int main(int argc, char **argv)
{
	static struct reflector r;
	struct sigaction action = { .sa_handler = stop };

	parse(&r, argc, argv);
	dataset_init(&r.data, r.settings[KEYS], r.settings[KEY_SIZE], r.settings[VALUE_SIZE]);
	r.versions = calloc(r.data.keys, sizeof(*r.versions));
	if (!r.versions)
		measure_die("no memory for %u keys", r.data.keys);
	sigaction(SIGTERM, &action, NULL);
	listen_at(&r);
	serve(&r);
	printf("{\"gets\": %lu, \"sets\": %lu, \"lost\": %lu, \"duplicated\": %lu, ", r.gets,
	       r.sets, r.lost, r.duplicated);
	printf("\"corrupted\": %lu, \"staled\": %lu, \"refused\": %lu}\n", r.corrupted, r.staled,
	       r.refused);
	return 0;
}
