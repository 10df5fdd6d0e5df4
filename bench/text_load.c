// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost per message of servers that parse text (text_server.c). Messages are put into a server's
 * socket before a step and replies are taken after it, untimed. The output of flushes is compared
 * with what was sent.
 *
 * usage: text_load ROUNDS STEPS [SERVER]
 *
 * Writes JSON: in each round every server once, in ns per message; and for servers that compute
 * sums, as NAME_flush, in ns per name.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "measure.h"
#include "order.h"
#include "text_server.h"

#define WARM_UP		100	/* steps */
#define CPU		1
#define DNS_FLAGS	2
#define SILENT		10	/* seconds for which a server may leave a client without a reply */

/**
 * struct client - a server's client
 * @socks: sockets to it; datagrams come from the first
 * @up:    receives queries that a forwarder forwards
 * @sum:   sum of the values sent since the last flush
 */
struct client {
	struct text_server *server;
	int socks[TEXT_BATCH], up, pipe;
	unsigned int sent;
	long sum;
};

static bool is_kind(const struct client *client, const char *kind)
{
	return !strncmp(client->server->name, kind, strlen(kind));
}

/* -- Messages ------------------------------------------------------------------------------- */

static unsigned int make_metric(struct client *client, char *text, unsigned int i)
{
	unsigned int value = i * 37 % 1000;

	client->sum += value;
	return sprintf(text, "web%02d.requests.status_%d:%d|c", i % TEXT_NAMES % 10,
		       200 + i % TEXT_NAMES / 10, value);
}

static unsigned int make_log(struct client *client, char *text, unsigned int i)
{
	client->sum++;
	return sprintf(text, "<%d>Oct %2d 22:14:%02d host%02d service%02d[%d]: Accepted publickey"
		       " for user%d from 192.0.2.%d port %d ssh2", i * 5 % 192, i % 28 + 1, i % 60,
		       i % TEXT_NAMES % 10, i % TEXT_NAMES / 10, 1000 + i * 13 % 30000, i % 50,
		       i % 256, 1024 + i % 60000);
}

static unsigned int make_query(char *text, unsigned int i)
{
	static const char head[] = "\1\0\0\1\0\0\0\0\0", tail[] = "\7example\3org\0\0\1\0";
	unsigned int len;

	text[0] = i >> 8;
	text[1] = i;
	memcpy(text + DNS_FLAGS, head, sizeof(head));
	len = DNS_FLAGS + sizeof(head);
	text[len] = sprintf(text + len + 1, "mail%02d", i % TEXT_BATCH);
	len += 1 + text[len];
	memcpy(text + len, tail, sizeof(tail));
	text[len + sizeof(tail) - 1] = 1;
	return len + sizeof(tail);
}

/* Turns a query into its answer. */
static unsigned int make_answer(char *text, unsigned int len)
{
	static const char record[] = "\300\14\0\1\0\1\0\0\0\74\0\4\300\0\2\1";

	text[DNS_FLAGS] |= 0x80;
	text[DNS_FLAGS + 1] |= 0x80;
	text[7] = 1;
	memcpy(text + len, record, sizeof(record) - 1);
	return len + sizeof(record) - 1;
}

static unsigned int make_request(char *text, unsigned int i)
{
	return sprintf(text, "GET %s?n=%d HTTP/1.1\r\nHost: www.example.org\r\n"
		       "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n"
		       "Accept-Language: en-US,en;q=0.5\r\nConnection: keep-alive\r\n\r\n",
		       i % 2 ? "/health" : "/", i);
}

static void client_send(struct client *client)
{
	char text[1024];

	for (unsigned int i = 0; i < TEXT_BATCH; i++, client->sent++) {
		bool http = is_kind(client, "http");
		unsigned int n = client->sent, len;

		if (is_kind(client, "statsd"))
			len = make_metric(client, text, n);
		else if (is_kind(client, "syslog"))
			len = make_log(client, text, n);
		else
			len = http ? make_request(text, n) : make_query(text, n);
		if (send(client->socks[http ? i : 0], text, len, 0) != (ssize_t)len)
			measure_die("client: send: %m");
	}
}

/* -- Replies ---------------------------------------------------------------------------------- */

/* Answers the queries of a forwarder; returns how many. */
static unsigned int answer_forwarded(struct client *client)
{
	char text[1024];
	unsigned int queries = 0;

	for (ssize_t n; (n = recv(client->up, text, sizeof(text) / 2, MSG_DONTWAIT)) > 0; queries++)
		if (send(client->up, text, make_answer(text, n), 0) < 0)
			measure_die("client: an answer: %m");
	return queries;
}

/* Checks that each query of the step was answered. */
static void take_answers(struct client *client)
{
	char text[1024], wanted[1024];
	bool seen[TEXT_BATCH] = { false };

	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		ssize_t n = recv(client->socks[0], text, sizeof(text), 0);
		unsigned int id = (unsigned char)text[0] << 8 | (unsigned char)text[1], at;

		at = (id - (client->sent - TEXT_BATCH)) & 0xffff;
		if (n < 2 || at >= TEXT_BATCH || seen[at] ||
		    n != make_answer(wanted, make_query(wanted, id)) || memcmp(text, wanted, n))
			measure_die("%s: answer %u of %zd bytes is wrong", client->server->name, i, n);
		seen[at] = true;
	}
}

/* Lets a forwarder that knew not all answers learn them; true if it had to. */
static bool had_to_learn(struct client *client)
{
	if (!answer_forwarded(client))
		return false;
	do
		client->server->step(client->server);
	while (answer_forwarded(client));
	take_answers(client);
	return true;
}

static void take_responses(struct client *client)
{
	char text[1024];

	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		bool health = (client->sent + i) % 2;
		ssize_t n = recv(client->socks[i], text, sizeof(text), 0);
		const char *body = health ? "\r\n\r\nok\n" : "\r\n\r\nsyscript\n";
		size_t len = strlen(body);

		if (n < (ssize_t)len || memcmp(text, "HTTP/1.1 200 OK\r\n", 17) ||
		    memcmp(text + n - len, body, len))
			measure_die("%s: a wrong response: %.*s", client->server->name, (int)n, text);
	}
}

/* Checks that the written sums equal what was sent. */
static void take_flushed(struct client *client)
{
	static char text[65536];
	ssize_t len = read(client->pipe, text, sizeof(text) - 1);
	unsigned int names = 0;
	long sum = 0;
	char *p = text;

	text[len < 0 ? 0 : len] = '\0';
	for (char *line; (line = strsep(&p, "\n")) && *line; names++) {
		if (is_kind(client, "syslog"))
			line = strchr(line, ' ') + 1;
		sum += strtol(strchr(line, ' '), NULL, 10);
	}
	if (names != TEXT_NAMES || sum != client->sum)
		measure_die("%s: %u names with a sum of %ld, not %ld", client->server->name, names,
			    sum, client->sum);
	client->sum = 0;
}

/* -- Steps ------------------------------------------------------------------------------------ */

static uint64_t timed(struct text_server *server, void (*what)(struct text_server *server))
{
	uint64_t start = measure_now();

	mark_begin();
	what(server);
	mark_end();
	return measure_now() - start;
}

/* Forwarders answer at once what they know: a step in which one had to learn does not count. */
static uint64_t step(struct client *client)
{
	uint64_t took;

	do {
		client_send(client);
		took = timed(client->server, client->server->step);
	} while (is_kind(client, "dns") && had_to_learn(client));
	if (is_kind(client, "dns"))
		take_answers(client);
	else if (is_kind(client, "http"))
		take_responses(client);
	return took;
}

static uint64_t flush(struct client *client)
{
	uint64_t took = timed(client->server, client->server->flush);

	take_flushed(client);
	return took;
}

/* The C program's answers: it forwards nothing, and forgets nothing. */
static void keep_answers(void)
{
	char text[1024];

	for (unsigned int i = 0; i < TEXT_BATCH; i++)
		text_dns_keep(text, make_answer(text, make_query(text, i)));
}

/* -- Opening ---------------------------------------------------------------------------------- */

/* A socket bound to a free port. */
static int bound(int type, struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int sock = socket(AF_INET, type, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (sock < 0 || bind(sock, (struct sockaddr *)address, len) ||
	    getsockname(sock, (struct sockaddr *)address, &len))
		measure_die("socket: %m");
	return sock;
}

static int connected(int type, const struct sockaddr_in *address)
{
	const struct timeval silent = { .tv_sec = SILENT };
	int sock = socket(AF_INET, type, 0);

	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &silent, sizeof(silent)) ||
	    connect(sock, (const struct sockaddr *)address, sizeof(*address)))
		measure_die("connect: %m");
	return sock;
}

/* Two datagram sockets, connected to each other. */
static void open_upstream(struct client *client)
{
	struct sockaddr_in address, other;

	client->server->out = bound(SOCK_DGRAM, &address);
	client->up = bound(SOCK_DGRAM, &other);
	if (connect(client->up, (struct sockaddr *)&address, sizeof(address)) ||
	    connect(client->server->out, (struct sockaddr *)&other, sizeof(other)))
		measure_die("connect: %m");
}

static void open_connections(struct client *client)
{
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address);

	client->server->sock = epoll_create1(0);
	if (listen(listener, TEXT_BATCH))
		measure_die("listen: %m");
	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		client->socks[i] = connected(SOCK_STREAM, &address);
		event.data.fd = accept(listener, NULL, NULL);
		if (event.data.fd < 0 ||
		    epoll_ctl(client->server->sock, EPOLL_CTL_ADD, event.data.fd, &event))
			measure_die("accept: %m");
	}
	close(listener);
}

static void open_pipe(struct client *client)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK))
		measure_die("pipe: %m");
	client->pipe = ends[0];
	client->server->out = ends[1];
}

static void client_open(struct client *client, struct text_server *server)
{
	struct sockaddr_in address;

	client->server = server;
	if (is_kind(client, "http")) {
		open_connections(client);
	} else {
		server->sock = bound(SOCK_DGRAM, &address);
		client->socks[0] = connected(SOCK_DGRAM, &address);
		if (is_kind(client, "dns"))
			open_upstream(client);
		else
			open_pipe(client);
	}
}

/* -- Rounds ----------------------------------------------------------------------------------- */

static void measure_round(struct client *clients, unsigned int n, unsigned int steps)
{
	double ns[n];

	memset(ns, 0, sizeof(ns));
	for (unsigned int j = 0; j < steps; j++) {
		for (unsigned int i = 0; i < n; i++) {
			unsigned int at = order_at(i, n, j);

			ns[at] += step(&clients[at]);
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		printf("%s\"%s\": %.6g", i ? ", " : "", clients[i].server->name,
		       ns[i] / steps / TEXT_BATCH);
		if (clients[i].server->flush)
			printf(", \"%s_flush\": %.6g", clients[i].server->name,
			       (double)flush(&clients[i]) / TEXT_NAMES);
	}
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, n = 0;
	struct client *clients = calloc(text_server_count, sizeof(*clients));

	/* All names must occur in a round, for the flush. */
	if (steps * TEXT_BATCH < TEXT_NAMES || !rounds || !clients)
		measure_die("usage: text_load ROUNDS STEPS [SERVER]");
	setenv("SYSCRIPT_BACKEND", "kernel", 0);
	measure_pin(CPU);
	for (unsigned int i = 0; i < text_server_count; i++) {
		struct text_server *server = &text_servers[i];

		if (argc > 3 && strcmp(server->name, argv[3]))
			continue;
		client_open(&clients[n], server);
		server->open(server);
		if (!strcmp(server->name, "dns_mmsg"))
			keep_answers();
		for (unsigned int j = 0; j < WARM_UP; j++)
			step(&clients[n]);
		if (server->flush)
			flush(&clients[n]);
		n++;
	}
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"batch\": %d,\n  \"rounds\": [",
	       measure_kernel(), measure_accel(), TEXT_BATCH);
	for (unsigned int round = 0; round < rounds; round++) {
		printf("%s\n    {", round ? "," : "");
		measure_round(clients, n, steps);
		printf("}");
	}
	printf("\n  ]\n}\n");
	return 0;
}
