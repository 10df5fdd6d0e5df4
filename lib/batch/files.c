// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See syscript_files.h: from its terms to those of the scripts, and back. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "builtin.h"
#include "syscript_files.h"

/* Sizes are integers up to 2^53 there: more than any memory has. */
static int64_t clamp(size_t size)
{
	return size < 1UL << 52 ? size : 1UL << 52;
}

ssize_t syscript_readdirplus(int dirfd, void *buf, size_t size, unsigned int mask,
			     unsigned int flags, int *end)
{
	int64_t results[3] = { 0 }, n;

	if (flags & ~SYSCRIPT_DOTS)
		return -EINVAL;
	n = builtin_run(BUILTIN_readdirplus, results, dirfd, (intptr_t)buf, clamp(size), mask,
			flags, 0);
	if (end)
		*end = n >= 0 && results[2];
	return n < 0 ? n : results[1];
}

ssize_t syscript_opendirplus(int dirfd, const char *path, void *buf, size_t size,
			     unsigned int mask, unsigned int flags, int *fd)
{
	int64_t results[4] = { 0 }, n;

	*fd = -1;
	if (flags & ~SYSCRIPT_DOTS)
		return -EINVAL;
	if (!path)
		return -EFAULT;
	n = builtin_run(BUILTIN_readdirplus, results, dirfd, (intptr_t)buf, clamp(size), mask,
			flags, (intptr_t)path);
	if (n < 0)
		return n;
	*fd = results[3];
	return results[1];
}

/* -- Many files ------------------------------------------------------------ */

struct batch {
	enum builtin which;
	int dirfd;
	int64_t options[4];
};

/* A run ends early when a signal wants its handler to run. */
static int do_many(const struct batch *batch, struct syscript_file *files, size_t n)
{
	const size_t most = 1 << 20;
	int64_t results[1] = { 0 }, done;

	while (n) {
		done = builtin_run(batch->which, results, batch->dirfd, (intptr_t)files,
				   n < most ? n : most, batch->options[0], batch->options[1],
				   batch->options[2]);
		if (done <= 0)
			return done < 0 ? done : -EIO;
		files += done;
		n -= done;
	}
	return 0;
}

int syscript_stat_many(int dirfd, struct syscript_file *files, size_t n,
		       unsigned int mask, int flags)
{
	const struct batch batch = { BUILTIN_stat_many, dirfd, { mask, flags } };

	if (flags & ~AT_SYMLINK_NOFOLLOW)
		return -EINVAL;
	return do_many(&batch, files, n);
}

int syscript_read_many(int dirfd, struct syscript_file *files, size_t n, int flags)
{
	const struct batch batch = { BUILTIN_read_many, dirfd, { flags } };

	return do_many(&batch, files, n);
}

int syscript_write_many(int dirfd, struct syscript_file *files, size_t n, int flags,
			mode_t mode)
{
	bool atomic = flags & SYSCRIPT_ATOMIC;
	const struct batch batch = {
		BUILTIN_open_write_close, dirfd, { flags & ~SYSCRIPT_ATOMIC, mode, atomic },
	};

	return do_many(&batch, files, n);
}

int syscript_open_many(int dirfd, struct syscript_file *files, size_t n, int flags,
		       mode_t mode, unsigned int mask)
{
	const struct batch batch = { BUILTIN_open_fstat, dirfd, { flags, mode, mask } };

	return do_many(&batch, files, n);
}

/* -- One file -------------------------------------------------------------- */

ssize_t syscript_open_read_close(int dirfd, const char *path, void *buf, size_t size,
				 int64_t *total)
{
	int64_t results[2] = { 0 }, n;

	n = builtin_run(BUILTIN_open_read_close, results, dirfd, (intptr_t)path,
			(intptr_t)buf, clamp(size));
	if (total && n >= 0)
		*total = results[1];
	return n;
}

ssize_t syscript_open_write_close(int dirfd, const char *path, const void *buf,
				  size_t size, int flags, mode_t mode)
{
	struct syscript_file file = { (intptr_t)path, (intptr_t)buf, size, 0 };
	int err = syscript_write_many(dirfd, &file, 1, flags, mode);

	return err ? err : file.result;
}

int syscript_open_fstat(int dirfd, const char *path, int flags, mode_t mode,
			unsigned int mask, struct syscript_stat *stat)
{
	struct syscript_file file = { (intptr_t)path, (intptr_t)stat, 0, 0 };
	int err = syscript_open_many(dirfd, &file, 1, flags, mode, mask);

	return err ? err : (int)file.result;
}

int64_t syscript_copy_file(int from_dirfd, const char *from, int to_dirfd,
			   const char *to, int flags, mode_t mode)
{
	int64_t results[2] = { 0 };

	if (flags & ~O_EXCL)
		return -EINVAL;
	return builtin_run(BUILTIN_copy_file, results, from_dirfd, (intptr_t)from, to_dirfd,
			   (intptr_t)to, flags, mode);
}

int64_t syscript_send_file(int out, const struct syscript_sending *what, int64_t *size)
{
	int64_t results[2] = { 0 }, n;

	if (what->flags & ~SYSCRIPT_LENGTH || what->offset < 0 || what->count < 0)
		return -EINVAL;
	n = builtin_run(BUILTIN_send_file, results, out, what->dirfd, (intptr_t)what->path,
			what->offset, what->count, (intptr_t)what->head,
			clamp(what->head_size), what->flags);
	if (size && n >= 0)
		*size = results[1];
	return n;
}
