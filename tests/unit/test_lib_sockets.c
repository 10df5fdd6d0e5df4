// SPDX-License-Identifier: GPL-2.0 OR MIT
/* accept_batch, wait_recv and echo.lua on real sockets. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <syscript_sockets.h>

#include "lib_test.h"

#define CLIENTS	10

static struct sockaddr_in address;

static int listener(int flags)
{
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	CHECK(!getsockname(fd, (struct sockaddr *)&address, &len));
	CHECK(!listen(fd, 64));
	return fd;
}

static int client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

static void wait_for(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	CHECK_EQ(poll(&poller, 1, 10000), 1);
}

static void add(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

static void close_all(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

static int count(const int *fds, int n, int wanted)
{
	int found = 0;

	for (int i = 0; i < n; i++)
		found += fds[i] == wanted;
	return found;
}

/* An array of @n at the end of the memory that there is. */
static int *cut_off(unsigned int n)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	CHECK(!mprotect(page + 4096, 4096, PROT_NONE));
	return (int *)(page + 4096) - n;
}

static void test_accept(int listener_flags)
{
	int lfd = listener(listener_flags), fds[CLIENTS + 1], clients[CLIENTS];

	memset(fds, 0, sizeof(fds));
	CHECK_EQ(syscript_accept_batch(lfd, fds, CLIENTS, 0, 0), 0);
	CHECK_EQ(syscript_accept_batch(lfd, fds, CLIENTS, 0, 20), 0);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = client();
	wait_for(lfd);
	CHECK_EQ(syscript_accept_batch(lfd, fds, 3, SOCK_CLOEXEC | SOCK_NONBLOCK, -1), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		CHECK(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
		close(fds[i]);
	}
	CHECK_EQ(syscript_accept_batch(lfd, fds, CLIENTS + 1, 0, -1), CLIENTS - 3);
	CHECK_EQ(fds[CLIENTS - 3], -1);
	CHECK_EQ(fcntl(fds[0], F_GETFD), 0);
	for (int i = 0; i < CLIENTS - 3; i++)
		close(fds[i]);
	for (int i = 0; i < CLIENTS; i++)
		close(clients[i]);
	CHECK_EQ(syscript_accept_batch(lfd, fds, 0, 0, 0), 0);
	close(lfd);
}

/* What is accepted before the process is out of descriptors is not lost. */
static void test_accept_errors(void)
{
	int lfd = listener(0), fds[CLIENTS], clients[4];
	struct rlimit before, few;

	CHECK_EQ(syscript_accept_batch(-1, fds, 1, 0, 0), -EBADF);
	CHECK_EQ(syscript_accept_batch(lfd, fds, 1, 1, 0), -EINVAL);
	for (int i = 0; i < 4; i++)
		clients[i] = client();
	wait_for(lfd);
	CHECK_EQ(syscript_accept_batch(lfd, (int *)16, 1, 0, 0), -EFAULT);
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	/* Two descriptors are left. */
	few.rlim_cur = 0;
	for (int left = 0; left < 2; few.rlim_cur++)
		left += fcntl(few.rlim_cur, F_GETFD) < 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK_EQ(syscript_accept_batch(lfd, fds, 4, 0, 0), 2);
	CHECK_EQ(syscript_accept_batch(lfd, fds + 2, 2, 0, 0), -EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK_EQ(syscript_accept_batch(lfd, fds + 2, 2, 0, 0), 2);
	for (int i = 0; i < 4; i++) {
		close(fds[i]);
		close(clients[i]);
	}
	close(lfd);
	lfd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(syscript_accept_batch(lfd, fds, 1, 0, 0), 0);
	close(lfd);
}

static void test_wait_recv(void)
{
	struct epoll_event events[CLIENTS], event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), pairs[CLIENTS][2], lens[CLIENTS];
	char bufs[CLIENTS][16];
	unsigned int seen = 0;

	for (int i = 0; i < CLIENTS; i++) {
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]));
		event.data.fd = pairs[i][0];
		CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, pairs[i][0], &event));
	}
	CHECK_EQ(syscript_wait_recv(epoll, events, CLIENTS, bufs, 16, lens, 0), 0);
	CHECK_EQ(syscript_wait_recv(epoll, events, CLIENTS, bufs, 16, lens, 10), 0);
	CHECK_EQ(write(pairs[2][1], "two", 3), 3);
	CHECK_EQ(write(pairs[5][1], "more than sixteen bytes", 23), 23);
	close(pairs[7][1]);
	CHECK_EQ(syscript_wait_recv(epoll, events, CLIENTS, bufs, 16, lens, -1), 3);
	for (int i = 0; i < 3; i++) {
		if (events[i].data.fd == pairs[2][0])
			seen |= lens[i] == 3 && !memcmp(bufs[i], "two", 3) ? 1 : 0;
		if (events[i].data.fd == pairs[5][0])
			seen |= lens[i] == 16 && !memcmp(bufs[i], "more than sixtee", 16) ? 2 : 0;
		if (events[i].data.fd == pairs[7][0])
			seen |= lens[i] == 0 ? 4 : 0;
	}
	CHECK_EQ(seen, 7);
	/* Still more of the fifth, still the end of the seventh. */
	CHECK_EQ(syscript_wait_recv(epoll, events, 1, bufs, 16, lens, 0), 1);
	CHECK_EQ(syscript_wait_recv(epoll, events, 0, bufs, 16, lens, 0), -EINVAL);
	CHECK_EQ(syscript_wait_recv(-1, events, 1, bufs, 16, lens, 0), -EBADF);
	CHECK_EQ(syscript_wait_recv(epoll, events, 1, bufs, 16, (int *)16, 0), -EFAULT);
	for (int i = 0; i < CLIENTS; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	close(epoll);
}

/* More than a call takes: the others are the next one's. */
static void test_wait_recv_many(void)
{
	static struct epoll_event events[600];
	static char bufs[600][4];
	int epoll = epoll_create1(0), fds[600], pair[2], lens[600];
	unsigned int n;

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (n = 0; n < 600; n++) {
		fds[n] = dup(pair[0]);
		if (fds[n] < 0)
			break;
		add(epoll, fds[n]);
	}
	CHECK(n > 256);
	CHECK_EQ(write(pair[1], "text", 4), 4);
	/* Nothing is received that could not be told of. */
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, cut_off(2), 0), -EFAULT);
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, lens, 0), 256);
	CHECK_EQ(lens[0], 4);
	CHECK_EQ(count(lens, 256, -EAGAIN), 255);
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, lens, 0), 0);
	close_all(fds, n);
	close_all(pair, 2);
	close(epoll);
}

struct echo {
	int sock, script;
	struct mmsghdr msgs[4];
	struct iovec iov[4];
	char data[4][64];
};

static void *serve(void *arg)
{
	struct echo *echo = arg;

	return (void *)lua_syscall(echo->script, 4, echo->sock, echo->msgs, 4, 20);
}

/* 20 rounds answer at least 20 messages, each with itself. */
static void test_echo(void)
{
	static struct echo echo;
	struct sockaddr_in server, own;
	int sock = udp_socket(&own), asked = 0;
	char text[64], answer[64];
	pthread_t thread;
	void *answered;

	echo.sock = udp_socket(&server);
	echo.script = load_file("scripts/echo.lua");
	for (int i = 0; i < 4; i++) {
		echo.iov[i] = (struct iovec){ echo.data[i], sizeof(echo.data[i]) };
		echo.msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &echo.iov[i], .msg_iovlen = 1 };
	}
	CHECK(!pthread_create(&thread, NULL, serve, &echo));
	for (; asked < 20; asked++) {
		int len = snprintf(text, sizeof(text), "%*d", 1 + asked * 2, asked);

		CHECK_EQ(sendto(sock, text, len, 0, (struct sockaddr *)&server, sizeof(server)),
			 len);
		wait_for(sock);
		CHECK_EQ(recv(sock, answer, sizeof(answer), 0), len);
		CHECK(!memcmp(text, answer, len));
	}
	CHECK(!pthread_join(thread, &answered));
	CHECK_EQ((long)answered, asked);
	CHECK_EQ(echo.iov[0].iov_len, 64);
}

int main(void)
{
	test_accept(0);
	test_accept(SOCK_NONBLOCK);
	test_accept_errors();
	test_wait_recv();
	test_wait_recv_many();
	test_echo();
	return 0;
}
