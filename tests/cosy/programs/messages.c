// SPDX-License-Identifier: GPL-2.0
/* recvmmsg(2) and sendmmsg(2): usual and unusual arguments at each index of the array. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <cosy.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define N	100	/* more than fit in one batch */
#define ROOM	64

static struct mmsghdr hdr[N];
static struct iovec iov[N][2];
static struct sockaddr_in6 name[N];
static char data[N][ROOM], control[N][ROOM];
static struct sockaddr_in address;
static int server, client;

static int receive(int fd, struct mmsghdr *at, unsigned int n, int flags, struct timespec *limit)
{
	int ret;

	COSY_START;
	ret = recvmmsg(fd, at, n, flags, limit);
	COSY_END;
	return ret;
}

static int transmit(int fd, struct mmsghdr *at, unsigned int n, int flags)
{
	int ret;

	COSY_START;
	ret = sendmmsg(fd, at, n, flags);
	COSY_END;
	return ret;
}

static int make_socket(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (fd < 0 || bind(fd, (void *)at, len) || getsockname(fd, (void *)at, &len)) {
		perror("socket");
		exit(1);
	}
	return fd;
}

static void reset(void)
{
	memset(data, '.', sizeof(data));
	memset(name, 0, sizeof(name));
	memset(control, 0, sizeof(control));
	for (int i = 0; i < N; i++) {
		iov[i][0] = (struct iovec){ data[i], ROOM };
		iov[i][1] = (struct iovec){ control[i], ROOM };
		hdr[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = &name[i], .msg_namelen = sizeof(name[i]),
			.msg_iov = iov[i], .msg_iovlen = 1, .msg_flags = 0x5a5a,
		}, .msg_len = 12345 };
	}
}

/* Prints results without what varies between runs or, after an error, between kernels. */
static void show(const char *what, int ret, int shown)
{
	printf("%s: %d", what, ret);
	if (ret < 0)
		printf(" %s", strerror(errno));
	for (int i = 0; i < shown; i++) {
		const struct msghdr *h = &hdr[i].msg_hdr;

		printf(" [%u %u %#x %zu %d %.8s]", hdr[i].msg_len,
		       i < ret ? h->msg_namelen : 0, h->msg_flags, h->msg_controllen,
		       name[i].sin6_family, data[i]);
	}
	printf("\n");
}

/* -- Receiving --------------------------------------------------------------- */

static void post(int n)
{
	char text[ROOM];

	for (int i = 0; i < n; i++) {
		int len = snprintf(text, sizeof(text), "request %d", i);

		sendto(client, text, len + i % 3, 0, (void *)&address, sizeof(address));
	}
}

static void drain(void)
{
	char text[ROOM];
	int error;
	socklen_t len = sizeof(error);

	while (recv(server, text, sizeof(text), MSG_DONTWAIT) >= 0)
		;
	getsockopt(server, SOL_SOCKET, SO_ERROR, &error, &len);
	post(4);
	reset();
}

static void got(const char *what, unsigned int n, int flags)
{
	show(what, receive(server, hdr, n, flags, NULL), 4);
	/* Messages that arrived after the batch. */
	for (int i = 0; i < N; i++)
		hdr[i].msg_hdr.msg_iov = iov[i];
	show("  then", receive(server, hdr, 1, MSG_DONTWAIT, NULL), 0);
	drain();
}

#define RECEIVE(n, flags, change)				\
	do {							\
		change;						\
		got(#change " " #n " " #flags, n, flags);	\
	} while (0)

static void receive_odd(int i)
{
	struct msghdr *h = &hdr[i].msg_hdr;
	int on = 1, off = 0;

	RECEIVE(4, 0, h->msg_name = NULL);
	RECEIVE(4, 0, h->msg_namelen = 4);
	RECEIVE(4, 0, h->msg_namelen = -1);
	RECEIVE(4, 0, (h->msg_name = NULL, h->msg_namelen = -1));
	RECEIVE(4, 0, h->msg_namelen = 0);
	RECEIVE(4, 0, h->msg_namelen = 2000);
	RECEIVE(4, 0, h->msg_name = (void *)8);
	RECEIVE(4, 0, iov[i][0].iov_len = 3);
	RECEIVE(4, MSG_TRUNC, iov[i][0].iov_len = 3);
	RECEIVE(4, 0, iov[i][0].iov_len = 0);
	RECEIVE(4, 0, iov[i][0].iov_len = -1);
	RECEIVE(4, 0, iov[i][0].iov_base = (void *)8);
	RECEIVE(4, 0, iov[i][0].iov_base = (void *)-4096);
	RECEIVE(4, 0, (h->msg_iovlen = 2, iov[i][0].iov_len = 3));
	RECEIVE(4, 0, h->msg_iovlen = 0);
	RECEIVE(4, 0, h->msg_iovlen = 2000);
	RECEIVE(4, 0, h->msg_iov = (void *)8);
	setsockopt(server, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on));
	RECEIVE(4, 0, (h->msg_control = control[i], h->msg_controllen = ROOM));
	RECEIVE(4, 0, h->msg_controllen = ROOM);
	RECEIVE(4, 0, h->msg_control = control[i]);
	setsockopt(server, SOL_SOCKET, SO_TIMESTAMP, &off, sizeof(off));
}

static void receive_all(void)
{
	struct timespec none = { 0, 0 };

	drain();
	RECEIVE(4, 0, (void)0);
	RECEIVE(0, 0, (void)0);
	RECEIVE(2, 0, (void)0);
	RECEIVE(8, MSG_DONTWAIT, (void)0);
	RECEIVE(8, MSG_WAITFORONE, (void)0);
	RECEIVE(N, MSG_DONTWAIT, (void)0);
	RECEIVE(4, MSG_PEEK, (void)0);
	RECEIVE(4, MSG_OOB, (void)0);
	RECEIVE(4, MSG_ERRQUEUE | MSG_DONTWAIT, (void)0);
	RECEIVE(4, MSG_CMSG_CLOEXEC, (void)0);
	RECEIVE(8, MSG_WAITFORONE, (hdr[1].msg_hdr.msg_iovlen = 2));
	RECEIVE(8, MSG_DONTWAIT, (hdr[3].msg_hdr.msg_iovlen = 2));
	RECEIVE(8, MSG_DONTWAIT, (hdr[4].msg_hdr.msg_iovlen = 2));
	receive_odd(0);
	receive_odd(2);
	show("with a limit", receive(server, hdr, 4, 0, &none), 4);
	drain();
	show("no descriptor", receive(-1, hdr, 4, 0, NULL), 0);
	show("no socket", receive(0, hdr, 4, 0, NULL), 0);
	show("no array", receive(server, (void *)8, 4, 0, NULL), 0);
	show("no array, nothing", receive(server, (void *)8, 0, 0, NULL), 0);
}

/* -- Sending ------------------------------------------------------------------- */

static int sink;

static void prepare(void)
{
	char text[ROOM];

	while (recv(sink, text, sizeof(text), MSG_DONTWAIT) >= 0)
		;
	reset();
	for (int i = 0; i < N; i++) {
		snprintf(data[i], ROOM, "reply %d", i);
		iov[i][0].iov_len = 8;
		memcpy(&name[i], &address, sizeof(address));
		hdr[i].msg_hdr.msg_namelen = sizeof(address);
		hdr[i].msg_hdr.msg_flags = 0;
	}
}

static void sent(const char *what, unsigned int n, int flags)
{
	char text[ROOM];
	long len;

	show(what, transmit(client, hdr, n, flags), 4);
	while ((len = recv(sink, text, sizeof(text), MSG_DONTWAIT)) >= 0)
		printf("  %.*s\n", (int)len, text);
	prepare();
}

#define SEND(n, flags, change)					\
	do {							\
		change;						\
		sent(#change " " #n " " #flags, n, flags);	\
	} while (0)

static void send_odd(int i)
{
	struct msghdr *h = &hdr[i].msg_hdr;
	struct cmsghdr *c = (void *)control[i];

	SEND(4, 0, h->msg_name = NULL);
	SEND(4, 0, (h->msg_name = NULL, h->msg_namelen = -1));
	SEND(4, 0, h->msg_name = (void *)8);
	SEND(4, 0, h->msg_namelen = 0);
	SEND(4, 0, h->msg_namelen = 4);
	SEND(4, 0, h->msg_namelen = -1);
	SEND(4, 0, h->msg_namelen = sizeof(name[i]));
	SEND(4, 0, h->msg_namelen = 2000);
	SEND(4, 0, name[i].sin6_family = AF_INET6);
	SEND(4, 0, iov[i][0].iov_len = 70000);
	SEND(4, 0, iov[i][0].iov_len = -1);
	SEND(4, 0, iov[i][0].iov_len = 0);
	SEND(4, 0, iov[i][0].iov_base = (void *)8);
	SEND(4, 0, (h->msg_iovlen = 2, iov[i][1].iov_len = 0));
	SEND(4, 0, h->msg_iovlen = 0);
	SEND(4, 0, h->msg_iovlen = 2000);
	SEND(4, 0, h->msg_iov = (void *)8);
	SEND(4, 0, h->msg_flags = -1);
	SEND(4, 0, (h->msg_control = c, h->msg_controllen = 4));
	SEND(4, 0, (c->cmsg_len = 2000, h->msg_control = c, h->msg_controllen = ROOM));
	SEND(4, 0, (c->cmsg_len = CMSG_LEN(4), c->cmsg_level = IPPROTO_IP, c->cmsg_type = IP_TTL,
		    *(int *)CMSG_DATA(c) = 7, h->msg_control = c,
		    h->msg_controllen = CMSG_SPACE(4)));
	SEND(4, 0, h->msg_controllen = 100000);
}

static void send_all(void)
{
	sink = server;
	prepare();
	SEND(4, 0, (void)0);
	SEND(0, 0, (void)0);
	SEND(N, 0, (void)0);
	SEND(4, MSG_OOB, (void)0);
	SEND(4, MSG_MORE | MSG_DONTWAIT, (void)0);
	SEND(4, MSG_DONTROUTE | MSG_CONFIRM | MSG_NOSIGNAL, (void)0);
	SEND(4, MSG_ERRQUEUE, (void)0);
	send_odd(0);
	send_odd(2);
	show("no descriptor", transmit(-1, hdr, 4, 0), 0);
	show("no socket", transmit(0, hdr, 4, 0), 0);
	show("no array", transmit(client, (void *)8, 4, 0), 0);
	show("no array, nothing", transmit(client, (void *)8, 0, 0), 0);
}

/* -- The end of memory, and other kinds of sockets ------------------------------------ */

static void at_the_end(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mmsghdr *last = (void *)(page + 4096 - 2 * sizeof(*last));

	munmap(page + 4096, 4096);
	drain();
	memcpy(last, hdr, 2 * sizeof(*last));
	show("the array ends", receive(server, last, 4, 0, NULL), 0);
	show("  then", receive(server, hdr, 1, MSG_DONTWAIT, NULL), 0);
	prepare();
	memcpy(last, hdr, 2 * sizeof(*last));
	show("the array ends", transmit(client, last, 4, 0), 0);
	munmap(page, 4096);
}

/* The first message that is sent only partly is the last one. */
static void on_stream(void)
{
	static char large[1 << 20];
	long all, len;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return perror("socketpair");
	reset();
	for (int i = 0; i < 4; i++) {
		iov[i][0] = (struct iovec){ large, sizeof(large) };
		hdr[i].msg_hdr.msg_name = NULL;
		hdr[i].msg_hdr.msg_namelen = 0;
		hdr[i].msg_hdr.msg_flags = 0;
	}
	show("a stream", transmit(ends[0], hdr, 4, 0), 0);
	all = hdr[0].msg_len;
	show("  full", transmit(ends[0], hdr, 4, 0), 0);
	while ((len = read(ends[1], large, sizeof(large))) > 0)
		all -= len;
	printf("  %ld more than came\n", all);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	struct sockaddr_in other;

	server = make_socket(&address);
	client = make_socket(&other);
	receive_all();
	send_all();
	at_the_end();
	on_stream();
	return 0;
}
