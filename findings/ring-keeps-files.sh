#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Files that a process registered with an io_uring, when the process has ended
#
# Versions:  Linux 6.1.0-57 and 7.2.13 of Debian, 6.18
# Guess:     who was reaped by wait() holds no file: its successor gets the lock of flock() and
#            the port to listen on, as with any descriptor.
# Behaviour: a ring is taken apart by work of the kernel that the end of the process only starts:
#            a file in its table of fixed files stays open meanwhile, with its lock and its port.
#            flock(LOCK_NB) fails with EAGAIN, bind() with EADDRINUSE.
# Seen:      without a registration: free, free; with it: EAGAIN, EADDRINUSE (for some 30 ms on
#            6.18)
# Here:      a server that is restarted with fixed files has to take its files out of the table
#            (IORING_UNREGISTER_FILES) before it ends, or to try again; what a script holds ends
#            with its process.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/keep.c" <<'C'
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_in address = { .sin_family = AF_INET };

static int locked(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	return flock(fd, LOCK_EX | LOCK_NB) ? -1 : fd;
}

static int listening(const char *unused)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)unused;
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1) ? -1 : fd;
}

/* What a process gets that comes when its predecessor, which registered the file, was reaped. */
static const char *successor(int (*take)(const char *), const char *path, int registered)
{
	int status, fd, ring;

	if (fork() == 0) {
		struct io_uring_params p = { 0 };

		fd = take(path);
		ring = syscall(SYS_io_uring_setup, 1, &p);
		if (fd < 0 || ring < 0)
			_exit(1);
		if (registered &&
		    syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1))
			_exit(2);
		_exit(0);
	}
	wait(&status);
	if (status) {
		fprintf(stderr, "the predecessor failed: %x\n", status);
		exit(2);
	}
	fd = take(path);
	if (fd < 0)
		return strerrorname_np(errno);
	close(fd);
	return "free";
}

int main(int argc, char **argv)
{
	socklen_t size = sizeof(address);
	int port = listening(NULL), n;

	if (getsockname(port, (struct sockaddr *)&address, &size) || argc < 2)
		return 2;
	close(port);
	for (n = 0; n < 2; n++) {
		fputs(successor(locked, argv[1], n), stdout);
		putchar(' ');
		puts(successor(listening, NULL, n));
		fflush(stdout);
	}
	return 0;
}
C
gcc -D_GNU_SOURCE -o "$tmp/keep" "$tmp/keep.c"
expect "flock and bind after the process of a descriptor, of a registered one" \
	$'free free\nEAGAIN EADDRINUSE' "$("$tmp/keep" "$tmp/lock")"
