/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UDP servers that answer BATCH requests per step, each through another interface to the kernel and
 * with the same work in between.
 */
#ifndef UDP_SERVER_H
#define UDP_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define BATCH		16
#define REQUEST_LEN	40
#define REQUEST_ROOM	1024
#define REPLY_LEN	128
#define HEADER_LEN	8	/* of a request, which is returned in front of the reply */

/* One of a server's two message arrays, for recvmmsg(2) and sendmmsg(2). */
struct udp_messages {
	struct mmsghdr hdr[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_in name[BATCH];
	char data[BATCH][REQUEST_ROOM];
};

struct udp_server {
	const char *name;
	void (*open)(struct udp_server *server);	/* or NULL */
	void (*step)(struct udp_server *server);
	/* Mode switches per step; for scripts, when they run in the kernel. */
	unsigned int switches;
	/* A step first sends the replies of the previous one. */
	bool late;
	/* It replies with the request itself. */
	bool echo;
	int sock, epoll;
	int scripts[2];
	struct udp_messages in, out;
	void *private;
};

extern struct udp_server udp_servers[];
extern const unsigned int udp_server_count;

/* By io_uring's BPF loop: only in build/bench/udp_loop, which needs libbpf. */
void uring_loop_open(struct udp_server *server) __attribute__((weak));
void uring_loop_step(struct udp_server *server) __attribute__((weak));

/* Opens the server on a free port. */
void udp_server_open(struct udp_server *server, struct sockaddr_in *address);

#endif
