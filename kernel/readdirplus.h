/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The entries of a directory with the attributes of their files, as getdents64(2)
 * and, for each, statx(2) would give them to the current task.
 */
#ifndef SYSCRIPT_READDIRPLUS_H
#define SYSCRIPT_READDIRPLUS_H

#include <linux/types.h>

/* What struct vm_dir says of these. */
struct readdirplus {
	int fd;
	u32 mask, flags;
	char *records;			/* kernel memory, aligned */
	size_t room;
	unsigned int max;
	size_t used;
	unsigned int n;
	bool end;
	loff_t start;
};

/* Sleeps.  0 or -errno. */
int readdirplus(struct readdirplus *request);

#endif /* SYSCRIPT_READDIRPLUS_H */
