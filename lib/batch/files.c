// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements syscript_files.h: translates its requests to the kernel's batches (direct.h), or to
 * scripts if a batch cannot be made directly or more than one call is needed; and translates the
 * results back.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "builtin.h"
#include "direct.h"
#include "user/sys.h"
#include "syscript_files.h"

/* Lua's integers end at 2^53, beyond the size of any memory. */
static int64_t clamp(size_t size)
{
	return size < 1UL << 52 ? size : 1UL << 52;
}

/* -- Directories ----------------------------------------------------------- */

/* Fills in the attributes of "." and "..", which the batch of entries leaves empty. */
static bool stat_dots(const struct image_batch_entries *dir)
{
	char *p = (char *)dir->to, *end = p + dir->used;
	struct syscript_dirent *entry;
	int64_t ret;

	for (; p < end; p += entry->reclen) {
		struct syscript_file file;
		struct image_batch_files files = {
			.files = (intptr_t)&file, .n = 1, .dirfd = dir->fd,
			.flags = AT_SYMLINK_NOFOLLOW, .mask = dir->mask,
		};

		entry = (struct syscript_dirent *)p;
		if (strcmp(entry->name, ".") && strcmp(entry->name, ".."))
			continue;
		file = (struct syscript_file){
			.path = (intptr_t)entry->name, .data = (intptr_t)&entry->stat,
		};
		if (!direct_batch(BUILTIN_readdirplus, IMAGE_BATCH_STAT, &files, sizeof(files),
				  &ret))
			return false;
		entry->error = ret < 0 ? ret : file.result;
	}
	return true;
}

static bool go_back(const struct image_batch_entries *dir)
{
	return sys_call(lseek, dir->fd, dir->start, SEEK_SET) >= 0;
}

/* Reads the next entries: sets @ret to 0 or -errno. Returns false if none were read. */
static bool read_entries(struct image_batch_entries *dir, int64_t *ret)
{
	if (!direct_batch(BUILTIN_readdirplus, IMAGE_BATCH_ENTRIES, dir, sizeof(*dir), ret))
		return false;
	if (*ret || !dir->flags || !dir->mask || stat_dots(dir))
		return true;
	return !go_back(dir);
}

/*
 * Implements syscript_readdirplus(), in batches as large as the kernel's buffer.  Entries before
 * an error are valid; the next call gets the error again.
 */
static bool readdirplus_direct(struct image_batch_entries *dir, size_t size, int64_t *result)
{
	const unsigned long buf = dir->to;
	int64_t ret;

	do {
		dir->to = buf + *result;
		dir->room = size - *result;
		dir->n = dir->end = 0;
		if (!read_entries(dir, &ret))
			return *result;
		if (ret < 0)
			break;
		*result += dir->used;
	} while (!dir->end && dir->n);
	/* Entries that cannot be read again would be lost, so the error is reported. */
	if (ret == -EFAULT && dir->n) {
		dir->end = 0;
		if (!go_back(dir))
			*result = 0;
	}
	if (!*result)
		*result = ret;
	return true;
}

ssize_t syscript_readdirplus(int dirfd, void *buf, size_t size, unsigned int mask,
			     unsigned int flags, int *end)
{
	struct image_batch_entries dir = {
		.fd = dirfd, .mask = mask, .flags = flags, .max = UINT_MAX, .to = (intptr_t)buf,
	};
	int64_t results[3] = { 0 }, n;

	if (flags & ~SYSCRIPT_DOTS)
		return -EINVAL;
	if (readdirplus_direct(&dir, clamp(size), &results[1])) {
		n = results[1];
		results[2] = dir.end;
	} else {
		n = builtin_run(BUILTIN_readdirplus, results, dirfd, (intptr_t)buf, clamp(size),
				mask, flags, 0);
	}
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
	enum image_batch op;	/* 0: may need more than one batch */
	int dirfd, flags;
	unsigned int mode, mask;
	int64_t options[3];	/* arguments of the script */
};

/* Returns the number of files done, or -errno. */
static int64_t do_some(const struct batch *batch, struct syscript_file *files, unsigned int n)
{
	struct image_batch_files request = {
		.files = (intptr_t)files, .n = n, .dirfd = batch->dirfd, .flags = batch->flags,
		.mode = batch->mode, .mask = batch->mask,
	};
	int64_t results[1] = { 0 };

	if (batch->op && direct_batch(batch->which, batch->op, &request, sizeof(request), results))
		return *results;
	return builtin_run(batch->which, results, batch->dirfd, (intptr_t)files, n,
			   batch->options[0], batch->options[1], batch->options[2]);
}

/* A run ends early when a signal's handler has to run. */
static int do_many(const struct batch *batch, struct syscript_file *files, size_t n)
{
	const size_t most = 1 << 20;
	int64_t done;

	while (n) {
		done = do_some(batch, files, n < most ? n : most);
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
	const struct batch batch = {
		BUILTIN_stat_many, IMAGE_BATCH_STAT, dirfd, flags, 0, mask, { mask, flags },
	};

	if (flags & ~AT_SYMLINK_NOFOLLOW)
		return -EINVAL;
	return do_many(&batch, files, n);
}

int syscript_read_many(int dirfd, struct syscript_file *files, size_t n, int flags)
{
	const struct batch batch = {
		BUILTIN_read_many, IMAGE_BATCH_READ, dirfd, flags, 0, 0, { flags },
	};

	return do_many(&batch, files, n);
}

int syscript_write_many(int dirfd, struct syscript_file *files, size_t n, int flags,
			mode_t mode)
{
	const bool atomic = flags & SYSCRIPT_ATOMIC;
	const int open_flags = flags & ~SYSCRIPT_ATOMIC;
	const struct batch batch = {
		BUILTIN_open_write_close, atomic ? 0 : IMAGE_BATCH_WRITE, dirfd, open_flags, mode,
		0, { open_flags, mode, atomic },
	};

	return do_many(&batch, files, n);
}

int syscript_open_many(int dirfd, struct syscript_file *files, size_t n, int flags,
		       mode_t mode, unsigned int mask)
{
	const struct batch batch = {
		BUILTIN_open_fstat, IMAGE_BATCH_OPEN, dirfd, flags, mode, mask,
		{ flags, mode, mask },
	};

	return do_many(&batch, files, n);
}

/* -- One file -------------------------------------------------------------- */

ssize_t syscript_open_read_close(int dirfd, const char *path, void *buf, size_t size,
				 int64_t *total)
{
	struct image_batch_file request = {
		.path = (intptr_t)path, .addr = (intptr_t)buf, .size = clamp(size), .dirfd = dirfd,
	};
	int64_t results[2] = { 0 }, n;

	if (direct_batch(BUILTIN_open_read_close, IMAGE_BATCH_READ_FILE, &request,
			 sizeof(request), &n))
		results[1] = request.total;
	else
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
