// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Implements uring.h by raw system calls: two rings and an array. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "uring.h"

#define LINK	3			/* linked requests per file */

static struct {
	int fd;
	struct io_uring_params params;
	char *rings;
	struct io_uring_sqe *sqes;
} ring = { .fd = -1 };

#define SQ(field)	((unsigned int *)(ring.rings + ring.params.sq_off.field))
#define CQ(field)	((unsigned int *)(ring.rings + ring.params.cq_off.field))

static size_t rings_size(void)
{
	size_t sq = ring.params.sq_off.array + ring.params.sq_entries * sizeof(unsigned int);
	size_t cq = ring.params.cq_off.cqes +
		    ring.params.cq_entries * sizeof(struct io_uring_cqe);

	return sq > cq ? sq : cq;
}

static bool map_rings(void)
{
	size_t sqes = ring.params.sq_entries * sizeof(struct io_uring_sqe);

	ring.rings = mmap(NULL, rings_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			  ring.fd, IORING_OFF_SQ_RING);
	ring.sqes = mmap(NULL, sqes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 ring.fd, IORING_OFF_SQES);
	return ring.rings != MAP_FAILED && ring.sqes != MAP_FAILED &&
	       ring.params.features & IORING_FEAT_SINGLE_MMAP;
}

static bool register_slots(unsigned int files)
{
	int *slots = malloc(files * sizeof(*slots));
	long ret;

	memset(slots, -1, files * sizeof(*slots));
	ret = syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, slots, files);
	free(slots);
	return !ret;
}

bool uring_init(unsigned int files)
{
	ring.fd = syscall(SYS_io_uring_setup, LINK * files, &ring.params);
	return ring.fd >= 0 && map_rings() && register_slots(files);
}

static struct io_uring_sqe *request(unsigned int index, unsigned int op, unsigned int file,
				    unsigned int flags)
{
	struct io_uring_sqe *sqe = &ring.sqes[index];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->flags = flags;
	sqe->user_data = (unsigned long)op << 32 | file;
	return sqe;
}

/* Opens into slot @i, reads from it, closes it. */
static void prepare(int dirfd, const struct uring_read *read, unsigned int i)
{
	struct io_uring_sqe *sqe = request(LINK * i, IORING_OP_OPENAT, i, IOSQE_IO_LINK);

	sqe->fd = dirfd;
	sqe->addr = (unsigned long)read->path;
	sqe->open_flags = O_RDONLY;
	sqe->file_index = i + 1;
	sqe = request(LINK * i + 1, IORING_OP_READ, i, IOSQE_IO_HARDLINK | IOSQE_FIXED_FILE);
	sqe->fd = i;
	sqe->addr = (unsigned long)read->buf;
	sqe->len = read->size;
	sqe = request(LINK * i + 2, IORING_OP_CLOSE, i, 0);
	sqe->file_index = i + 1;
}

static void reap(struct uring_read *reads, unsigned int n)
{
	unsigned int head = *CQ(head), mask = *CQ(ring_mask);
	const struct io_uring_cqe *cqes = (const void *)(ring.rings + ring.params.cq_off.cqes);

	for (unsigned int i = 0; i < n; i++, head++) {
		const struct io_uring_cqe *cqe = &cqes[head & mask];

		if (cqe->user_data >> 32 == IORING_OP_READ)
			reads[(unsigned int)cqe->user_data].result = cqe->res;
	}
	__atomic_store_n(CQ(head), head, __ATOMIC_RELEASE);
}

void uring_read_files(int dirfd, struct uring_read *reads, unsigned int n)
{
	unsigned int tail = *SQ(tail), mask = *SQ(ring_mask);
	long done;

	for (unsigned int i = 0; i < n; i++)
		prepare(dirfd, &reads[i], i);
	for (unsigned int i = 0; i < LINK * n; i++, tail++)
		SQ(array)[tail & mask] = i;
	__atomic_store_n(SQ(tail), tail, __ATOMIC_RELEASE);
	done = syscall(SYS_io_uring_enter, ring.fd, LINK * n, LINK * n, IORING_ENTER_GETEVENTS,
		       NULL, 0);
	if (done != (long)(LINK * n))
		measure_die("io_uring took %ld requests of %u: %m", done, LINK * n);
	reap(reads, LINK * n);
}
