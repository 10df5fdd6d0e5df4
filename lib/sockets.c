// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See syscript_sockets.h. */
#include <errno.h>
#include <sys/socket.h>

#include "builtin.h"
#include "syscript_sockets.h"

/* What epoll_wait(2) takes; far beyond what a table of descriptors holds. */
#define MOST	(INT32_MAX / sizeof(struct epoll_event))

int syscript_accept_batch(int sock, int *fds, unsigned int max, int flags, int wait_ms)
{
	const int64_t args[] = { sock, (intptr_t)fds, max, flags, wait_ms };
	int64_t n = 0;
	int ret;

	if (max > MOST || flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	ret = builtin_call(BUILTIN_accept_batch, 5, args, 1, &n);
	return ret < 0 ? ret : n;
}

int syscript_wait_recv(int epoll, struct epoll_event *events, unsigned int max,
		       void *bufs, size_t size, int *lens, int wait_ms)
{
	const int64_t args[] = {
		epoll, (intptr_t)events, max, (intptr_t)bufs, size, (intptr_t)lens, wait_ms,
	};
	int64_t n = 0;
	int ret;

	if (max > MOST || size > INT32_MAX)
		return -EINVAL;
	ret = builtin_call(BUILTIN_wait_recv, 7, args, 1, &n);
	return ret < 0 ? ret : n;
}
