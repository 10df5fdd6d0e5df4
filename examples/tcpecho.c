// SPDX-License-Identifier: MIT
/*
 * tcpecho PORT: sends back the data of TCP connections. Connections are accepted in batches, and
 * all readable ones are received from with one call. With port 0 it chooses a free one; it prints
 * the port on standard output.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>
#include <syscript_sockets.h>
#include <unistd.h>

#define BATCH	32
#define ROOM	4096

static int open_listener(int port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	socklen_t len = sizeof(address);
	int sock = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (sock < 0 || bind(sock, (struct sockaddr *)&address, len) || listen(sock, 1024) ||
	    getsockname(sock, (struct sockaddr *)&address, &len)) {
		perror("tcpecho");
		exit(1);
	}
	printf("%d\n", ntohs(address.sin6_port));
	fflush(stdout);
	return sock;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		close(fd);
}

static void accept_all(int epoll, int listener)
{
	int fds[BATCH], n = syscript_accept_batch(listener, fds, BATCH, SOCK_CLOEXEC, 0);

	if (n < 0)
		fprintf(stderr, "tcpecho: accept: %s\n", strerror(-n));
	for (int i = 0; i < n; i++)
		watch(epoll, fds[i]);
}

/* Blocks on a client that does not read: a server for strangers would queue the data. */
static void answer(int fd, const char *data, int len)
{
	if (len > 0 && send(fd, data, len, MSG_NOSIGNAL) != len)
		len = -errno;
	if (len <= 0 && len != -EAGAIN)
		close(fd);
}

int main(int argc, char **argv)
{
	static char data[BATCH][ROOM];
	struct epoll_event events[BATCH];
	int epoll = epoll_create1(EPOLL_CLOEXEC), listener, lens[BATCH], n = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: tcpecho PORT\n");
		return 2;
	}
	listener = open_listener(atoi(argv[1]));
	watch(epoll, listener);
	while (n >= 0) {
		n = syscript_wait_recv(epoll, events, BATCH, data, ROOM, lens, -1);
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				accept_all(epoll, listener);
			else
				answer(events[i].data.fd, data[i], lens[i]);
		}
	}
	fprintf(stderr, "tcpecho: %s\n", syscript_strerror(n));
	return 1;
}
