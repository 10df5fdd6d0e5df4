/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of files, each opened, read, written or queried with the results of the plain system
 * calls.
 *
 * Plain C, for engines.  files.c implements this for the module, core/user/files.c
 * for a process.
 */
#ifndef SYSCRIPT_FILES_H
#define SYSCRIPT_FILES_H

struct run;

enum files_op { FILES_STAT, FILES_READ, FILES_WRITE, FILES_OPEN };

/**
 * struct files_request - a batch of files
 * @op:    what to do with them
 * @dirfd: directory of relative paths, or AT_FDCWD
 * @addr:  user address of struct syscript_file[n]
 * @n:     number of files
 * @flags: for stat 0 or AT_SYMLINK_NOFOLLOW; otherwise O_*: read and write add O_CLOEXEC and
 *         O_RDONLY or O_WRONLY
 * @mode:  mode of files that are created
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
 * Returns the number of files done, each with its own result; less than @n if a signal is pending
 * or the rest of the array cannot be read. -errno if none was done.  Replaces a system call: see
 * run_as_syscall().
 */
long files_batch(struct run *run, const struct files_request *request);

/**
 * struct files_reading - a file to read, laid out as struct image_batch_file
 * @path:  user address of its name
 * @addr:  user address of the buffer
 * @size:  size of the buffer
 * @dirfd: directory of relative paths, or AT_FDCWD
 * @flags: O_*; O_CLOEXEC and O_RDONLY are added
 * @total: out, on success: the file's size, at most FILES_TOTAL_MAX; -1 if only reading to its
 *         end could tell
 */
struct files_reading {
	unsigned long path, addr, size;
	int dirfd, flags;
	long long total;
};

/* Every engine can represent it as an integer. */
#define FILES_TOTAL_MAX		((1LL << 51) - 1)

/*
 * Returns the bytes read, to the end of the file or of the buffer, or -errno; -EINTR only if a
 * signal came first.  Replaces a system call, too.
 */
long files_read(struct run *run, struct files_reading *reading);

/*
 * The total size of a file whose size by statx(2) is @size, and whose first @n bytes filled the
 * buffer.
 */
static inline long long files_total(long n, long long size)
{
	if (size < n)
		return -1;
	return size < FILES_TOTAL_MAX ? size : FILES_TOTAL_MAX;
}

#endif /* SYSCRIPT_FILES_H */
