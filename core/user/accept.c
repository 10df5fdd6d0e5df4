// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/net/accept.h in a process: one accept4(2) after another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>

#include "net/accept.h"
#include "syscalls_nr.h"
#include "sys.h"
#include "user.h"
#include "usermem.h"

#define accept_syscall(run, nr, ...) \
	run_plain_syscall(run, nr, (const long [6]){ __VA_ARGS__ })

/* Would accept4(2) return at once? */
static bool is_ready(struct run *run, int fd)
{
	long status = accept_syscall(run, SYS_fcntl, fd, F_GETFL);
	struct pollfd listener = { .fd = fd, .events = POLLIN };

	if (status < 0 || status & O_NONBLOCK)
		return true;
	return accept_syscall(run, __NR_poll, (long)&listener, 1, 0) != 0;
}

static long accept_next(struct run *run, const struct accept_request *request,
			unsigned long to)
{
	unsigned long long fd = -1ULL;
	long ret;

	/* Tested first, so that a connection is accepted only if its descriptor can be written. */
	if (usermem_store(run, to, &fd, sizeof(int)))
		return -EFAULT;
	if (!is_ready(run, request->fd))
		return -EAGAIN;
	ret = accept_syscall(run, SYS_accept4, request->fd, 0, 0, request->flags);
	if (ret < 0)
		return ret;
	fd = (unsigned long long)ret;
	if (usermem_store(run, to, &fd, sizeof(int))) {
		accept_syscall(run, SYS_close, ret);
		return -EFAULT;
	}
	return ret;
}

long accept_batch(struct run *run, const struct accept_request *request)
{
	unsigned int i = 0;
	long ret = 0;

	if (request->n > ACCEPT_MAX)
		return -EINVAL;
	while (i < request->n && !run->stop_reason) {
		ret = accept_next(run, request, request->addr + i * sizeof(int));
		if (ret >= 0)
			i++;
		else if (ret != -ECONNABORTED)
			break;
	}
	return i ? (long)i : ret;
}
