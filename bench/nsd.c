// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of a query over UDP to NSD, over a tap that stands for a network card: NSD's processes,
 * and the kernel's work of receiving frames, without a client.
 *
 *   plain   recvmmsg(2) and sendmmsg(2)
 *   frames  frames that a script takes from the device (apps/nsd)
 *
 * and, if Debian's newest NSD is there (`make nsd-newest`),
 *
 *   newest  that version, built to use recvfrom(2) and sendto(2)
 *   xdp     its AF_XDP sockets, which get frames from its program at the tap: copies, by
 *           the kernel's generic XDP
 *
 * usage: nsd ROUNDS STEPS [WAY]	(as root)
 *
 * Writes JSON: in each round all variants, in ns per query. Each reply is checked. With a WAY, or
 * "nothing" (the cost of writing to the tap), the measured part runs between marks for `make
 * profile-icount`.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"
#include "order.h"
#include "testnet.h"
#include "../vm/profile/mark.h"

#define BATCH		16
#define NAMES		1024	/* a power of two */
#define PORT		53
#define ROOM		1024
#define WARM_UP		100	/* steps until everything is compiled */
#define TRIES		1000	/* for NSD to serve, */
#define PATIENCE_MS	20	/* each so long */
#define NAP_NS		10000000
#define CPU		1
#define PROCESSES	8

struct server {
	const char *way, *program;
	unsigned int n;		/* of its wire */
	int tap;
	pid_t pid;
	int schedstat[PROCESSES];
	unsigned int processes;
	uint64_t asked;
	char frames[BATCH][ROOM];
};

static const char *directory;	/* with the configurations and the zone */

#define NEWEST	"build/nsd/newest/nsd"

static struct server servers[] = {
	{ .way = "plain", .program = "build/nsd/plain/nsd" },
	{ .way = "frames", .program = "build/nsd/frames/nsd" },
	{ .way = "newest", .program = NEWEST },
	{ .way = "xdp", .program = NEWEST },
};
static unsigned int ways = 2;	/* or all */
/* Frames that no process wants: writing them costs time that is not NSD's. */
static struct server nothing = { .way = "nothing" };
static bool profiled;	/* by function: marks are set */

#define XDP_PROGRAM	"build/nsd/newest/usr/lib/bpf/nsd/xdp-dns-redirect_kern.o"
#define SERVERS	(sizeof(servers) / sizeof(servers[0]))

/* -- NSD ---------------------------------------------------------------------- */

static FILE *create(const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file)
		measure_die("%s: %m", path);
	return file;
}

static void write_zone(void)
{
	FILE *file = create("zone");

	fprintf(file, "$ORIGIN example.\n$TTL 3600\n"
		"@ SOA ns hostmaster 1 7200 3600 1209600 3600\n"
		"@ NS ns\n@ NS ns2\nns A 192.0.2.1\nns2 A 192.0.2.2\n");
	for (unsigned int i = 0; i < NAMES; i++)
		fprintf(file, "name%04u A 198.51.%u.%u\n", i, i >> 8, i & 255);
	fclose(file);
}

static void write_conf(const struct server *server, const char *device)
{
	struct in_addr address = { testnet_address(server->n, TESTNET_FAR) };
	FILE *file = create(server->way);

	fprintf(file, "server:\n"
		"  ip-address: %s@%d\n  server-count: 1\n  username: \"\"\n  chroot: \"\"\n"
		"  zonesdir: \"%s\"\n  pidfile: \"\"\n  xfrdfile: \"\"\n"
		"  zonelistfile: \"%s/%s.zones\"\n  xfrdir: \"%s\"\n  rrl-ratelimit: 0\n",
		inet_ntoa(address), PORT, directory, directory, server->way, directory);
	if (!strcmp(server->way, "frames"))
		fprintf(file, "  frames-device: %s\n", device);
	if (!strcmp(server->way, "xdp")) {
		char *program = realpath(XDP_PROGRAM, NULL);

		fprintf(file, "  xdp-interface: %s\n  xdp-program-path: \"%s\"\n", device,
			program);
		free(program);
	}
	fprintf(file, "remote-control:\n  control-enable: no\n"
		"zone:\n  name: example.\n  zonefile: zone\n");
	fclose(file);
}

static void start(struct server *server, const char *device)
{
	char conf[512];

	write_conf(server, device);
	snprintf(conf, sizeof(conf), "%s/%s", directory, server->way);
	server->pid = fork();
	if (server->pid)
		return;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execl(server->program, server->program, "-d", "-c", conf, NULL);
	_exit(127);
}

/* Whether a process belongs to the server's process group. */
static bool is_its(const struct server *server, const char *pid)
{
	return *pid >= '1' && *pid <= '9' && getpgid(atoi(pid)) == server->pid;
}

static void watch(struct server *server)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	char path[300];

	while (dir && (entry = readdir(dir))) {
		if (!is_its(server, entry->d_name) || server->processes == PROCESSES)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", entry->d_name);
		server->schedstat[server->processes++] = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (!server->processes)
		measure_die("NSD, %s: has no processes", server->way);
	closedir(dir);
}

/* CPU time of its processes so far, in ns; they must be asleep. */
static uint64_t cpu_time(const struct server *server)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < server->processes; i++) {
		char text[128];
		ssize_t len = pread(server->schedstat[i], text, sizeof(text) - 1, 0);

		if (len <= 0)
			measure_die("NSD, %s: its time: %m", server->way);
		text[len] = '\0';
		sum += strtoull(text, NULL, 10);
	}
	return sum;
}

/* -- Queries ------------------------------------------------------------------ */

/* A query as resolvers send it, with EDNS. */
static unsigned int write_query(char *to, unsigned int i)
{
	static const char head[] = "\0\0\0\0\0\1\0\0\0\0\0\1";
	static const char tail[] = "\7example\0\0\1\0\1" "\0\0\x29\x04\xd0\0\0\0\0\0\0";
	unsigned int len = sizeof(head) - 1;

	memcpy(to, head, len);
	to[0] = i >> 8;
	to[1] = i;
	len += sprintf(to + len, "\10name%04u", i);
	memcpy(to + len, tail, sizeof(tail) - 1);
	return len + sizeof(tail) - 1;
}

/* The query's ID, its name, and the name's address. */
static bool is_reply(const char *reply, int len, unsigned int i)
{
	const unsigned char head[] = { i >> 8, i, 0x84, 0, 0, 1, 0, 1 };
	const unsigned char record[] = {
		0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 198, 51, i >> 8, i & 255,
	};
	char query[128];
	unsigned int end = write_query(query, i) - 11;

	return len >= (int)(end + sizeof(record)) && !memcmp(reply, head, sizeof(head)) &&
	       !memcmp(reply + 12, query + 12, end - 12) &&
	       !memcmp(reply + end, record, sizeof(record));
}

static void count(bool begin)
{
	if (profiled && begin)
		mark_begin();
	else if (profiled)
		mark_end();
}

static uint64_t write_to_tap(struct server *server)
{
	unsigned int len[BATCH];
	uint64_t start, took;

	for (unsigned int i = 0; i < BATCH; i++) {
		char query[128];

		len[i] = testnet_frame(server->frames[i], server->n, server == &nothing, PORT,
				       query, write_query(query, (server->asked + i) % NAMES));
	}
	count(true);
	start = measure_now();
	for (unsigned int i = 0; i < BATCH; i++)
		if (write(server->tap, server->frames[i], len[i]) != (ssize_t)len[i])
			measure_die("tap: %m");
	took = measure_now() - start;
	if (server == &nothing)
		count(false);
	return took;
}

static void take_from_tap(struct server *server)
{
	char frame[ROOM];
	const char *payload;
	unsigned int len;

	for (unsigned int i = 0; i < BATCH; i++) {
		len = testnet_next(server->tap, frame, sizeof(frame), &payload);
		if (!is_reply(payload, len, (server->asked + i) % NAMES))
			measure_die("NSD, %s: a wrong reply", server->way);
	}
}

/* NSD finds a whole batch, and is not disturbed while it works: replies are read later. */
static uint64_t step(struct server *server)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t took, before;

	if (server == &nothing)
		return write_to_tap(server);
	measure_first(true);
	before = cpu_time(server);
	took = write_to_tap(server);
	nanosleep(&nap, NULL);
	count(false);
	take_from_tap(server);
	took += cpu_time(server) - before;
	measure_first(false);
	server->asked += BATCH;
	return took;
}

/* -- Measuring ---------------------------------------------------------------- */

static bool serves(struct server *server)
{
	struct pollfd pollfd = { .fd = server->tap, .events = POLLIN };
	char query[128], frame[ROOM];
	const char *payload;
	unsigned int len = testnet_frame(frame, server->n, false, PORT, query,
					 write_query(query, 0));
	int got;

	if (write(server->tap, frame, len) != (ssize_t)len)
		measure_die("tap: %m");
	while (poll(&pollfd, 1, PATIENCE_MS) == 1) {
		got = testnet_read(server->tap, frame, ROOM, &payload);
		if (got >= 0 && is_reply(payload, got, 0))
			return true;
	}
	return false;
}

static void drain(struct server *server)
{
	struct pollfd pollfd = { .fd = server->tap, .events = POLLIN };
	char frame[ROOM];
	const char *payload;

	while (poll(&pollfd, 1, 50 * PATIENCE_MS) == 1)
		testnet_read(server->tap, frame, ROOM, &payload);
}

static void open_server(struct server *server, unsigned int n)
{
	char device[TESTNET_NAME];
	unsigned int tries = 0;

	server->n = n;
	server->tap = testnet_make_tap(n, true, device);
	if (server == &nothing)
		return;
	start(server, device);
	while (!serves(server))
		if (++tries == TRIES)
			measure_die("NSD, %s: does not serve", server->way);
	drain(server);
	watch(server);
	for (unsigned int i = 0; i < WARM_UP; i++)
		step(server);
}

static void measure_round(unsigned int steps)
{
	double ns[SERVERS] = { 0 }, floor = 0;

	for (unsigned int j = 0; j < steps; j++) {
		for (unsigned int i = 0; i < ways; i++)
			ns[order_at(i, ways, j)] += step(&servers[order_at(i, ways, j)]);
		floor += step(&nothing);
	}
	for (unsigned int i = 0; i < ways; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", servers[i].way,
		       (ns[i] - floor) / steps / BATCH);
}

static void measure_all(unsigned int rounds, unsigned int steps)
{
	open_server(&nothing, 1);
	for (unsigned int i = 0; i < ways; i++)
		open_server(&servers[i], i + 2);
	printf("{\"rounds\": [");
	for (unsigned int round = 0; round < rounds; round++) {
		printf("%s\n  {", round ? "," : "");
		measure_round(steps);
		printf("}");
	}
	printf("\n]}\n");
}

/* The measured part alone, for `make profile-icount`; "nothing" must be subtracted. */
static void profile(struct server *server, unsigned int n, unsigned int steps)
{
	open_server(server, n);
	profiled = true;
	for (unsigned int j = 0; j < steps; j++)
		step(server);
}

static void profile_way(const char *way, unsigned int steps)
{
	if (!strcmp(way, nothing.way))
		profile(&nothing, 1, steps);
	for (unsigned int i = 0; i < SERVERS; i++)
		if (!strcmp(way, servers[i].way))
			profile(&servers[i], i + 2, steps);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (!rounds || !steps || argc > 4)
		measure_die("usage: nsd ROUNDS STEPS [WAY]");
	measure_pin(CPU);
	if (!access(NEWEST, X_OK))
		ways = SERVERS;
	testnet_init();
	directory = measure_directory();
	write_zone();
	if (argc == 4)
		profile_way(argv[3], rounds * steps);
	else
		measure_all(rounds, steps);
	for (unsigned int i = 0; i < SERVERS; i++)
		if (servers[i].pid > 0)
			kill(-servers[i].pid, SIGTERM);
	testnet_end();
	return 0;
}
