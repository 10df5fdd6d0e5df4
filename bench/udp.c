// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost per request of a UDP server's loop, for each server of udp_server.c. Requests are put
 * into the server's socket before a step and replies are taken from the clients' sockets after it,
 * untimed.
 *
 * usage: udp ROUNDS STEPS [SERVER...]
 *
 * Writes JSON: in each round every server once, in ns per request; and the mode switches per
 * request. SYSCRIPT_BACKEND=user in the environment: scripts run in the process.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "measure.h"
#include "order.h"
#include "udp_server.h"

#define WARM_UP		100	/* steps until everything is compiled */
#define CPU		1

struct client {
	struct sockaddr_in server;
	int server_sock, reply_len;
	int socks[BATCH];
	uint64_t sent, received;
};

/* Kernel memory, in bytes, of what is queued in a socket. */
static unsigned int waiting(int sock)
{
	unsigned int info[SK_MEMINFO_VARS];
	socklen_t len = sizeof(info);

	if (getsockopt(sock, SOL_SOCKET, SO_MEMINFO, info, &len))
		measure_die("SO_MEMINFO: %m");
	return info[SK_MEMINFO_RMEM_ALLOC];
}

/* ksoftirqd may deliver it, and needs this CPU. */
static void wait_for(int sock, unsigned int memory)
{
	while (waiting(sock) < memory)
		sched_yield();
}

/* Kernel memory of a queued request: sends one to itself. */
static unsigned int request_memory(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	char request[REQUEST_LEN] = "";
	socklen_t len = sizeof(address);
	unsigned int memory;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockname(sock, (struct sockaddr *)&address, &len) ||
	    sendto(sock, request, sizeof(request), 0, (struct sockaddr *)&address, len) < 0)
		measure_die("a request to oneself: %m");
	wait_for(sock, 1);
	memory = waiting(sock);
	close(sock);
	return memory;
}

static void client_open(struct client *client, const struct udp_server *server)
{
	const struct timeval patience = { .tv_sec = 10 };

	client->server_sock = server->sock;
	client->reply_len = server->echo ? REQUEST_LEN : REPLY_LEN;
	for (unsigned int i = 0; i < BATCH; i++) {
		client->socks[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (client->socks[i] < 0 ||
		    connect(client->socks[i], (struct sockaddr *)&client->server,
			    sizeof(client->server)) ||
		    setsockopt(client->socks[i], SOL_SOCKET, SO_RCVTIMEO, &patience,
			       sizeof(patience)))
			measure_die("client: %m");
	}
}

static void client_ask(struct client *client)
{
	static unsigned int memory;
	char request[REQUEST_LEN] = "";

	if (!memory)
		memory = request_memory();

	for (unsigned int i = 0; i < BATCH; i++) {
		client->sent++;
		memset(request, 1 + client->sent % 255, HEADER_LEN);
		if (send(client->socks[i], request, sizeof(request), 0) != REQUEST_LEN)
			measure_die("client: send: %m");
	}
	wait_for(client->server_sock, BATCH * memory);
}

/* Checks that each reply arrives once and matches its request. */
static void client_take(struct client *client)
{
	char reply[2 * REPLY_LEN], header[HEADER_LEN];

	for (unsigned int i = 0; i < BATCH; i++) {
		client->received++;
		memset(header, 1 + client->received % 255, sizeof(header));
		if (recv(client->socks[i], reply, sizeof(reply), 0) != client->reply_len)
			measure_die("client: reply %" PRIu64 ": %m", client->received);
		if (memcmp(reply, header, sizeof(header)))
			measure_die("client: reply %" PRIu64 " is not its own", client->received);
	}
	if (recv(client->socks[0], reply, sizeof(reply), MSG_DONTWAIT) >= 0)
		measure_die("client: a reply too many");
}

static uint64_t step(struct udp_server *server, struct client *client)
{
	uint64_t start, took;

	client_ask(client);
	start = measure_now();
	mark_begin();
	server->step(server);
	mark_end();
	took = measure_now() - start;
	if (!server->late || client->sent > BATCH)
		client_take(client);
	return took;
}

/* Puts the servers named on the command line first, or all that this program is linked with. */
static unsigned int choose(char **names)
{
	unsigned int chosen = 0;

	if (!*names)
		return udp_server_count - !uring_loop_step;
	for (; *names; names++) {
		unsigned int i = chosen;

		while (i < udp_server_count && strcmp(udp_servers[i].name, *names))
			i++;
		if (i == udp_server_count || !udp_servers[i].step)
			measure_die("no server %s: see udp_server.c", *names);
		struct udp_server server = udp_servers[chosen];

		udp_servers[chosen++] = udp_servers[i];
		udp_servers[i] = server;
	}
	return chosen;
}

/* Servers alternate in small steps. */
static void measure_round(struct client *clients, unsigned int n, unsigned int steps)
{
	double ns[n];

	memset(ns, 0, sizeof(ns));
	for (unsigned int j = 0; j < steps; j++) {
		for (unsigned int i = 0; i < n; i++) {
			unsigned int at = order_at(i, n, j);

			ns[at] += step(&udp_servers[at], &clients[at]);
		}
	}
	for (unsigned int i = 0; i < n; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", udp_servers[i].name,
		       ns[i] / steps / BATCH);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct client *clients = calloc(udp_server_count, sizeof(*clients));
	unsigned int n;

	if (!rounds || !steps || !clients)
		measure_die("usage: udp ROUNDS STEPS [SERVER...]");
	/* The library's scripts, too: in the kernel or fail, unless told otherwise. */
	setenv("SYSCRIPT_BACKEND", "kernel", 0);
	n = choose(argv + 3);
	measure_pin(CPU);
	for (unsigned int i = 0; i < n; i++) {
		udp_server_open(&udp_servers[i], &clients[i].server);
		client_open(&clients[i], &udp_servers[i]);
		for (unsigned int j = 0; j < WARM_UP; j++)
			step(&udp_servers[i], &clients[i]);
	}
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"batch\": %d,\n"
	       "  \"reply_bytes\": %d,\n  \"switches\": {",
	       measure_kernel(), measure_accel(), BATCH, REPLY_LEN);
	for (unsigned int i = 0; i < n; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", udp_servers[i].name,
		       (double)udp_servers[i].switches / BATCH);
	printf("},\n  \"rounds\": [");
	for (unsigned int round = 0; round < rounds; round++) {
		printf("%s\n    {", round ? "," : "");
		measure_round(clients, n, steps);
		printf("}");
	}
	printf("\n  ]\n}\n");
	return 0;
}
