// SPDX-License-Identifier: GPL-2.0
/*
 * Implements accept.h for the module: looks the listener up once, and accepts with the functions
 * of accept4(2) while connections wait.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "net/accept.h"
#include "kernel/run_priv.h"
#include "kernel/syscalls.h"

/**
 * struct batch - connections to accept
 * @call:     accept4(2)'s arguments
 * @listener: NULL if accept4(2) would fail, and has to report why
 */
struct batch {
	struct run *run;
	const struct accept_request *request;
	struct pt_regs call;
	struct file *listener;
};

/* Would accept4(2) return at once? */
static bool is_ready(struct file *listener)
{
	if (!listener || listener->f_flags & O_NONBLOCK)
		return true;
	return vfs_poll(listener, NULL) & (EPOLLIN | EPOLLERR | EPOLLHUP);
}

static __always_inline long accept_next(const struct batch *batch, int __user *to)
{
	long fd;

	/* Checks that the result can be stored before a connection is accepted. */
	if (put_user(-1, to))
		return -EFAULT;
	if (!is_ready(batch->listener))
		return -EAGAIN;
	fd = syscalls_again(batch->run, accept4, &batch->call);
	if (fd >= 0 && unlikely(put_user((int)fd, to))) {
		close_fd(fd);
		return -EFAULT;
	}
	return fd;
}

static bool is_over(struct run *run)
{
	if (likely(run_no_pending_work(run_priv(run), 0)))
		return false;
	return run_is_over(run, true) || signal_pending(current);
}

static long accept_all(const struct batch *batch)
{
	int __user *to = (int __user *)batch->request->addr;
	unsigned int i = 0;
	long fd = 0;

	while (i < batch->request->n) {
		fd = accept_next(batch, to + i);
		if (fd >= 0)
			i++;
		else if (fd != -ECONNABORTED)
			break;
		if (is_over(batch->run))
			break;
	}
	return i ? (long)i : fd;
}

static long accept_as_syscall(void *arg)
{
	struct batch *batch = arg;
	long ret;

	batch->listener = fget(batch->request->fd);
	ret = accept_all(batch);
	if (batch->listener)
		fput(batch->listener);
	return ret;
}

long accept_batch(struct run *run, const struct accept_request *request)
{
	struct batch batch = {
		.run = run, .request = request,
		.call = REGS_ARGS(request->fd, 0, 0, request->flags, 0, 0),
	};

	if (request->n > ACCEPT_MAX)
		return -EINVAL;
	return run_as_syscall(run, accept_as_syscall, &batch, true);
}
