/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* open, read and close of many files by io_uring: linked, direct descriptors. */
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

/* False where there is no io_uring for us, or none with direct descriptors. */
bool uring_init(unsigned int files);

/* At most as many as were told to uring_init(); one system call. */
void uring_read_files(int dirfd, struct uring_read *reads, unsigned int n);

#endif
