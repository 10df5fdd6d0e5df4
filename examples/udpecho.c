// SPDX-License-Identifier: MIT
/*
 * udpecho PORT: answers each UDP datagram with itself.  A round of the server - the
 * last answers sent, waiting, the next datagrams received - costs one mode switch.
 * With port 0 it chooses a free one; it prints the port on standard output.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <syscript.h>
#include <syscript_sockets.h>

#define BATCH	32
#define ROOM	2048

struct batch {
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
};

static struct batch in, out;
static struct sockaddr_in6 names[BATCH];
static char data[BATCH][ROOM];

static int open_socket(int port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	socklen_t len = sizeof(address);
	int sock = socket(AF_INET6, SOCK_DGRAM, 0);

	if (sock < 0 || bind(sock, (struct sockaddr *)&address, len) ||
	    getsockname(sock, (struct sockaddr *)&address, &len)) {
		perror("udpecho");
		exit(1);
	}
	printf("%d\n", ntohs(address.sin6_port));
	fflush(stdout);
	return sock;
}

static void prepare(void)
{
	for (int i = 0; i < BATCH; i++) {
		in.iov[i] = (struct iovec){ data[i], ROOM };
		in.msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &names[i], .msg_namelen = sizeof(names[i]),
			.msg_iov = &in.iov[i], .msg_iovlen = 1,
		};
		out.msgs[i].msg_hdr = in.msgs[i].msg_hdr;
		out.msgs[i].msg_hdr.msg_iov = &out.iov[i];
	}
}

/* The replies are in the buffers of the requests. */
static void answer(int n)
{
	for (int i = 0; i < n; i++)
		out.iov[i] = (struct iovec){ data[i], in.msgs[i].msg_len };
}

int main(int argc, char **argv)
{
	struct syscript_exchange *exchange;
	int n;

	if (argc != 2) {
		fprintf(stderr, "usage: udpecho PORT\n");
		return 2;
	}
	prepare();
	n = syscript_exchange_open(&exchange, open_socket(atoi(argv[1])), in.msgs, BATCH);
	while (n >= 0) {
		answer(n);
		n = syscript_exchange(exchange, out.msgs, n, -1, NULL);
	}
	fprintf(stderr, "udpecho: %s\n", syscript_strerror(n));
	return 1;
}
