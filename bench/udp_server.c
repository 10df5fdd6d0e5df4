// SPDX-License-Identifier: GPL-2.0 OR MIT
/* UDP servers, from one system call per message to one script call per batch. */
#include <arpa/inet.h>
#include <cosy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <syscript_sockets.h>
#include <unistd.h>

#include "measure.h"
#include "receiver.h"
#include "source.h"
#include "udp_compound.h"

#define TIME_LIMIT	5000000000ULL
#define MEMORY_LIMIT	0

/* -- Common to all servers --------------------------------------------------- */

static void messages_init(struct udp_messages *messages, size_t len)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		messages->iov[i] = (struct iovec){ messages->data[i], len };
		messages->hdr[i].msg_hdr = (struct msghdr){
			.msg_name = &messages->name[i], .msg_namelen = sizeof(messages->name[i]),
			.msg_iov = &messages->iov[i], .msg_iovlen = 1,
		};
	}
}

/* Makes reply @to from request @from. */
static void answer(struct udp_server *server, unsigned int to, unsigned int from)
{
	server->out.name[to] = server->in.name[from];
	memcpy(server->out.data[to], server->in.data[from], HEADER_LEN);
}

static void answer_all(struct udp_server *server)
{
	for (unsigned int i = 0; i < BATCH; i++)
		answer(server, i, i);
}

static void expect(const struct udp_server *server, const char *what, long got, long wanted)
{
	if (got != wanted)
		measure_die("%s: %s gave %ld, not %ld (%s)", server->name, what, got, wanted,
			    got < 0 ? syscript_strerror(got) : "fewer than were sent");
}

static void expect_readable(const struct udp_server *server)
{
	struct epoll_event event;

	expect(server, "epoll_wait", epoll_wait(server->epoll, &event, 1, -1), 1);
}

/* -- One system call a message ------------------------------------------------- */

static void serve_one(struct udp_server *server)
{
	socklen_t len = sizeof(server->in.name[0]);

	if (recvfrom(server->sock, server->in.data[0], REQUEST_ROOM, 0,
		     (struct sockaddr *)&server->in.name[0], &len) < HEADER_LEN)
		measure_die("%s: recvfrom: %m", server->name);
	answer(server, 0, 0);
	expect(server, "sendmsg", sendmsg(server->sock, &server->out.hdr[0].msg_hdr, 0), REPLY_LEN);
}

static void step_recvfrom(struct udp_server *server)
{
	for (unsigned int i = 0; i < BATCH; i++)
		serve_one(server);
}

static void step_epoll(struct udp_server *server)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		expect_readable(server);
		serve_one(server);
	}
}

/* -- One system call a batch ----------------------------------------------------- */

static void reset_names(struct udp_server *server)
{
	for (unsigned int i = 0; i < BATCH; i++)
		server->in.hdr[i].msg_hdr.msg_namelen = sizeof(server->in.name[i]);
}

static void step_mmsg(struct udp_server *server)
{
	reset_names(server);
	expect(server, "recvmmsg",
	       recvmmsg(server->sock, server->in.hdr, BATCH, MSG_DONTWAIT, NULL), BATCH);
	answer_all(server);
	expect(server, "sendmmsg", sendmmsg(server->sock, server->out.hdr, BATCH, 0), BATCH);
}

static void step_epoll_mmsg(struct udp_server *server)
{
	expect_readable(server);
	step_mmsg(server);
}

/* Requests go back unchanged: the received messages are sent. */
static void step_echo_mmsg(struct udp_server *server)
{
	expect_readable(server);
	reset_names(server);
	expect(server, "recvmmsg",
	       recvmmsg(server->sock, server->in.hdr, BATCH, MSG_DONTWAIT, NULL), BATCH);
	for (unsigned int i = 0; i < BATCH; i++)
		server->in.iov[i].iov_len = server->in.hdr[i].msg_len;
	expect(server, "sendmmsg", sendmmsg(server->sock, server->in.hdr, BATCH, 0), BATCH);
	for (unsigned int i = 0; i < BATCH; i++)
		server->in.iov[i].iov_len = REQUEST_ROOM;
}

/* -- io_uring: multishot receive, replies and wait in one call --------------------- */

static void open_io_uring(struct udp_server *server)
{
	server->private = receiver_open(server->sock, REQUEST_ROOM);
}

/* Copies the request out, where the other servers expect it, and returns the buffer. */
static void take_received(struct udp_server *server, const struct io_uring_cqe *cqe,
			  unsigned int to)
{
	struct received received = receiver_take(server->private, cqe);

	server->in.name[to] = *received.name;
	memcpy(server->in.data[to], received.payload, HEADER_LEN);
	receiver_give(server->private, received.buffer);
}

static void step_io_uring(struct udp_server *server)
{
	struct receiver *receiver = server->private;
	unsigned int got = 0, head, seen;
	struct io_uring_cqe *cqe;

	while (got < BATCH) {
		receiver_wait(receiver);
		seen = 0;
		io_uring_for_each_cqe(&receiver->uring, head, cqe) {
			seen++;
			if (receiver_has(cqe))
				take_received(server, cqe, got++);
			else
				expect(server, "sendmsg", cqe->res, REPLY_LEN);
		}
		io_uring_cq_advance(&receiver->uring, seen);
	}
	answer_all(server);
	for (unsigned int i = 0; i < BATCH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&receiver->uring);

		io_uring_prep_sendmsg(sqe, server->sock, &server->out.hdr[i].msg_hdr, 0);
		sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	}
}

/* -- Scripts ------------------------------------------------------------------------ */

static int load(const char *path, uint32_t flags)
{
	struct source source = source_read(path);

	return source_register(&source, source_backend(), flags, MEMORY_LIMIT, TIME_LIMIT);
}

/* Figure 1 of the paper and its counterpart: a system call per message, inside the script. */
struct figure1 {
	char packets[BATCH][1024], names[BATCH][28];
	socklen_t namelens[BATCH];
	int lens[BATCH];
};

static void open_figure1(struct udp_server *server)
{
	server->private = calloc(2, sizeof(struct figure1));
	if (!server->private)
		measure_die("no memory for packets");
	server->scripts[0] = load("scripts/recv_batch.lua", 0);
	server->scripts[1] = load("scripts/send_batch.lua", 0);
}

static void open_figure1_interp(struct udp_server *server)
{
	open_figure1(server);
	for (int i = 0; i < 2; i++)
		syscript_close(server->scripts[i]);
	server->scripts[0] = load("scripts/recv_batch.lua", SYSCRIPT_NOJIT);
	server->scripts[1] = load("scripts/send_batch.lua", SYSCRIPT_NOJIT);
}

static void step_figure1(struct udp_server *server)
{
	struct figure1 *in = server->private, *out = in + 1;

	expect(server, "recv_batch.lua",
	       lua_syscall(server->scripts[0], 6, server->sock, in->packets, in->names,
			   in->namelens, in->lens, BATCH), BATCH);
	for (unsigned int i = 0; i < BATCH; i++) {
		memcpy(out->packets[i], in->packets[i], HEADER_LEN);
		memcpy(out->names[i], in->names[i], sizeof(struct sockaddr_in));
		out->namelens[i] = in->namelens[i];
		out->lens[i] = REPLY_LEN;
	}
	expect(server, "send_batch.lua",
	       lua_syscall(server->scripts[1], 6, server->sock, out->packets, out->names,
			   out->namelens, out->lens, BATCH), BATCH);
}

/* The plain batch calls, made by a script in one call. */
static void open_script_mmsg(struct udp_server *server)
{
	static const char text[] =
		"local recvmmsg, sendmmsg = syscall.recvmmsg, syscall.sendmmsg\n"
		"local DONTWAIT = const.MSG_DONTWAIT\n"
		"function run(sfd, in_, max, out, n)\n"
		"  local sent = sendmmsg(sfd, out, n, 0)\n"
		"  return recvmmsg(sfd, in_, max, DONTWAIT, 0), sent\n"
		"end\n";
	const struct source source = { "script_mmsg", (char *)text, strlen(text) };

	server->scripts[0] = source_register(&source, source_backend(), 0, MEMORY_LIMIT,
					     TIME_LIMIT);
}

static void open_exchange(struct udp_server *server)
{
	server->scripts[0] = load("scripts/exchange.lua", 0);
}

static void open_exchange_interp(struct udp_server *server)
{
	server->scripts[0] = load("scripts/exchange.lua", SYSCRIPT_NOJIT);
}

static void exchange(struct udp_server *server, unsigned int in, unsigned int out)
{
	const int64_t args[] = {
		server->sock, (long)server->in.hdr, in, (long)server->out.hdr, out, -1,
	};
	int64_t results[2] = { 0, 0 };
	int n = syscript_call(server->scripts[0], 6, args, 2, results);

	expect(server, "the script", n, 2);
	expect(server, "receiving", results[0], in);
	expect(server, "sending", results[1], out);
}

/* Sends the replies of the previous step. */
static void step_combined(struct udp_server *server)
{
	reset_names(server);
	exchange(server, BATCH, server->in.data[0][0] ? BATCH : 0);
	answer_all(server);
}

static void step_two_calls(struct udp_server *server)
{
	exchange(server, BATCH, 0);
	answer_all(server);
	exchange(server, 0, BATCH);
}

/* -- A compound: the whole step ------------------------------------------------------- */

static void open_compound(struct udp_server *server)
{
	struct udp_compound *compound = cosy_calloc(1, sizeof(*compound));

	if (!compound)
		measure_die("%s: no memory in the shared buffer", server->name);
	compound->sock = server->sock;
	compound->epoll = server->epoll;
	messages_init(&compound->in, REQUEST_ROOM);
	messages_init(&compound->out, REPLY_LEN);
	server->private = compound;
}

static void step_compound(struct udp_server *server)
{
	expect(server, "the compound", udp_compound_step(server->private), BATCH);
}

/* -- The library's functions ---------------------------------------------------------- */

static void step_library(struct udp_server *server)
{
	reset_names(server);
	expect(server, "syscript_recv_batch",
	       syscript_recv_batch(server->sock, server->in.hdr, BATCH, 0, -1), BATCH);
	answer_all(server);
	expect(server, "syscript_send_batch",
	       syscript_send_batch(server->sock, server->out.hdr, BATCH, 0), BATCH);
}

static void open_library_exchange(struct udp_server *server)
{
	struct syscript_exchange *exchange;

	expect(server, "syscript_exchange_open",
	       syscript_exchange_open(&exchange, server->sock, server->in.hdr, BATCH), 0);
	server->private = exchange;
}

static void step_library_exchange(struct udp_server *server)
{
	unsigned int n = server->in.data[0][0] ? BATCH : 0;
	int sent;

	expect(server, "syscript_exchange",
	       syscript_exchange(server->private, server->out.hdr, n, -1, &sent), BATCH);
	expect(server, "sending", sent, n);
	answer_all(server);
}

static void step_library_echo(struct udp_server *server)
{
	expect(server, "syscript_echo", syscript_echo(server->sock, BATCH, -1), BATCH);
}

/* ------------------------------------------------------------------------------------ */

struct udp_server udp_servers[] = {
	{ .name = "recvfrom_sendmsg", .step = step_recvfrom, .switches = 2 * BATCH },
	{ .name = "epoll_recvfrom_sendmsg", .step = step_epoll, .switches = 3 * BATCH },
	{ .name = "mmsg", .step = step_mmsg, .switches = 2 },
	{ .name = "epoll_mmsg", .step = step_epoll_mmsg, .switches = 3 },
	{ .name = "io_uring", .open = open_io_uring, .step = step_io_uring, .switches = 1,
	  .late = true },
	{ .name = "figure1_interp", .open = open_figure1_interp, .step = step_figure1,
	  .switches = 2 },
	{ .name = "figure1", .open = open_figure1, .step = step_figure1, .switches = 2 },
	{ .name = "script_mmsg", .open = open_script_mmsg, .step = step_combined,
	  .switches = 1, .late = true },
	{ .name = "two_calls", .open = open_exchange, .step = step_two_calls, .switches = 2 },
	{ .name = "combined_interp", .open = open_exchange_interp, .step = step_combined,
	  .switches = 1, .late = true },
	{ .name = "combined", .open = open_exchange, .step = step_combined, .switches = 1,
	  .late = true },
	{ .name = "compound", .open = open_compound, .step = step_compound, .switches = 1 },
	{ .name = "library", .step = step_library, .switches = 2 },
	{ .name = "library_exchange", .open = open_library_exchange,
	  .step = step_library_exchange, .switches = 1, .late = true },
	{ .name = "echo_mmsg", .step = step_echo_mmsg, .switches = 3, .echo = true },
	{ .name = "library_echo", .step = step_library_echo, .switches = 1, .echo = true },
	{ .name = "uring_loop", .open = uring_loop_open, .step = uring_loop_step, .switches = 1,
	  .echo = true },
};

const unsigned int udp_server_count = sizeof(udp_servers) / sizeof(udp_servers[0]);

void udp_server_open(struct udp_server *server, struct sockaddr_in *address)
{
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t len = sizeof(*address);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->sock = socket(AF_INET, SOCK_DGRAM, 0);
	server->epoll = epoll_create1(0);
	if (server->sock < 0 || server->epoll < 0 ||
	    bind(server->sock, (struct sockaddr *)address, sizeof(*address)) ||
	    getsockname(server->sock, (struct sockaddr *)address, &len) ||
	    epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->sock, &event))
		measure_die("%s: socket: %m", server->name);
	messages_init(&server->in, REQUEST_ROOM);
	messages_init(&server->out, REPLY_LEN);
	if (server->open)
		server->open(server);
}
