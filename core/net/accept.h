/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Accepts the pending connections of a listening socket in a batch, each as accept4(2) does, with
 * its descriptor written before the next is accepted.
 *
 * Plain C, for engines.  accept.c implements this for the module, core/user/accept.c for
 * a process.
 */
#ifndef SYSCRIPT_ACCEPT_H
#define SYSCRIPT_ACCEPT_H

#define ACCEPT_MAX	0x7fffffffU

struct run;

/**
 * struct accept_request - connections to accept
 * @fd:    a listening socket
 * @n:     the most to accept, up to ACCEPT_MAX
 * @flags: of accept4(2)
 * @addr:  user address of int[n]
 */
struct accept_request {
	int fd;
	unsigned int n, flags;
	unsigned long addr;
};

/*
 * Does not wait, whatever the socket's O_NONBLOCK.  Returns the number accepted; or, if that is
 * 0, -EAGAIN or the first accept's -errno.  If a further accept was tried, the element after the
 * last descriptor is -1. Replaces a system call: see run_as_syscall().
 */
long accept_batch(struct run *run, const struct accept_request *request);

#endif /* SYSCRIPT_ACCEPT_H */
