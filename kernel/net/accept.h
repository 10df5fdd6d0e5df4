/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The connections that wait at a listening socket, in a batch: each accepted as
 * accept4(2) accepts it, and its descriptor written before the next is accepted.
 *
 * Plain C, for engines.  accept.c implements this for the module, lib/user/accept.c for
 * a process.
 */
#ifndef SYSCRIPT_ACCEPT_H
#define SYSCRIPT_ACCEPT_H

#define ACCEPT_MAX	0x7fffffffU

struct run;

/**
 * struct accept_request - connections to accept
 * @fd:    a listening socket
 * @n:     how many at most, up to ACCEPT_MAX
 * @flags: of accept4(2)
 * @addr:  user address of int[n]
 */
struct accept_request {
	int fd;
	unsigned int n, flags;
	unsigned long addr;
};

/*
 * Does not wait, whatever the socket's O_NONBLOCK.  Returns how many were accepted; or,
 * if there was not even one, -EAGAIN or the -errno that the first one met.  The element
 * after the last one is -1 if it was tried.  Stands for a system call: see
 * run_as_syscall().
 */
long accept_batch(struct run *run, const struct accept_request *request);

#endif /* SYSCRIPT_ACCEPT_H */
