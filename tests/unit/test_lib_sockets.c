// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The library's functions for connections: accept_batch, wait_accept, wait_recv. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
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

/* An array of @n elements at the end of mapped memory. */
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

/* Connections accepted before descriptors run out are not lost. */
static void test_accept_errors(void)
{
	int lfd = listener(0), fds[CLIENTS], clients[4];
	struct rlimit before;

	CHECK_EQ(syscript_accept_batch(-1, fds, 1, 0, 0), -EBADF);
	CHECK_EQ(syscript_accept_batch(lfd, fds, 1, 1, 0), -EINVAL);
	for (int i = 0; i < 4; i++)
		clients[i] = client();
	wait_for(lfd);
	CHECK_EQ(syscript_accept_batch(lfd, (int *)16, 1, 0, 0), -EFAULT);
	before = leave_descriptors(2);
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
	/* Again more of the fifth, and the end of the seventh. */
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

/* More sockets are ready than one call returns: the next call returns the rest. */
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
	/* Nothing is received that could not be reported. */
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, cut_off(2), 0), -EFAULT);
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, lens, 0), 256);
	CHECK_EQ(lens[0], 4);
	CHECK_EQ(count(lens, 256, -EAGAIN), 255);
	CHECK_EQ(syscript_wait_recv(epoll, events, n, bufs, 4, lens, 0), 0);
	close_all(fds, n);
	close_all(pair, 2);
	close(epoll);
}

/* -- wait_accept ----------------------------------------------------------- */

#define LISTENERS	3

struct listeners {
	int epoll, fds[LISTENERS];
	struct sockaddr_in addresses[LISTENERS];
};

static void listeners_open(struct listeners *all, int flags)
{
	all->epoll = epoll_create1(0);
	for (int i = 0; i < LISTENERS; i++) {
		all->fds[i] = listener(flags);
		all->addresses[i] = address;
		add(all->epoll, all->fds[i]);
	}
}

static void listeners_close(struct listeners *all)
{
	for (int i = 0; i < LISTENERS; i++)
		close(all->fds[i]);
	close(all->epoll);
}

static void clients_of(struct listeners *all, int which, int *clients, int n)
{
	address = all->addresses[which];
	for (int i = 0; i < n; i++)
		clients[i] = client();
}

static void test_wait_accept(void)
{
	int clients[8], fds[10], from[10];
	struct listeners all;

	listeners_open(&all, SOCK_NONBLOCK);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, from, 10, 0, 0), 0);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, from, 10, 0, 20), 0);
	CHECK_EQ(count(fds, 10, -1) + count(from, 10, -1), 20);
	clients_of(&all, 0, clients, 5);
	clients_of(&all, 2, clients + 5, 3);
	/* Accepts from each in turn, although one has enough for the whole array. */
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, from, 4, SOCK_CLOEXEC | SOCK_NONBLOCK, -1),
		 4);
	CHECK_EQ(count(from, 4, all.fds[0]), 2);
	CHECK_EQ(count(from, 4, all.fds[2]), 2);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		CHECK(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
	}
	close_all(fds, 4);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, from, 10, 0, -1), 4);
	CHECK_EQ(count(from, 10, all.fds[0]), 3);
	CHECK_EQ(count(from, 10, -1), 6);
	CHECK_EQ(count(fds, 10, -1), 6);
	CHECK_EQ(fcntl(fds[0], F_GETFD), 0);
	close_all(fds, 4);
	close_all(clients, 8);
	listeners_close(&all);
}

/* Returns what is available; the call does not block for more. */
static void test_wait_accept_blocking(void)
{
	int clients[3], fds[4];
	struct listeners all;

	listeners_open(&all, 0);
	clients_of(&all, 1, clients, 2);
	clients_of(&all, 2, clients + 2, 1);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 0, -1), 3);
	close_all(fds, 3);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 0, 0), 0);
	close_all(clients, 3);
	listeners_close(&all);
}

static void test_wait_accept_errors(void)
{
	int clients[2], fds[4], pipes[2];
	struct listeners all;
	struct rlimit before;

	listeners_open(&all, SOCK_NONBLOCK);
	CHECK_EQ(syscript_wait_accept(-1, fds, NULL, 4, 0, -1), -EBADF);
	CHECK_EQ(syscript_wait_accept(all.fds[0], fds, NULL, 4, 0, -1), -EINVAL);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 0, 0, -1), -EINVAL);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, UINT32_MAX, 0, -1), -EINVAL);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 1, -1), -EINVAL);
	clients_of(&all, 1, clients, 2);
	/* Nothing is accepted that could not be reported. */
	CHECK_EQ(syscript_wait_accept(all.epoll, NULL, NULL, 4, 0, -1), -EFAULT);
	CHECK_EQ(syscript_wait_accept(all.epoll, (int *)(1L << 60), NULL, 4, 0, -1), -EFAULT);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, (int *)16, 4, 0, -1), -EFAULT);
	CHECK_EQ(syscript_wait_accept(all.epoll, cut_off(2), NULL, 4, 0, -1), -EFAULT);
	CHECK_EQ(syscript_wait_accept(all.epoll, cut_off(2), NULL, 1 << 27, 0, -1), -EFAULT);
	before = leave_descriptors(0);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 0, -1), -EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	/* A descriptor that is not a listening socket fails without affecting the others. */
	CHECK(!pipe(pipes));
	CHECK_EQ(write(pipes[1], "", 1), 1);
	add(all.epoll, pipes[0]);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 0, -1), 2);
	close_all(fds, 2);
	CHECK_EQ(syscript_wait_accept(all.epoll, fds, NULL, 4, 0, -1), -ENOTSOCK);
	close_all(pipes, 2);
	close_all(clients, 2);
	listeners_close(&all);
}

/* -- accept_batch and accept4() ---------------------------------------------- */

/* The first result of a loop of plain nonblocking calls. */
static int plain_accept(int fd, int flags)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	int ret = fd < 0 ? 1 : poll(&poller, 1, 0);

	if (ret <= 0)
		return ret;
	ret = accept4(fd, NULL, NULL, flags);
	return ret < 0 ? -errno : ret;
}

static void test_accept_like_plain(void)
{
	int pipes[2], pair[2], fds[2], accepted;
	int odd[] = {
		-1, INT32_MIN, 999999, STDERR_FILENO, epoll_create1(0), open("/", O_PATH),
		socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_DGRAM, 0), 0, 0,
	};

	CHECK(!pipe(pipes));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(write(pipes[1], "", 1), 1);
	CHECK_EQ(write(pair[1], "", 1), 1);
	odd[8] = pipes[0];
	odd[9] = pair[0];
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		accepted = syscript_accept_batch(odd[i], fds, 2, 0, 0);
		CHECK_EQ(accepted, plain_accept(odd[i], 0));
		CHECK_EQ(count(fds, 2, -1), 2);
		if (odd[i] > STDERR_FILENO)
			close(odd[i]);
	}
	close(pipes[1]);
	close(pair[1]);
}

static void nothing(int signal)
{
	(void)signal;
}

static void test_signals(void)
{
	/* On a busy machine the first may come before the call that it is to interrupt. */
	const struct itimerval often = { { .tv_usec = 30000 }, { .tv_usec = 30000 } }, never = { 0 };
	const struct sigaction action = { .sa_handler = nothing };
	int epoll = epoll_create1(0), lfd = listener(0), fds[2], lens[2];
	struct epoll_event events[2];

	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	CHECK_EQ(syscript_accept_batch(lfd, fds, 2, 0, -1), -EINTR);
	CHECK_EQ(syscript_wait_accept(epoll, fds, NULL, 2, 0, -1), -EINTR);
	CHECK_EQ(syscript_wait_recv(epoll, events, 2, NULL, 0, lens, -1), -EINTR);
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	close(epoll);
	close(lfd);
}

/* A listening socket whose number is repeatedly reused for another file. */
static volatile bool storm_over;

static void *make_storm(void *arg)
{
	int fd = *(int *)arg, same = dup(fd);

	while (!storm_over) {
		dup2(STDERR_FILENO, fd);
		dup2(same, fd);
	}
	close(same);
	return NULL;
}

static void test_storm(void)
{
	int lfd = listener(SOCK_NONBLOCK), same = dup(lfd), epoll = epoll_create1(0), fds[4], n;
	pthread_t thread;

	add(epoll, lfd);
	CHECK(!pthread_create(&thread, NULL, make_storm, &lfd));
	for (int i = 0; i < 300; i++) {
		int fd = client();

		n = i % 2 ? syscript_accept_batch(lfd, fds, 4, 0, 1) :
			    syscript_wait_accept(epoll, fds, NULL, 4, 0, 1);
		CHECK(n >= 0 || n == -ENOTSOCK);
		if (n <= 0)
			n = syscript_accept_batch(same, fds, 4, 0, 0);
		close_all(fds, n);
		close(fd);
	}
	storm_over = true;
	CHECK(!pthread_join(thread, NULL));
	close(same);
	close(epoll);
	close(lfd);
}

int main(void)
{
	test_accept(0);
	test_accept(SOCK_NONBLOCK);
	test_accept_errors();
	test_accept_like_plain();
	test_wait_accept();
	test_wait_accept_blocking();
	test_wait_accept_errors();
	test_wait_recv();
	test_wait_recv_many();
	test_signals();
	test_storm();
	return 0;
}
