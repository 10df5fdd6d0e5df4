/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Batches of files, each opened, read, written or looked at as the plain system
 * calls would.
 */
#ifndef SYSCRIPT_FILES_H
#define SYSCRIPT_FILES_H

#include <linux/types.h>

enum files_op { FILES_STAT, FILES_READ, FILES_WRITE, FILES_OPEN };

#define FILES_SCRATCH	(2 * PATH_MAX)

/* What struct vm_files says of these. */
struct files_request {
	enum files_op op;
	int dirfd;
	unsigned long addr;		/* struct syscript_file[n] */
	unsigned int n;
	int flags;
	umode_t mode;
	u32 mask;
	char *scratch;			/* FILES_SCRATCH bytes */
};

/* Sleeps.  How many were done, or -errno if it is not even one. */
long files_do(const struct files_request *request);

#endif /* SYSCRIPT_FILES_H */
