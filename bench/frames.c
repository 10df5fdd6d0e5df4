// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Measures a GET of 64 bytes over UDP, with recvmmsg(2) and sendmmsg(2) on an ordinary socket, and
 * with frames for a script (scripts/net/memcached_get.lua), over
 *
 *   veth           a pair between two network namespaces, client included
 *   veth_sleeping  the same; client and server are threads that wait for each other
 *   device         a tap: frames that come and go by its descriptor, as by a wire, cost
 *                  the server nothing; "nothing" is the cost of writing frames to it
 *                  that are dropped, to be subtracted
 *   client         the client on a tap, by which its replies come: its own work
 *   memcached      as device, and the server is memcached; "worker" is the part of it
 *                  that its worker executes, which is all but what takes frames in
 *
 * "taken" is the same script with frames that a filter takes from the device's stack,
 * which has an address and all the rest.
 *
 * Next to them stand packet_rings and packet_blocks (AF_PACKET's, TPACKET_V2 and V3) and
 * xdp (AF_XDP, copy mode), with which a process does the headers itself, and io_uring on
 * an ordinary socket.  Blocks come when their time is up: the wait is not in their
 * figures.
 *
 * usage: frames ROUNDS STEPS [WIRE WAY | "WIRE WAY,..."]	(as root, or in namespaces of a
 *								user's own)
 *
 * Writes JSON: in each round every server once, or those of the list, in ns per request.  Each
 * reply is checked.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "order.h"
#include "afpacket_afxdp.h"
#include "source.h"
#include "testnet.h"
#include "worker.h"
#include "../vm/profile/mark.h"

#define BATCH		16
#define KEYS		1024	/* a power of two */
#define MEMORY		(2 << 20)	/* of a script: a user has 16 MiB for all of them */
#define VALUE_LEN	64
#define HEADER_LEN	8	/* of memcached's header in a datagram */
#define ROOM		1024
#define WARM_UP		100	/* steps until everything is compiled */
#define PORT		11211
#define TRIES		1000	/* until memcached stores a value, */
#define TIME_LIMIT	10000000000ULL	/* an emulated machine may be busy */
#define PATIENCE_MS	20	/* and the wait for each */
#define DRAINED_MS	1000	/* if none comes for this long, no more replies come */
#define NAP_NS		10000000
#define CPU		1

struct messages {
	struct mmsghdr hdr[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_in name[BATCH];
	char data[BATCH][ROOM];
};

struct entry {
	char key[16], reply[128];
	unsigned int key_len, reply_len;
};

struct server;

/* A network between client and server. */
struct wire {
	const char *name;
	void (*open)(struct server *server);
	uint64_t (*step)(struct server *server);	/* in ns */
};

/* A server variant, on a wire's device. */
struct way {
	const char *name;
	bool stack, idle;	/* idle: it waits for a clock */
	void (*open)(struct server *server, const char *device);
	void (*serve)(struct server *server);		/* a batch */
};

struct server {
	const struct wire *wire;
	const struct way *way;
	unsigned int n;		/* of its wire */
	uint16_t port;
	int sock, script, client, tap;
	struct worker worker;
	struct rings *rings;
	uint64_t asked, in_worker;	/* requests; ns */
	struct messages in, out;	/* the server's and the client's messages */
	char frames[BATCH][ROOM];	/* for a tap */
};

static struct entry store[KEYS];

/* -- The store --------------------------------------------------------------- */

static unsigned int hash(const char *key, unsigned int len)
{
	unsigned int h = 2166136261u;

	while (len--)
		h = (h ^ (unsigned char)*key++) * 16777619;
	return h;
}

static struct entry *index_of_key[2 * KEYS];

static struct entry **find_slot(const char *key, unsigned int len)
{
	unsigned int at = hash(key, len);

	for (;; at++) {
		struct entry **slot = &index_of_key[at % (2 * KEYS)];

		if (!*slot || ((*slot)->key_len == len && !memcmp((*slot)->key, key, len)))
			return slot;
	}
}

static void fill_store(void)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct entry *entry = &store[i];

		entry->key_len = sprintf(entry->key, "key_%04u", i);
		entry->reply_len = sprintf(entry->reply, "VALUE %s 0 %u\r\n%064u\r\nEND\r\n",
					   entry->key, VALUE_LEN, i);
		*find_slot(entry->key, entry->key_len) = entry;
	}
}

/* -- The client -------------------------------------------------------------- */

static void init_messages(struct messages *m)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		m->iov[i] = (struct iovec){ m->data[i], ROOM };
		m->hdr[i].msg_hdr = (struct msghdr){ .msg_iov = &m->iov[i], .msg_iovlen = 1 };
	}
}

static int client_open(unsigned int n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const struct timeval patience = { .tv_sec = 10 };
	int sock;

	testnet_enter(TESTNET_NEAR);
	to.sin_addr.s_addr = testnet_address(n, TESTNET_FAR);
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		measure_die("client: %m");
	return sock;
}

/* The request for the next key but @i. */
static unsigned int write_request(const struct server *server, char *data, unsigned int i)
{
	memcpy(data, "\0\0\0\0\0\1\0\0", HEADER_LEN);
	data[0] = i;
	return HEADER_LEN + sprintf(data + HEADER_LEN, "get %s\r\n",
				    store[(server->asked + i) % KEYS].key);
}

static void check_reply(const struct server *server, const char *data, unsigned int len,
			unsigned int i)
{
	const struct entry *entry = &store[(server->asked + i) % KEYS];

	if (len != HEADER_LEN + entry->reply_len || data[0] != (char)i ||
	    memcmp(data + HEADER_LEN, entry->reply, entry->reply_len))
		measure_die("%s, %s: a wrong reply to %s", server->wire->name, server->way->name,
			    entry->key);
}

static void client_ask(struct server *server)
{
	struct messages *m = &server->out;

	for (unsigned int i = 0; i < BATCH; i++)
		m->iov[i].iov_len = write_request(server, m->data[i], i);
	if (sendmmsg(server->client, m->hdr, BATCH, 0) != BATCH)
		measure_die("client: send: %m");
}

/* Checks that each reply arrives once, in order, and matches its request. */
static void client_take(struct server *server)
{
	struct messages *m = &server->out;
	char more;
	int n;

	for (unsigned int i = 0; i < BATCH; i++)
		m->iov[i].iov_len = ROOM;
	for (unsigned int first = 0; first < BATCH; first += n) {
		n = recvmmsg(server->client, m->hdr + first, BATCH - first, MSG_WAITFORONE, NULL);
		if (n <= 0)
			measure_die("%s, %s: not all requests were answered: %m",
				    server->wire->name, server->way->name);
	}
	for (unsigned int i = 0; i < BATCH; i++)
		check_reply(server, m->data[i], m->hdr[i].msg_len, i);
	server->asked += BATCH;
	if (server->asked == BATCH && recv(server->client, &more, 1, MSG_DONTWAIT) >= 0)
		measure_die("%s: a reply too many", server->way->name);
}

/* -- Ways -------------------------------------------------------------------- */

static void mmsg_open(struct server *server, const char *device)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = testnet_address(server->n, TESTNET_FAR),
	};

	(void)device;
	server->sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (server->sock < 0 || bind(server->sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("server: %m");
	init_messages(&server->in);
	for (unsigned int i = 0; i < BATCH; i++)
		server->in.hdr[i].msg_hdr.msg_name = &server->in.name[i];
}

static unsigned int answer(char *data, unsigned int len)
{
	const char *key = data + HEADER_LEN + 4, *end;
	const struct entry *entry;

	end = len < HEADER_LEN + 7 ? NULL : memchr(key, '\r', data + len - key);
	if (!end || memcmp(data + HEADER_LEN, "get ", 4))
		measure_die("server: an odd request");
	entry = *find_slot(key, end - key);
	if (!entry)
		measure_die("server: an unknown key");
	memcpy(data + HEADER_LEN, entry->reply, entry->reply_len);
	return HEADER_LEN + entry->reply_len;
}

/* Takes what is queued: everything, unless the client is a thread of its own. */
static void mmsg_serve(struct server *server)
{
	struct messages *m = &server->in;
	int n;

	for (unsigned int i = 0; i < BATCH; i++) {
		m->iov[i].iov_len = ROOM;
		m->hdr[i].msg_hdr.msg_namelen = sizeof(m->name[i]);
	}
	n = recvmmsg(server->sock, m->hdr, BATCH, MSG_WAITFORONE, NULL);
	for (int i = 0; i < n; i++)
		m->iov[i].iov_len = answer(m->data[i], m->hdr[i].msg_len);
	if (n <= 0 || sendmmsg(server->sock, m->hdr, n, 0) != n)
		measure_die("server: %m");
}

static int packet_socket(const char *device, uint16_t protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(device),
	};
	int sock = socket(AF_PACKET, SOCK_RAW, 0), one = 1;

	/* Otherwise each reply is copied for it. */
	if (sock < 0 ||
	    setsockopt(sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    bind(sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("%s: %m", device);
	return sock;
}

static void script_fill(int script)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		const struct entry *entry = &store[i];
		const char *value = strchr(entry->reply, '\n') + 1;

		if (lua_syscall(script, 6, -1L, entry->key, (long)entry->key_len, value,
				(long)VALUE_LEN, 0L))
			measure_die("script: a value: %m");
	}
}

static int script_open(void)
{
	struct source source = source_read("scripts/net/memcached_get.lua");
	int script = source_register(&source, source_backend(), 0, MEMORY, TIME_LIMIT);

	script_fill(script);
	return script;
}

static void frames_open(struct server *server, const char *device)
{
	server->sock = packet_socket(device, ETH_P_ALL);
	server->script = script_open();
}

static void frames_serve(struct server *server)
{
	long n = lua_syscall(server->script, 5, (long)server->sock, (long)PORT, (long)BATCH,
			     10000L, -1L);

	if (n < 0)
		measure_die("script: %ld", n);
}

/* The stack gets everything except whole datagrams without options to the port. */
static void filter_port(int sock)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 9),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x45, 0, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 3, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		measure_die("filter: %m");
}

static void taken_ask(struct server *server, long count, long ms)
{
	long n = lua_syscall(server->script, 6, (long)server->sock, (long)PORT, count, ms, -1L,
			     1L);

	if (n < 0)
		measure_die("script: %ld", n);
}

static void taken_open(struct server *server, const char *device)
{
	server->sock = packet_socket(device, 0);
	filter_port(server->sock);
	server->script = script_open();
	/* From here on requests go to the script. */
	taken_ask(server, 0, 0);
}

static void taken_serve(struct server *server)
{
	taken_ask(server, BATCH, 10000);
}

static void packet_open(struct server *server, const char *device)
{
	server->rings = rings_open_packet(device);
}

static void packet_serve(struct server *server)
{
	rings_serve_packet(server->rings, answer);
}

static void blocks_open(struct server *server, const char *device)
{
	server->rings = rings_open_blocks(device);
}

static void blocks_serve(struct server *server)
{
	for (unsigned int n = 0; n < BATCH; )
		n += rings_serve_blocks(server->rings, answer);
}

static void xdp_open(struct server *server, const char *device)
{
	server->rings = rings_open_xdp(device);
}

static void xdp_serve(struct server *server)
{
	rings_serve_xdp(server->rings, answer);
}

static void uring_open(struct server *server, const char *device)
{
	mmsg_open(server, device);
	server->rings = rings_open_uring(server->sock);
}

static void uring_serve(struct server *server)
{
	rings_serve_uring(server->rings, answer);
}

static void nothing_open(struct server *server, const char *device)
{
	(void)server;
	(void)device;
}

static void nothing_serve(struct server *server)
{
	(void)server;
}

static const struct way mmsg = {
	.name = "mmsg", .stack = true, .open = mmsg_open, .serve = mmsg_serve,
};
static const struct way frames = { .name = "frames", .open = frames_open, .serve = frames_serve };
static const struct way taken = {
	.name = "taken", .stack = true, .open = taken_open, .serve = taken_serve,
};
static const struct way packet = {
	.name = "packet_rings", .open = packet_open, .serve = packet_serve,
};
static const struct way blocks = {
	.name = "packet_blocks", .idle = true, .open = blocks_open, .serve = blocks_serve,
};
static const struct way xdp = { .name = "xdp", .open = xdp_open, .serve = xdp_serve };
static const struct way uring = {
	.name = "io_uring", .stack = true, .open = uring_open, .serve = uring_serve,
};
static const struct way nothing = {
	.name = "nothing", .open = nothing_open, .serve = nothing_serve,
};

/* -- Wires ------------------------------------------------------------------- */

/* In ns; for a server that waits for a clock, without the time spent waiting. */
static uint64_t now(const struct server *server)
{
	struct timespec t;

	if (!server->way->idle)
		return measure_now();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void veth_open(struct server *server)
{
	char device[TESTNET_NAME];

	testnet_make_pair(server->n, server->way->stack, device);
	server->way->open(server, device);
	server->client = client_open(server->n);
}

static uint64_t veth_step(struct server *server)
{
	uint64_t start = now(server);

	client_ask(server);
	server->way->serve(server);
	client_take(server);
	return now(server) - start;
}

static void *serve_for_ever(void *server)
{
	measure_pin(CPU);
	for (;;)
		((struct server *)server)->way->serve(server);
	return NULL;
}

static void sleeping_open(struct server *server)
{
	pthread_t thread;

	veth_open(server);
	if (pthread_create(&thread, NULL, serve_for_ever, server))
		measure_die("no thread");
}

static uint64_t sleeping_step(struct server *server)
{
	uint64_t start = measure_now();

	client_ask(server);
	client_take(server);
	return measure_now() - start;
}

static void device_open(struct server *server)
{
	char device[TESTNET_NAME];

	server->tap = testnet_make_tap(server->n, server->way->stack, device);
	server->way->open(server, device);
}

static void take_from_tap(struct server *server)
{
	char frame[ROOM];
	const char *payload;
	unsigned int len;

	for (unsigned int i = 0; i < BATCH; i++) {
		len = testnet_next(server->tap, frame, sizeof(frame), &payload);
		check_reply(server, payload, len, i);
	}
}

static void write_frames(const struct server *server, const unsigned int *len)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (write(server->tap, server->frames[i], len[i]) != (ssize_t)len[i])
			measure_die("tap: %m");
}

/* In ns. */
static uint64_t write_to_tap(struct server *server)
{
	unsigned int len[BATCH];
	uint64_t start;

	for (unsigned int i = 0; i < BATCH; i++) {
		char request[64];

		len[i] = testnet_frame(server->frames[i], server->n,
				       server->way == &nothing, server->port, request,
				       write_request(server, request, i));
	}
	start = now(server);
	write_frames(server, len);
	return now(server) - start;
}

static uint64_t device_step(struct server *server)
{
	uint64_t took = write_to_tap(server), start = now(server);

	server->way->serve(server);
	took += now(server) - start;
	if (server->way != &nothing)
		take_from_tap(server);
	server->asked += BATCH;
	return took;
}

/* The client has the tap's stack, and knows the far end's address. */
static void alone_open(struct server *server)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(TESTNET_PORT) };
	char device[TESTNET_NAME];

	server->tap = testnet_make_tap(server->n, true, device);
	from.sin_addr.s_addr = testnet_address(server->n, TESTNET_FAR);
	to.sin_addr.s_addr = testnet_address(server->n, TESTNET_NEAR);
	server->client = socket(AF_INET, SOCK_DGRAM, 0);
	if (server->client < 0 || bind(server->client, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(server->client, (struct sockaddr *)&to, sizeof(to)))
		measure_die("client: %m");
}

/* Writes the replies itself, outside the measured part. @len: their lengths. */
static void answer_by_hand(struct server *server, unsigned int *len)
{
	char frame[ROOM], reply[ROOM];
	const char *payload;
	unsigned int got;

	for (unsigned int i = 0; i < BATCH; i++) {
		got = testnet_next(server->tap, frame, sizeof(frame), &payload);
		memcpy(reply, payload, got);
		len[i] = testnet_frame(server->frames[i], server->n, false, PORT, reply,
				       answer(reply, got));
	}
}

static uint64_t alone_step(struct server *server)
{
	uint64_t start = measure_now(), took;
	unsigned int len[BATCH];

	client_ask(server);
	took = measure_now() - start;
	answer_by_hand(server, len);
	start = measure_now();
	write_frames(server, len);
	client_take(server);
	return took + measure_now() - start;
}

/* memcached's store is empty at first: store the value that replies are checked against. */
static bool store_value(struct server *server, const struct entry *entry, int patience_ms)
{
	const char *value = strchr(entry->reply, '\n') + 1, *payload;
	struct pollfd pollfd = { .fd = server->tap, .events = POLLIN };
	char request[256], frame[ROOM];
	unsigned int len = HEADER_LEN;

	memcpy(request, "\0\0\0\0\0\1\0\0", HEADER_LEN);
	len += sprintf(request + len, "set %s 0 0 %d\r\n%.*s\r\n", entry->key, VALUE_LEN,
		       VALUE_LEN, value);
	len = testnet_frame(frame, server->n, false, server->port, request, len);
	if (write(server->tap, frame, len) != (ssize_t)len)
		measure_die("tap: %m");
	if (poll(&pollfd, 1, patience_ms) != 1)
		return false;
	return testnet_read(server->tap, frame, ROOM, &payload) == HEADER_LEN + 8 &&
	       !memcmp(payload + HEADER_LEN, "STORED", 6);
}

/* Drops replies to the requests that polled the server while it started. */
static void drain(struct server *server)
{
	struct pollfd pollfd = { .fd = server->tap, .events = POLLIN };
	char frame[ROOM];
	const char *payload;

	while (poll(&pollfd, 1, DRAINED_MS) == 1)
		testnet_read(server->tap, frame, ROOM, &payload);
}

static void memcached_open(struct server *server)
{
	char device[TESTNET_NAME];
	unsigned int tries = 0;

	server->tap = testnet_make_tap(server->n, server->way->stack, device);
	server->port += server->n;	/* of any address */
	worker_start(&server->worker, server->way->name, device, BATCH, server->port);
	while (!store_value(server, &store[0], PATIENCE_MS))
		if (++tries == TRIES)
			measure_die("memcached, %s: does not serve", server->way->name);
	drain(server);
	for (unsigned int i = 0; i < KEYS; i++)
		if (!store_value(server, &store[i], DRAINED_MS))
			measure_die("memcached, %s: does not store", server->way->name);
	worker_watch(&server->worker);
}

/* The worker finds a whole batch, and is not disturbed while it works: replies are read later. */
static uint64_t memcached_step(struct server *server)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t took, before;

	measure_first(true);
	before = worker_time(&server->worker);
	took = write_to_tap(server);
	nanosleep(&nap, NULL);
	take_from_tap(server);
	before = worker_time(&server->worker) - before;
	measure_first(false);
	server->asked += BATCH;
	server->in_worker += before;
	return took + before;
}

static const struct wire veth = { "veth", veth_open, veth_step };
static const struct wire veth_sleeping = { "veth_sleeping", sleeping_open, sleeping_step };
static const struct wire device = { "device", device_open, device_step };
static const struct wire alone = { "client", alone_open, alone_step };
static const struct wire memcached = { "memcached", memcached_open, memcached_step };

/* -- Measuring --------------------------------------------------------------- */

static struct server servers[] = {
	{ .wire = &veth, .way = &mmsg },
	{ .wire = &veth, .way = &frames },
	{ .wire = &veth_sleeping, .way = &mmsg },
	{ .wire = &veth_sleeping, .way = &frames },
	{ .wire = &device, .way = &mmsg },
	{ .wire = &device, .way = &frames },
	{ .wire = &device, .way = &nothing },
	{ .wire = &veth, .way = &taken },
	{ .wire = &device, .way = &taken },
	{ .wire = &alone, .way = &nothing },
	{ .wire = &veth, .way = &packet },
	{ .wire = &veth, .way = &blocks },
	{ .wire = &veth, .way = &xdp },
	{ .wire = &veth, .way = &uring },
	{ .wire = &veth_sleeping, .way = &packet },
	{ .wire = &veth_sleeping, .way = &xdp },
	{ .wire = &veth_sleeping, .way = &uring },
	{ .wire = &device, .way = &packet },
	{ .wire = &device, .way = &blocks },
	{ .wire = &device, .way = &xdp },
	{ .wire = &device, .way = &uring },
	{ .wire = &memcached, .way = &uring },
	{ .wire = &memcached, .way = &mmsg },
	{ .wire = &memcached, .way = &frames },
};

#define SERVERS	(sizeof(servers) / sizeof(servers[0]))

static struct server *asked[SERVERS];
static unsigned int nasked;

/* @names: the names of servers in the output, in any list; NULL: all.  None is part of another. */
static void ask_for(const char *names)
{
	char name[64];

	for (unsigned int i = 0; i < SERVERS; i++) {
		snprintf(name, sizeof(name), "%s %s", servers[i].wire->name, servers[i].way->name);
		if (!names || strstr(names, name))
			asked[nasked++] = &servers[i];
	}
}

static uint64_t step(struct server *server)
{
	return server->wire->step(server);
}

static void measure_round(unsigned int steps)
{
	double ns[SERVERS] = { 0 };

	for (unsigned int i = 0; i < nasked; i++)
		asked[i]->in_worker = 0;
	for (unsigned int j = 0; j < steps; j++)
		for (unsigned int i = 0; i < nasked; i++)
			ns[order_at(i, nasked, j)] += step(asked[order_at(i, nasked, j)]);
	for (unsigned int i = 0; i < nasked; i++) {
		const struct server *server = asked[i];

		printf("%s\"%s %s\": %.6g", i ? ", " : "", server->wire->name,
		       server->way->name, ns[i] / steps / BATCH);
		if (server->in_worker)
			printf(", \"worker %s\": %.6g", server->way->name,
			       (double)server->in_worker / steps / BATCH);
	}
}

static void open_server(struct server *server)
{
	init_messages(&server->out);
	server->n = server - servers + 1;
	server->port = PORT;
	server->wire->open(server);
	for (unsigned int j = 0; j < WARM_UP; j++)
		step(server);
}

static void measure_all(unsigned int rounds, unsigned int steps)
{
	for (unsigned int i = 0; i < nasked; i++)
		open_server(asked[i]);
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"batch\": %d,\n"
	       "  \"value_bytes\": %d,\n  \"rounds\": [", measure_kernel(), measure_accel(), BATCH,
	       VALUE_LEN);
	for (unsigned int round = 0; round < rounds; round++) {
		printf("%s\n    {", round ? "," : "");
		measure_round(steps);
		printf("}");
	}
	printf("\n  ]\n}\n");
}

/* A single variant, for `make profile-icount`. */
static void profile(const char *wire, const char *way, unsigned int steps)
{
	for (unsigned int i = 0; i < SERVERS; i++) {
		if (strcmp(servers[i].wire->name, wire) || strcmp(servers[i].way->name, way))
			continue;
		open_server(&servers[i]);
		mark_begin();
		for (unsigned int j = 0; j < steps; j++)
			step(&servers[i]);
		mark_end();
		return;
	}
	measure_die("no %s over %s", way, wire);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (!rounds || !steps || argc > 5)
		measure_die("usage: frames ROUNDS STEPS [WIRE WAY | \"WIRE WAY,...\"]");
	ask_for(argc == 4 ? argv[3] : NULL);
	measure_pin(CPU);
	testnet_init();
	fill_store();
	if (argc == 5)
		profile(argv[3], argv[4], rounds * steps);
	else
		measure_all(rounds, steps);
	for (unsigned int i = 0; i < SERVERS; i++)
		worker_stop(&servers[i].worker);
	testnet_end();
	return 0;
}
