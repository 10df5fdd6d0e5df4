// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floods one port of the loopback device, with a filter that drops nearly everything and without
 * one: how many datagrams reach the filter per second, and how long other datagrams take meanwhile,
 * on another CPU and on the flooded one.
 *
 * usage: flood ROUNDS SECONDS	(as root)
 *
 * Writes JSON: in each round every variant once.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datagrams.h"
#include "measure.h"
#include "order.h"

#define FLOODED		0	/* CPUs */
#define OTHER		1
#define PORT		4000	/* that the filter matches */
#define OTHER_PORT	4001
#define SAMPLES_MAX	1000000
#define A_MOMENT	1000	/* us between the other datagrams */

#define LOAD	"build/syscript load flood --at 'inet input' "
#define UNLOAD	"build/syscript unload flood"

static const struct way {
	const char *name, *on, *off;
} ways[] = {
	{ "none", "true", "true" },
	{ "confined", LOAD "build/tests/programs/sources.o", UNLOAD },
	{ "lua", LOAD "examples/netfilter/sources.lua", UNLOAD },
	{ "nftables", "nft -f examples/netfilter/others/sources.nft", "nft flush ruleset" },
};

#define NWAYS	(sizeof(ways) / sizeof(*ways))

static double samples[SAMPLES_MAX];
static unsigned long *sent;	/* shared with the child */

static pid_t start_flood(void)
{
	pid_t child = fork();
	char data[64] = "flood";
	int sock;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	measure_pin(FLOODED);
	sock = datagrams_sender(PORT);
	for (;;)	/* it ignores a full buffer, or a filter */
		__atomic_fetch_add(sent, send(sock, data, sizeof(data), 0) >= 0, __ATOMIC_RELAXED);
}

/* ns from send(2) to the end of recv(2) of another datagram, measured for @ns. */
static size_t exchange(double ns)
{
	int from = datagrams_sender(OTHER_PORT), to = datagrams_receiver(OTHER_PORT);
	uint64_t end = measure_now() + ns;
	char data[64] = "other";
	size_t n = 0;

	while (n < SAMPLES_MAX && measure_now() < end) {
		uint64_t since = measure_now();

		if (send(from, data, sizeof(data), 0) < 0 || recv(to, data, sizeof(data), 0) < 0)
			measure_die("another's datagram: %m");
		samples[n++] = measure_now() - since;
		usleep(A_MOMENT);
	}
	close(from);
	close(to);
	return n;
}

static void measure_on(int cpu, double ns)
{
	unsigned long before;
	uint64_t since;
	size_t n;
	double took;

	measure_pin(cpu);
	before = __atomic_load_n(sent, __ATOMIC_RELAXED);
	since = measure_now();
	n = exchange(ns);
	took = measure_now() - since;
	if (!n)
		measure_die("no sample");
	printf("{\"a_second\": %.0f, \"median\": %.0f, ",
	       (__atomic_load_n(sent, __ATOMIC_RELAXED) - before) * 1e9 / took,
	       measure_quantile(samples, n, 0.5));
	printf("\"worst\": %.0f}", measure_quantile(samples, n, 1));
}

static void measure(const struct way *way, double seconds)
{
	int to = datagrams_receiver(PORT);	/* whose buffer is soon full */
	pid_t child;

	if (datagrams_run(way->on))
		measure_die("%s cannot be turned on", way->name);
	child = start_flood();
	printf("\"%s\": {\"other\": ", way->name);
	measure_on(OTHER, seconds * 5e8);
	printf(", \"flooded\": ");
	measure_on(FLOODED, seconds * 5e8);
	printf("}");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(to);
	if (datagrams_run(way->off))
		measure_die("%s cannot be turned off", way->name);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[1]) : 0;
	double seconds = argc == 3 ? atof(argv[2]) : 0;

	if (rounds < 1 || seconds <= 0)
		measure_die("usage: flood ROUNDS SECONDS");
	sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sent == MAP_FAILED)
		measure_die("no shared memory: %m");
	datagrams_network();
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"rounds\": [", measure_kernel(),
	       measure_accel());
	for (int round = 0; round < rounds; round++) {
		printf("%s{", round ? ", " : "");
		for (unsigned int i = 0; i < NWAYS; i++) {
			printf("%s", i ? ", " : "");
			fflush(stdout);
			measure(&ways[order_at(i, NWAYS, round)], seconds);
		}
		printf("}");
	}
	printf("]}\n");
	return 0;
}
