// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Drains UDP traffic in four ways and tells what a packet costs in each.
 *
 * usage: drain [-r ROUNDS] SCRIPT
 *
 * A sender process (traffic.c) sends bursts of numbered packets.  When one has
 * arrived, it is taken out of the socket's buffer: by a loop of recvfrom(), by
 * recvmmsg(), by a script - scripts/recv_batch.lua, Figure 1 of the system call
 * scripting paper - and by the same script interpreted.  That is what is timed.
 * Then every byte is checked.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "source.h"
#include "traffic.h"

#define ROUNDS		100
#define ROUNDS_MAX	10000
#define WARM_UP		5		/* rounds that are not counted */
#define RECEIVER_CPU	1
#define BUF_SIZE	1024		/* recv_batch.lua's */
#define ADDR_SIZE	28

/* Where packets go, laid out as recv_batch.lua wants it. */
struct batch {
	char bufs[BURST_MAX][BUF_SIZE];
	char addrs[BURST_MAX][ADDR_SIZE];
	socklen_t addr_lens[BURST_MAX];
	int lens[BURST_MAX];
};

struct method {
	const char *name;
	/* Takes out what is there; returns how many packets, or -errno. */
	int (*drain)(struct method *method, int sock, struct batch *batch);
	int script;
	unsigned long packets, switches;
	double *ns;			/* per packet, of each round */
};

static int drain_recvfrom(struct method *method, int sock, struct batch *batch)
{
	int n = 0;

	while (n < BURST_MAX) {
		ssize_t len;

		batch->addr_lens[n] = ADDR_SIZE;
		method->switches++;
		len = recvfrom(sock, batch->bufs[n], BUF_SIZE, MSG_DONTWAIT,
			       (struct sockaddr *)batch->addrs[n], &batch->addr_lens[n]);
		if (len < 0 && errno == EAGAIN)
			break;
		if (len < 0)
			return -errno;
		batch->lens[n++] = len;
	}
	return n;
}

static int drain_recvmmsg(struct method *method, int sock, struct batch *batch)
{
	static struct mmsghdr msgs[BURST_MAX];
	static struct iovec iovs[BURST_MAX];
	int n;

	for (n = 0; n < BURST_MAX; n++) {
		iovs[n] = (struct iovec){ batch->bufs[n], BUF_SIZE };
		msgs[n].msg_hdr = (struct msghdr){
			.msg_name = batch->addrs[n], .msg_namelen = ADDR_SIZE,
			.msg_iov = &iovs[n], .msg_iovlen = 1,
		};
	}
	method->switches++;
	n = recvmmsg(sock, msgs, BURST_MAX, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		batch->lens[i] = msgs[i].msg_len;
		batch->addr_lens[i] = msgs[i].msg_hdr.msg_namelen;
	}
	return n;
}

static int drain_script(struct method *method, int sock, struct batch *batch)
{
	method->switches++;
	return lua_syscall(method->script, 6, sock, batch->bufs, batch->addrs,
			   batch->addr_lens, batch->lens, BURST_MAX);
}

static struct method methods[] = {
	{ .name = "recvfrom loop", .drain = drain_recvfrom },
	{ .name = "recvmmsg", .drain = drain_recvmmsg },
	{ .name = "script, compiled", .drain = drain_script },
	{ .name = "script, interpreted", .drain = drain_script },
};

enum { PLAIN, MMSG, COMPILED, INTERPRETED, METHODS };

static void register_scripts(const char *path)
{
	struct source source = source_read(path);
	int fd = register_lua_syscall(source.text, source.len);

	if (fd < 0)
		measure_die("%s: %s", path, syscript_strerror(fd));
	methods[COMPILED].script = fd;
	methods[INTERPRETED].script =
		source_register(&source, SYSCRIPT_BACKEND_AUTO, SYSCRIPT_NOJIT, 0, 0);
	free(source.text);
}

/* What is said to be compiled is, and the other is not. */
static void check_scripts(void)
{
	for (int i = COMPILED; i <= INTERPRETED; i++) {
		struct syscript_info info = { 0 };
		int ret = syscript_info(methods[i].script, &info);

		if (ret)
			measure_die("%s: %s", methods[i].name, syscript_strerror(ret));
		if (!info.traces == (i == COMPILED))
			measure_die("%s: it has %llu compiled traces", methods[i].name,
				    (unsigned long long)info.traces);
	}
}

static void check_packet(const struct traffic *traffic, const struct batch *batch, int i,
			 unsigned int number)
{
	struct sockaddr_in from;
	unsigned char expected[PACKET_MAX];
	int len = traffic_packet(expected, number);

	memcpy(&from, batch->addrs[i], sizeof(from));
	if (batch->lens[i] != len || memcmp(batch->bufs[i], expected, len))
		measure_die("packet %u is not what was sent", number);
	if (batch->addr_lens[i] != sizeof(from) || from.sin_port != traffic->from.sin_port ||
	    from.sin_addr.s_addr != traffic->from.sin_addr.s_addr)
		measure_die("packet %u has a wrong source address", number);
}

/* Has a burst sent, and drains it.  Returns ns per packet. */
static double drain(struct traffic *traffic, struct method *method, int burst)
{
	static struct batch batch;
	unsigned int first = traffic_burst(traffic, burst);
	uint64_t start;
	double ns;
	int n;

	start = measure_now();
	n = method->drain(method, traffic->sock, &batch);
	ns = measure_now() - start;
	if (n < 0)
		measure_die("%s: %s", method->name, syscript_strerror(n));
	if (n != burst)
		measure_die("%s: %d of %d packets came", method->name, n, burst);
	for (int i = 0; i < n; i++)
		check_packet(traffic, &batch, i, first + i);
	method->packets += n;
	return ns / n;
}

static void drain_round(struct traffic *traffic, int round)
{
	int burst = traffic_random(traffic, BURST_MIN, BURST_MAX);

	/* None always has the same one before it. */
	for (int i = 0; i < METHODS; i++) {
		struct method *method = &methods[(i * (round % 2 ? 1 : 3) + round) % METHODS];
		double ns = drain(traffic, method, burst);

		if (round >= WARM_UP) {
			method->ns[round - WARM_UP] = ns;
		} else {
			method->packets = 0;
			method->switches = 0;
		}
	}
}

static void print_method(const struct method *method, int rounds)
{
	double *samples = calloc(rounds, sizeof(*samples));
	double ratio, low, mid, high;

	if (!samples)
		measure_die("no memory");
	for (int i = 0; i < rounds; i++)
		samples[i] = method->ns[i] / methods[PLAIN].ns[i];
	ratio = measure_quantile(samples, rounds, 0.5);
	memcpy(samples, method->ns, rounds * sizeof(*samples));
	low = measure_quantile(samples, rounds, 0.1);
	mid = measure_quantile(samples, rounds, 0.5);
	high = measure_quantile(samples, rounds, 0.9);
	free(samples);
	printf("%-20s %10.0f %9.0f .. %-7.0f %12.3f %10.2f\n", method->name, mid, low, high,
	       (double)method->switches / method->packets, ratio);
}

static void print_all(const struct traffic *traffic, int rounds)
{
	bool kernel = syscript_backend(methods[COMPILED].script) == SYSCRIPT_BACKEND_KERNEL;

	printf("\n%u packets of %d to %d bytes in bursts of %d to %d: each came once, in order,\n"
	       "with its content and its sender's address.  Linux %s, user %d.\n\n",
	       traffic->sent, PACKET_MIN, PACKET_MAX, BURST_MIN, BURST_MAX, measure_kernel(),
	       getuid());
	printf("%-20s %10s %20s %13s %10s\n", "", "ns/packet", "10 % .. 90 %", "mode switches",
	       "ratio to");
	printf("%-20s %10s %20s %13s %10s\n", "drained by", "(median)", "of the rounds", "per packet",
	       "plain");
	for (int i = 0; i < METHODS; i++)
		print_method(&methods[i], rounds);
	printf("\n");
	if (!kernel)
		printf("The kernel backend could not be used (%s), so the scripts ran in the\n"
		       "process: each of their system calls was a mode switch of its own.\n",
		       syscript_strerror(syscript_probe(SYSCRIPT_BACKEND_KERNEL)));
	if (!strcmp(measure_accel(), "tcg"))
		printf("This guest's CPU is emulated (QEMU TCG): a mode switch costs less beside other\n"
		       "work than on a real CPU, so the ratios are rough guides, and the times are none.\n");
}

int main(int argc, char **argv)
{
	struct traffic traffic;
	int rounds = ROUNDS, option;

	while ((option = getopt(argc, argv, "r:")) == 'r')
		rounds = atoi(optarg);
	if (option != -1 || optind != argc - 1 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: drain [-r ROUNDS] SCRIPT\n");
		return 2;
	}
	traffic_start(&traffic);
	measure_pin(RECEIVER_CPU);
	register_scripts(argv[optind]);
	for (int i = 0; i < METHODS; i++) {
		methods[i].ns = calloc(rounds, sizeof(double));
		if (!methods[i].ns)
			measure_die("no memory");
	}
	for (int round = 0; round < WARM_UP + rounds; round++)
		drain_round(&traffic, round);
	check_scripts();
	traffic_stop(&traffic);
	print_all(&traffic, rounds);
	return 0;
}
