/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of files, each opened, read, written or looked at as the plain system
 * calls would.
 *
 * Plain C, for engines.  files.c implements this for the module, lib/user/files.c
 * for a process.
 */
#ifndef SYSCRIPT_FILES_H
#define SYSCRIPT_FILES_H

struct run;

enum files_op { FILES_STAT, FILES_READ, FILES_WRITE, FILES_OPEN };

/**
 * struct files_request - a batch of files
 * @op:    what to do with them
 * @dirfd: where relative paths begin, or AT_FDCWD
 * @addr:  user address of struct syscript_file[n]
 * @n:     how many
 * @flags: stat: 0 or AT_SYMLINK_NOFOLLOW; open, and read and write, which add
 *         O_CLOEXEC and O_RDONLY or O_WRONLY: O_*
 * @mode:  of files that are created
 * @mask:  stat, open: STATX_*
 */
struct files_request {
	enum files_op op;
	int dirfd;
	unsigned long addr;
	unsigned int n;
	int flags;
	unsigned int mode, mask;
};

/*
 * Returns how many were done, each with its own result; fewer than @n if a signal is
 * pending or the rest of the array cannot be read.  -errno if there was not even one.
 * Stands for a system call: see run_as_syscall().
 */
long files_batch(struct run *run, const struct files_request *request);

#endif /* SYSCRIPT_FILES_H */
