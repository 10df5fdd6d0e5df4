// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The time of a datagram over the loopback device, from send(2) to recv(2), through a program on
 * its path, compared with nftables and eBPF equivalents.
 *
 * usage: hooks ROUNDS STEPS [WAY]	(as root)
 *
 * Writes JSON: in each round every variant once, in ns per datagram. A variant whose program cannot
 * be loaded on this kernel, or has not been built, is missing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf_netfilter.h"
#include "datagrams.h"
#include "measure.h"
#include "order.h"
#include "source.h"
#include "../vm/profile/mark.h"

#define CPU		1
#define PORT		4000	/* that the programs match */
#define OTHER_PORT	4001
#define WARM_UP		300	/* datagrams */
#define SCRIPT_CALLS	20000	/* in each of this many samples: */
#define SAMPLES		5
#define TIME_LIMIT	10000000000ULL

#define OBJECTS		"build/bench/programs/"
#define LOAD		"build/syscript load bench --at 'ip input' "
#define LOAD_LUA	LOAD "bench/hooks/"
#define UNLOAD		"build/syscript unload bench"
#define EMPTY		LOAD OBJECTS "empty.o"

#define NFT		"nft -f bench/hooks/"
#define NFT_OFF		"nft flush ruleset"
#define TC		"tc qdisc add dev lo clsact && tc filter add dev lo ingress bpf da obj "
#define TC_OFF		"tc qdisc del dev lo clsact"
#define XDP		"ip link set dev lo xdpgeneric obj "
#define XDP_OFF		"ip link set dev lo xdpgeneric off"

/**
 * struct way - a variant: what is on the datagrams' path
 * @on, @off: commands; @on NULL: a BPF netfilter program
 * @port:     the datagrams' port
 */
struct way {
	const char *name, *on, *off;
	int port;
};

static const struct way ways[] = {
	{ "nothing", "true", "true", PORT },
	{ "empty", EMPTY, UNLOAD, PORT },
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

static char getppids_text[] =
	"local getppid = syscall.getppid\n"
	"function run(n) local getppid = getppid for i = 1, n do getppid() end end\n";
static const struct source getppids = {
	"getppids", getppids_text, sizeof(getppids_text) - 1
};

static bool turn_on(const struct way *way)
{
	return way->on ? !datagrams_run(way->on) : !bpf_netfilter_on();
}

static void turn_off(const struct way *way)
{
	if (!way->off)
		bpf_netfilter_off();
	else if (datagrams_run(way->off))
		measure_die("%s cannot be turned off", way->name);
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

/*
 * A system call in a process's script, with its loop's step, which loaded programs must not slow
 * down. The least of several samples, since the compiler and noise only add to it.
 */
static double script_call(int script)
{
	double shortest = 0;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t since = measure_now();
		int ret = syscript_call(script, 1, (const int64_t[]){ SCRIPT_CALLS }, 0, NULL);
		double took = (double)(measure_now() - since) / SCRIPT_CALLS;

		if (ret < 0)
			measure_die("a script: %s", syscript_strerror(ret));
		shortest = i && shortest < took ? shortest : took;
	}
	return shortest;
}

/* Without a program, with one, and after it was unloaded. */
static void measure_script(int script, double *took)
{
	took[0] = script_call(script);
	if (datagrams_run(EMPTY))
		measure_die("no program can be loaded");
	took[1] = script_call(script);
	if (datagrams_run(UNLOAD))
		measure_die("a program cannot be unloaded");
	took[2] = script_call(script);
}

/* ns per datagram, or -1 if the variant is not available here. */
static double measure(const struct way *way, long steps)
{
	int from, to;
	double took;

	if (!turn_on(way))
		return -1;
	from = datagrams_sender(way->port);
	to = datagrams_receiver(way->port);
	exchange(from, to, WARM_UP);
	mark_begin();
	took = exchange(from, to, steps);
	mark_end();
	close(from);
	close(to);
	turn_off(way);
	return took;
}

static void print_round(const double *took, const double *script, bool first)
{
	const char *comma = "";

	printf("%s{", first ? "" : ", ");
	if (script)
		printf("\"script\": {\"without\": %.2f, \"loaded\": %.2f, \"after\": %.2f}, ",
		       script[0], script[1], script[2]);
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
	double took[NWAYS], calls[3];
	int script;

	if (rounds < 1 || steps < 1)
		measure_die("usage: hooks ROUNDS STEPS [WAY]");
	for (unsigned int i = 0; i < NWAYS; i++)
		took[i] = only && strcmp(only, ways[i].name) ? -1 : 0;
	datagrams_network();
	measure_pin(CPU);
	script = source_register(&getppids, SYSCRIPT_BACKEND_KERNEL, 0, 0, TIME_LIMIT);
	script_call(script);
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"steps\": %ld, \"rounds\": [",
	       measure_kernel(), measure_accel(), steps);
	for (int round = 0; round < rounds; round++) {
		if (!only)
			measure_script(script, calls);
		for (unsigned int i = 0; i < NWAYS; i++) {
			unsigned int at = order_at(i, NWAYS, round);

			/* Variants that were missing once are not tried again. */
			if (took[at] >= 0)
				took[at] = measure(&ways[at], steps);
		}
		print_round(took, only ? NULL : calls, !round);
	}
	printf("]}\n");
	return 0;
}
