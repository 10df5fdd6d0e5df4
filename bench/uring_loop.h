/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What uring_loop.c and the BPF program that it loads know of each other. */
#ifndef URING_LOOP_H
#define URING_LOOP_H

#include <linux/types.h>

#define LOOP_BATCH	16
#define LOOP_SQES	(2 * LOOP_BATCH)
#define LOOP_CQES	(2 * LOOP_SQES)
#define LOOP_PAGE	4096	/* at least the rings' size */
#define LOOP_FD		200	/* the ring's descriptor */

/* The indexes of a message's prepared requests. */
#define LOOP_RECEIVE(i)	(2 * (i))
#define LOOP_SEND(i)	(2 * (i) + 1)

/* Where the rings' parts are. */
struct uring_loop_layout {
	__u32 sq_tail, array, cq_head, cq_tail, cqes;
};

#endif
