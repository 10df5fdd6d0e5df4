#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Waiting calls of a thread when a request completes that it gave to an io_uring
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     the completion is found in the ring later: EINTR needs a signal. The flag
#            IORING_SETUP_COOP_TASKRUN, against interruptions, makes sure.
# Behaviour: the kernel completes the request as work of the thread, which it wakes for that as
#            for a signal: calls that are never restarted after a signal, as epoll_wait(),
#            semtimedop() and sigtimedwait(), fail with EINTR. COOP_TASKRUN changes nothing in a
#            wait; only with IORING_SETUP_DEFER_TASKRUN the completion waits for io_uring_enter().
# Seen:      without flags, with COOP_TASKRUN: three times EINTR; poll, nanosleep wait on; with
#            DEFER_TASKRUN all do
# Here:      any waiting call of a script ends so: a row of docs/surprises.md
#            (tests/sandboxes/test_sandboxes.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/wait.c" <<'C'
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct timespec span = { 1, 0 };

/* A thread's ring, with a request to read a byte of @pipe. */
static void read_by_ring(unsigned int flags, int pipe)
{
	static char byte;
	struct io_uring_params p = { .flags = flags };
	int ring = syscall(SYS_io_uring_setup, 1, &p);
	char *queue = mmap(NULL, p.sq_off.array + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED,
			   ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *request = mmap(NULL, sizeof(*request), PROT_READ | PROT_WRITE,
					    MAP_SHARED, ring, IORING_OFF_SQES);

	if (ring < 0 || queue == MAP_FAILED || request == MAP_FAILED)
		exit(2);
	*request = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = pipe,
					  .addr = (unsigned long)&byte, .len = 1 };
	*(unsigned int *)(queue + p.sq_off.array) = 0;
	(*(unsigned int *)(queue + p.sq_off.tail))++;
	if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
		exit(2);
}

static int wait_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, 1000);
}

static int wait_semaphore(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600), result, error;
	struct sembuf lower = { .sem_op = -1 };

	result = semtimedop(id, &lower, 1, &span);
	error = errno;
	semctl(id, 0, IPC_RMID);
	errno = error;
	return result;
}

static int wait_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &span);
}

static int wait_poll(void)
{
	return poll(NULL, 0, 1000);
}

static int wait_sleep(void)
{
	return nanosleep(&span, NULL);
}

int main(void)
{
	static const unsigned int flags[] = {
		0, IORING_SETUP_COOP_TASKRUN, 1 << 12 | 1 << 13 /* SINGLE_ISSUER, DEFER_TASKRUN */
	};
	static int (*const calls[])(void) = { wait_epoll, wait_semaphore, wait_signal, wait_poll,
					      wait_sleep };
	int f, n, ends[2];

	for (f = 0; f < 3; f++)
		for (n = 0; n < 5; n++) {
			if (fork() == 0) {
				if (pipe(ends))
					exit(2);
				read_by_ring(flags[f], ends[0]);
				if (fork() == 0) {
					usleep(300000);
					exit(write(ends[1], "x", 1) != 1);
				}
				/* EAGAIN: the time is over */
				fputs(calls[n]() < 0 && errno == EINTR ? "EINTR " : "- ", stdout);
				exit(fflush(stdout));
			}
			wait(NULL);
		}
	return 0;
}
C
gcc -D_GNU_SOURCE -o "$tmp/wait" "$tmp/wait.c"
interrupted="EINTR EINTR EINTR - - "
expect "without flags, with COOP_TASKRUN, DEFER_TASKRUN: epoll_wait, semtimedop, sigtimedwait, poll, nanosleep" \
	"$interrupted$interrupted- - - - - " "$("$tmp/wait")"
