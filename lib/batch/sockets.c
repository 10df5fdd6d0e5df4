// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements syscript_sockets.h: passes its arguments to the library's scripts for sockets,
 * within the limits of the scripts' integers and batches.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/mmsg.h"
#include "builtin.h"
#include "syscript.h"
#include "syscript_sockets.h"

/* Limit of epoll_wait(2), far above the size of a descriptor table. */
#define MOST_EVENTS	(INT32_MAX / sizeof(struct epoll_event))
/* Limit of recvmmsg(2) and sendmmsg(2). */
#define MOST_MESSAGES	1024
/*
 * Echoes in a call: few enough to stay far below the time limit, so that signal handlers run in
 * between.
 */
#define MOST_ECHOES	4096

/*
 * Scripts' integers end at 2^53.  An address beyond is invalid, like any address of the kernel,
 * and the system call that uses it fails.
 */
static int64_t address(const void *pointer)
{
	intptr_t value = (intptr_t)pointer;

	return value >> 52 == 0 || value >> 52 == -1 ? value : -4096;
}

/* -- Connections ------------------------------------------------------------ */

static bool accept_args_ok(unsigned int max, int flags)
{
	return max <= MOST_EVENTS && !(flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int syscript_accept_batch(int sock, int *fds, unsigned int max, int flags, int wait_ms)
{
	int64_t n[1] = { 0 };

	if (!accept_args_ok(max, flags))
		return -EINVAL;
	return builtin_run(BUILTIN_accept_batch, n, sock, address(fds), max, flags, wait_ms);
}

int syscript_wait_accept(int epoll, int *fds, int *listeners, unsigned int max, int flags,
			 int wait_ms)
{
	int64_t n[1] = { 0 };

	if (!accept_args_ok(max, flags))
		return -EINVAL;
	return builtin_run(BUILTIN_wait_accept, n, epoll, address(fds), address(listeners), max,
			   flags, wait_ms);
}

int syscript_wait_recv(int epoll, struct epoll_event *events, unsigned int max,
		       void *bufs, size_t size, int *lens, int wait_ms)
{
	int64_t n[1] = { 0 };

	if (max > MOST_EVENTS || size > INT32_MAX)
		return -EINVAL;
	return builtin_run(BUILTIN_wait_recv, n, epoll, address(events), max, address(bufs),
			   size, address(lens), wait_ms);
}

/* -- Messages --------------------------------------------------------------- */

static unsigned int at_most(unsigned int n, unsigned int most)
{
	return n < most ? n : most;
}

int syscript_recv_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags, int wait_ms)
{
	int64_t got[1] = { 0 };

	return builtin_run(BUILTIN_recv_mmsg, got, sock, address(msgs),
			   at_most(n, MOST_MESSAGES), flags, wait_ms);
}

int syscript_send_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags)
{
	int64_t sent[1] = { 0 };

	return builtin_run(BUILTIN_send_mmsg, sent, sock, address(msgs),
			   at_most(n, MOST_MESSAGES), flags);
}

int syscript_echo(int sock, unsigned int max, int ms)
{
	int64_t answered[1] = { 0 };

	return builtin_run(BUILTIN_echo, answered, sock, at_most(max, MOST_ECHOES), ms);
}

/* -- Rounds of a server ----------------------------------------------------- */

/* A separate registration, because the script keeps the messages that it has imported from @in. */
struct syscript_exchange {
	int script, sock;
	struct mmsghdr *in;
	unsigned int max;
};

static int call(struct syscript_exchange *exchange, int sock, struct mmsghdr *out,
		unsigned int n, int wait_ms, int64_t results[2])
{
	const int64_t args[] = {
		sock, address(exchange->in), exchange->max, address(out), n, wait_ms,
	};

	return builtin_first(syscript_call(exchange->script, 6, args, 2, results), results);
}

/* The reason why @in was not imported: its messages are not readable, or malformed. */
static int import_error(const struct syscript_exchange *exchange)
{
	char text[256] = "";

	syscript_error(exchange->script, text, sizeof(text));
	return strstr(text, MMSG_MALFORMED) ? -EINVAL : -EFAULT;
}

/* Called without a socket, the script imports @in and receives nothing. */
static int import(struct syscript_exchange *exchange)
{
	int64_t results[2] = { 0 };
	int ret = call(exchange, -1, NULL, 0, 0, results);

	if (ret == -EPROTO)
		return import_error(exchange);
	return ret == -EBADF ? 0 : ret;
}

int syscript_exchange_open(struct syscript_exchange **exchange, int sock, struct mmsghdr *in,
			   unsigned int max)
{
	struct syscript_exchange *new;
	int err;

	if (!max || max > MMSG_MAX)
		return -EINVAL;
	new = malloc(sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = (struct syscript_exchange){ builtin_register(BUILTIN_exchange), sock, in, max };
	err = new->script < 0 ? new->script : import(new);
	if (err) {
		syscript_exchange_close(new);
		return err;
	}
	*exchange = new;
	return 0;
}

int syscript_exchange(struct syscript_exchange *exchange, struct mmsghdr *out, unsigned int n,
		      int wait_ms, int *sent)
{
	int64_t results[2] = { 0 };
	int ret;

	if (n > MMSG_MAX)
		return -EINVAL;
	ret = call(exchange, exchange->sock, out, n, wait_ms, results);
	if (sent)
		*sent = results[1];
	return ret;
}

void syscript_exchange_close(struct syscript_exchange *exchange)
{
	if (!exchange)
		return;
	if (exchange->script >= 0)
		syscript_close(exchange->script);
	free(exchange);
}
