/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Helpers for tests of libsyscript: small programs that exit 0, 1 or 77 (skipped). They use the
 * backend in SYSCRIPT_BACKEND.
 */
#ifndef LIB_TEST_H
#define LIB_TEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <syscript.h>
#include <unistd.h>

#define CHECK(condition) do {						\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		exit(1);						\
	}								\
} while (0)

#define CHECK_EQ(value, expected) do {					\
	long long value_ = (value), expected_ = (expected);		\
									\
	if (value_ != expected_) {					\
		fprintf(stderr, "%s:%d: %s is %lld, not %lld\n",	\
			__FILE__, __LINE__, #value, value_, expected_);	\
		exit(1);						\
	}								\
} while (0)

static inline void skip(const char *reason)
{
	puts(reason);
	exit(77);
}

/* Converts a plain call's result to -errno, as scripts and the library return it. */
static inline long or_error(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* Registers @source with @options (may be NULL); a failure ends the test. */
static inline int load_with(const char *source, struct syscript_options *options)
{
	char error[512];
	int fd;

	if (options)
		options->size = sizeof(*options);
	fd = syscript_register(source, strlen(source), options, error, sizeof(error));
	if (fd < 0) {
		fprintf(stderr, "register: %d: %s\nof: %s\n", fd, error, source);
		exit(1);
	}
	return fd;
}

/* Registers @source with a time limit large enough for a cold start under emulation. */
static inline int load(const char *source)
{
	struct syscript_options options;

	memset(&options, 0, sizeof(options));
	options.time_limit_ns = 10000000000;
	return load_with(source, &options);
}

/* Registers @source without an error message, for registrations that must fail. */
static inline int try_load(const char *source)
{
	return syscript_register(source, strlen(source), NULL, NULL, 0);
}

static inline int load_file(const char *path)
{
	struct syscript_options options;
	static char source[1 << 16];
	char error[512];
	FILE *file = fopen(path, "r");
	size_t len;
	int fd;

	CHECK(file);
	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.time_limit_ns = 10000000000;
	len = fread(source, 1, sizeof(source), file);
	fclose(file);
	fd = syscript_register(source, len, &options, error, sizeof(error));
	if (fd < 0)
		fprintf(stderr, "%s: %s\n", path, error);
	CHECK(fd >= 0);
	return fd;
}

/* Lowers the limit to @n more descriptors; returns the old limit to restore. */
static inline struct rlimit leave_descriptors(int n)
{
	struct rlimit before, few;
	int left = 0;

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	for (few.rlim_cur = 0;; few.rlim_cur++)
		if (fcntl(few.rlim_cur, F_GETFD) < 0 && left++ == n)
			break;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	return before;
}

/* A UDP socket on a free port; stores its address. */
static inline int udp_socket(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(fd, (struct sockaddr *)address, sizeof(*address)));
	CHECK(!getsockname(fd, (struct sockaddr *)address, &len));
	return fd;
}

/*
 * Waits until everything sent over the loopback device has arrived: normally it has when the call
 * returns, but not while ksoftirqd is busy. Each CPU has its own queue.
 */
static inline void settle(void)
{
	struct sockaddr_in name;
	int fd = udp_socket(&name);
	cpu_set_t all, one;
	char c = 0;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CHECK(!sched_setaffinity(0, sizeof(one), &one));
		CHECK_EQ(sendto(fd, &c, 1, 0, (struct sockaddr *)&name, sizeof(name)), 1);
		CHECK_EQ(recv(fd, &c, 1, 0), 1);
	}
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	close(fd);
}

#endif /* LIB_TEST_H */
