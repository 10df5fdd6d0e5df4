// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * For another processor, for which this machine has no liburing: what bench/frames links of it. The
 * servers by io_uring end the program; all others are the same.
 */
#include <errno.h>
#include <liburing.h>

int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *params)
{
	(void)entries;
	(void)ring;
	(void)params;
	return -ENOSYS;
}

int io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg,
			       unsigned int flags)
{
	(void)ring;
	(void)reg;
	(void)flags;
	return -ENOSYS;
}

int io_uring_submit(struct io_uring *ring)
{
	(void)ring;
	return -ENOSYS;
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr)
{
	(void)ring;
	(void)wait_nr;
	return -ENOSYS;
}
