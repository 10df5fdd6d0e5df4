/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rings of io_uring, by the bare system calls. */
#ifndef RING_H
#define RING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"

struct ring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static inline void ring_submit(struct ring *ring, struct io_uring_sqe sqe)
{
	unsigned int *tail = (unsigned int *)(ring->sq + ring->p.sq_off.tail);
	unsigned int at = *tail & (ring->p.sq_entries - 1);

	ring->sqes[at] = sqe;
	((unsigned int *)(ring->sq + ring->p.sq_off.array))[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	CHECK_EQ(syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0), 1);
}

/* Completed requests have failed, or did nothing. */
static inline void ring_drain(struct ring *ring)
{
	unsigned int *head = (unsigned int *)(ring->cq + ring->p.cq_off.head);
	unsigned int *tail = (unsigned int *)(ring->cq + ring->p.cq_off.tail);
	struct io_uring_cqe *cqes = (struct io_uring_cqe *)(ring->cq + ring->p.cq_off.cqes);

	while (*head != __atomic_load_n(tail, __ATOMIC_ACQUIRE)) {
		CHECK(cqes[*head & (ring->p.cq_entries - 1)].res <= 0);
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
}

static inline bool ring_open(struct ring *ring)
{
	int prot = PROT_READ | PROT_WRITE;

	ring->fd = syscall(SYS_io_uring_setup, 4, &ring->p);
	if (ring->fd < 0)
		return false;
	ring->sq = mmap(NULL, 4096, prot, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->cq = mmap(NULL, 4096, prot, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
	ring->sqes = mmap(NULL, 4096, prot, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	CHECK(ring->sq != MAP_FAILED && ring->cq != MAP_FAILED);
	CHECK(ring->sqes != (void *)MAP_FAILED);
	return true;
}

static inline void ring_close(struct ring *ring)
{
	munmap(ring->sq, 4096);
	munmap(ring->cq, 4096);
	munmap(ring->sqes, 4096);
	close(ring->fd);
}

#endif /* RING_H */
