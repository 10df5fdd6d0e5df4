// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a datagram over the loopback device takes, from send(2) to recv(2), with a
 * program on its way, next to what others have there that do the same.
 *
 * usage: hooks ROUNDS STEPS [WAY]	(as root)
 *
 * Writes JSON: in each round every way once, in ns for a datagram.  A way whose program
 * cannot be loaded on this kernel, or has not been built, is not in it.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf_netfilter.h"
#include "measure.h"
#include "order.h"
#include "../vm/profile/mark.h"

#define CPU		1
#define PORT		4000	/* that programs look for */
#define OTHER_PORT	4001
#define WARM_UP		300	/* datagrams */
#define COMMAND		512

#define OBJECTS		"build/bench/programs/"
#define LOAD		"build/syscript load bench --at 'ip input' "
#define LOAD_LUA	LOAD "bench/hooks/"
#define UNLOAD		"build/syscript unload bench"

#define NFT		"nft -f bench/hooks/"
#define NFT_OFF		"nft flush ruleset"
#define TC		"tc qdisc add dev lo clsact && tc filter add dev lo ingress bpf da obj "
#define TC_OFF		"tc qdisc del dev lo clsact"
#define XDP		"ip link set dev lo xdpgeneric obj "
#define XDP_OFF		"ip link set dev lo xdpgeneric off"

/**
 * struct way - what is on the datagrams' way
 * @on, @off: commands; @on NULL: netfilter program of BPF
 * @port:     of the datagrams
 */
struct way {
	const char *name, *on, *off;
	int port;
};

static const struct way ways[] = {
	{ "nothing", "true", "true", PORT },
	{ "empty", LOAD OBJECTS "empty.o", UNLOAD, PORT },
	{ "confined_accept", LOAD OBJECTS "port.o", UNLOAD, PORT },
	{ "confined_rate", LOAD OBJECTS "rate.o", UNLOAD, PORT },
	{ "confined_rate_other", LOAD OBJECTS "rate.o", UNLOAD, OTHER_PORT },
	{ "confined_table", LOAD OBJECTS "table.o", UNLOAD, PORT },
	{ "lua_rate", LOAD_LUA "rate.lua", UNLOAD, PORT },
	{ "lua_rate_other", LOAD_LUA "rate.lua", UNLOAD, OTHER_PORT },
	{ "error", LOAD OBJECTS "error.o --errors 1000000000", UNLOAD, PORT },
	{ "nftables_accept", NFT "accept.nft", NFT_OFF, PORT },
	{ "nftables_rate", NFT "rate.nft", NFT_OFF, PORT },
	{ "nftables_rate_other", NFT "rate.nft", NFT_OFF, OTHER_PORT },
	{ "tc_rate", TC OBJECTS "tc_rate.o sec tc", TC_OFF, PORT },
	{ "tc_rate_other", TC OBJECTS "tc_rate.o sec tc", TC_OFF, OTHER_PORT },
	{ "tc_table", TC OBJECTS "tc_table.o sec tc", TC_OFF, PORT },
	{ "xdp_rate", XDP OBJECTS "tc_rate.o sec xdp", XDP_OFF, PORT },
	{ "bpf_netfilter_empty", NULL, NULL, PORT },
};

#define NWAYS	(sizeof(ways) / sizeof(*ways))

/* Its exit status; what it prints is not ours. */
static int run(const char *command)
{
	char text[COMMAND];
	int status;

	snprintf(text, sizeof(text), "(%s) >&2", command);
	status = system(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool turn_on(const struct way *way)
{
	return way->on ? !run(way->on) : !bpf_netfilter_on();
}

static void turn_off(const struct way *way)
{
	if (!way->off)
		bpf_netfilter_off();
	else if (run(way->off))
		measure_die("%s cannot be turned off", way->name);
}

static int receiver(int port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	if (sock < 0 || bind(sock, (struct sockaddr *)&name, sizeof(name)))
		measure_die("port %d: %m", port);
	return sock;
}

static int sender(int port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	if (sock < 0 || connect(sock, (struct sockaddr *)&name, sizeof(name)))
		measure_die("port %d: %m", port);
	return sock;
}

static double exchange(int from, int to, long steps)
{
	char data[64] = "datagram";
	uint64_t since = measure_now();

	for (long i = 0; i < steps; i++)
		if (send(from, data, sizeof(data), 0) != sizeof(data) ||
		    recv(to, data, sizeof(data), MSG_DONTWAIT) != sizeof(data))
			measure_die("a datagram is lost: %m");
	return (double)(measure_now() - since) / steps;
}

/* ns for a datagram, or -1: there is no such way here. */
static double measure(const struct way *way, long steps)
{
	int from, to;
	double took;

	if (!turn_on(way))
		return -1;
	from = sender(way->port);
	to = receiver(way->port);
	exchange(from, to, WARM_UP);
	mark_begin();
	took = exchange(from, to, steps);
	mark_end();
	close(from);
	close(to);
	turn_off(way);
	return took;
}

static void print_round(const double *took, bool first)
{
	const char *comma = "";

	printf("%s{", first ? "" : ", ");
	for (unsigned int i = 0; i < NWAYS; i++) {
		if (took[i] < 0)
			continue;
		printf("%s\"%s\": %.2f", comma, ways[i].name, took[i]);
		comma = ", ";
	}
	printf("}");
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;
	long steps = argc > 2 ? atol(argv[2]) : 0;
	const char *only = argc > 3 ? argv[3] : NULL;
	double took[NWAYS];

	if (rounds < 1 || steps < 1)
		measure_die("usage: hooks ROUNDS STEPS [WAY]");
	for (unsigned int i = 0; i < NWAYS; i++)
		took[i] = only && strcmp(only, ways[i].name) ? -1 : 0;
	/* A network without anything of anyone else's. */
	if (unshare(CLONE_NEWNET) || run("ip link set lo up"))
		measure_die("no network namespace: %m");
	measure_pin(CPU);
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"steps\": %ld, \"rounds\": [",
	       measure_kernel(), measure_accel(), steps);
	for (int round = 0; round < rounds; round++) {
		for (unsigned int i = 0; i < NWAYS; i++) {
			unsigned int at = order_at(i, NWAYS, round);

			/* What is not there is not asked for again. */
			if (took[at] >= 0)
				took[at] = measure(&ways[at], steps);
		}
		print_round(took, !round);
	}
	printf("]}\n");
	return 0;
}
