// SPDX-License-Identifier: GPL-2.0
/* Writes events to a file, as struct kernevent, until it is interrupted. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernevents.h"

#define EVENTS	16384

static volatile sig_atomic_t ended;

static void end(int number)
{
	ended = number;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "evmon-log: %s: %s\n", what, strerror(-err));
	if (err == -ENOENT)
		fprintf(stderr, "evmon-log: load evmon.ko; mount -t tracefs tracefs /sys/kernel/tracing\n");
	return 1;
}

static int write_all(int fd, const void *data, size_t len)
{
	ssize_t n;

	for (; len; data = (const char *)data + n, len -= n) {
		n = write(fd, data, len);
		if (n < 0)
			return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct kernevent events[EVENTS];
	struct sigaction action = { .sa_handler = end };
	struct kernevents *ke;
	unsigned long long total = 0;
	ssize_t n = 0;
	int fd, err;

	if (argc != 2) {
		fprintf(stderr, "usage: evmon-log FILE\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(argv[1], -errno);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	err = kernevents_open(&ke, &(struct kernevents_options){
		.percent = 50, .buffer_kib = 4096,
	});
	if (err)
		return fail("kernevents_open()", err);
	while (!ended) {
		n = kernevents_read(ke, events, EVENTS, 1000);
		if (n == -EINTR)
			continue;
		err = n < 0 ? n : write_all(fd, events, n * sizeof(*events));
		if (err)
			return fail(argv[1], err);
		total += n;
	}
	/* Drain the events that are still in the rings. */
	while ((n = kernevents_read(ke, events, EVENTS, 0)) > 0 &&
	       !write_all(fd, events, n * sizeof(*events)))
		total += n;
	fprintf(stderr, "evmon-log: %llu events, %llu lost\n", total,
		(unsigned long long)kernevents_lost(ke));
	kernevents_close(ke);
	return close(fd) ? fail(argv[1], -errno) : 0;
}
