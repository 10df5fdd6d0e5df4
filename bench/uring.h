/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* open, read and close of many files by io_uring: linked requests, direct descriptors. */
#ifndef URING_H
#define URING_H

#include <stdbool.h>
#include <stddef.h>

struct uring_read {
	const char *path;
	void *buf;
	size_t size;
	long result;
};

/* False if io_uring or its direct descriptors are unavailable. */
bool uring_init(unsigned int files);

/* At most as many files as passed to uring_init(); one system call. */
void uring_read_files(int dirfd, struct uring_read *reads, unsigned int n);

#endif
