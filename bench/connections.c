// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library's functions for connections compared with loops of plain calls: accepting pending
 * connections, and receiving from readable ones.
 *
 * usage: connections ROUNDS [PROBE]
 *
 * Writes JSON: in each round every probe once, or the one named, in ns per connection.
 * A single probe runs between marks for `make profile-icount`, after the warm-up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <syscript.h>
#include <syscript_sockets.h>

#include "../vm/profile/mark.h"
#include "measure.h"
#include "order.h"

#define CPU		1
#define BATCH		16		/* connections */
#define ROOM		1024
#define LEN		40		/* bytes of a request */
#define STEPS		10		/* in a sample */
#define WARM_UP		30		/* rounds until everything is compiled */

static struct sockaddr_in address;
static int listener, listener_epoll, epoll;
static int clients[BATCH], servers[BATCH];	/* the two ends */
static int askers[BATCH], asked[BATCH];		/* of connections that stay open */
static struct epoll_event events[BATCH];
static char bufs[BATCH][ROOM];
static int lens[BATCH];

static void add(int to, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(to, EPOLL_CTL_ADD, fd, &event))
		measure_die("epoll_ctl: %m");
}

static int connected(void)
{
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("connect: %m");
	return sock;
}

static void connect_all(void)
{
	for (int i = 0; i < BATCH; i++)
		clients[i] = connected();
}

static void close_all(void)
{
	const struct linger reset = { .l_onoff = 1 };

	for (int i = 0; i < BATCH; i++) {
		/* Avoids TIME_WAIT states, which would exhaust the ports. */
		setsockopt(clients[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(clients[i]);
		close(servers[i]);
	}
}

/* -- Accepting ------------------------------------------------------------------ */

static int accept_plain(void)
{
	int n = 0;

	if (epoll_wait(listener_epoll, events, BATCH, -1) != 1)
		measure_die("epoll_wait: %m");
	while ((servers[n] = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (++n == BATCH)
			break;
	return n;
}

static int accept_batch(void)
{
	return syscript_accept_batch(listener, servers, BATCH, SOCK_CLOEXEC, -1);
}

static int wait_accept(void)
{
	return syscript_wait_accept(listener_epoll, servers, NULL, BATCH, SOCK_CLOEXEC, -1);
}

/* -- Receiving ------------------------------------------------------------------- */

static void ask(void)
{
	char request[LEN] = "";

	for (int i = 0; i < BATCH; i++)
		if (send(askers[i], request, LEN, 0) != LEN)
			measure_die("send: %m");
}

static int recv_plain(void)
{
	int n = epoll_wait(epoll, events, BATCH, -1);

	for (int i = 0; i < n; i++)
		lens[i] = recv(events[i].data.fd, bufs[i], ROOM, MSG_DONTWAIT);
	return n;
}

static int wait_recv(void)
{
	return syscript_wait_recv(epoll, events, BATCH, bufs, ROOM, lens, -1);
}

static void check_received(void)
{
	for (int i = 0; i < BATCH; i++)
		if (lens[i] != LEN)
			measure_die("received %d bytes", lens[i]);
}

/* ---------------------------------------------------------------------------------- */

static const struct probe {
	const char *name;
	int (*run)(void);
	void (*before)(void), (*after)(void);	/* not timed */
} probes[] = {
	{ "accept plain", accept_plain, connect_all, close_all },
	{ "accept accept_batch", accept_batch, connect_all, close_all },
	{ "accept wait_accept", wait_accept, connect_all, close_all },
	{ "recv plain", recv_plain, ask, check_received },
	{ "recv wait_recv", wait_recv, ask, check_received },
};

#define PROBES	(sizeof(probes) / sizeof(probes[0]))

static uint64_t timed(const struct probe *probe, int *n)
{
	uint64_t start = measure_now();

	*n = probe->run();
	return measure_now() - start;
}

static uint64_t marked(const struct probe *probe, int *n)
{
	uint64_t took;

	mark_begin();
	took = timed(probe, n);
	mark_end();
	return took;
}

static uint64_t step(const struct probe *probe, int shown)
{
	uint64_t took;
	int n;

	probe->before();
	took = shown ? marked(probe, &n) : timed(probe, &n);
	if (n != BATCH)
		measure_die("%s: %d (%s)", probe->name, n, n < 0 ? syscript_strerror(n) : "few");
	probe->after();
	return took;
}

/* Runs @n of the probes, from @first on. */
static void measure_round(const struct probe *first, unsigned int n, unsigned int round,
			  int shown)
{
	double ns[PROBES] = { 0 };

	for (unsigned int k = 0; k < n * STEPS; k++) {
		unsigned int at = order_at(k % n, n, round + k / n);

		ns[at] += (double)step(&first[at], shown) / STEPS / BATCH;
	}
	if (!shown)
		return;
	printf("%s\n    {", round == WARM_UP ? "" : ",");
	for (unsigned int i = 0; i < n; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", first[i].name, ns[i]);
	printf("}");
}

static const struct probe *named(const char *name)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!strcmp(probes[i].name, name))
			return &probes[i];
	measure_die("no probe %s", name);
}

static void open_sockets(void)
{
	socklen_t len = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) ||
	    getsockname(listener, (struct sockaddr *)&address, &len) || listen(listener, BATCH))
		measure_die("listen: %m");
	listener_epoll = epoll_create1(0);
	epoll = epoll_create1(0);
	add(listener_epoll, listener);
	for (int i = 0; i < BATCH; i++) {
		askers[i] = connected();
		asked[i] = accept4(listener, NULL, NULL, 0);
		add(epoll, asked[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 2 || argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	const struct probe *first = argc == 3 ? named(argv[2]) : probes;

	if (!rounds)
		measure_die("usage: connections ROUNDS [PROBE]");
	/* In the kernel, or fail. */
	setenv("SYSCRIPT_BACKEND", "kernel", 1);
	measure_pin(CPU);
	open_sockets();
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"batch\": %d,\n"
	       "  \"rounds\": [", measure_kernel(), measure_accel(), BATCH);
	for (unsigned int round = 0; round < rounds + WARM_UP; round++)
		measure_round(first, argc == 3 ? 1 : PROBES, round, round >= WARM_UP);
	printf("\n  ]\n}\n");
	return 0;
}
