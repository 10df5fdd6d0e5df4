// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/fs/files.h in a process: one plain system call after another. */
#include <errno.h>
#include <fcntl.h>
#include <linux/syscript_files.h>
#include <sys/stat.h>

#include "attributes.h"
#include "fs/files.h"
#include "sys.h"
#include "user.h"
#include "usermem.h"

static long stat_file(const struct files_request *files, struct syscript_file *f)
{
	struct syscript_stat *stat = (struct syscript_stat *)f->data;
	struct statx found;
	long ret = attributes_statx(files->dirfd, (const char *)f->path, files->flags, files->mask,
				    &found);

	if (!ret) {
		attributes_from_statx(stat, &found);
		attributes_add_missing(stat, files->dirfd, (const char *)f->path, files->flags,
				       files->mask);
	}
	return ret;
}

static long open_file(const struct files_request *files, struct syscript_file *f)
{
	long fd = sys_call(openat, files->dirfd, f->path, files->flags, files->mode);
	struct statx found;
	long ret;

	if (fd < 0 || !f->data)
		return fd;
	ret = sys_call(statx, fd, "", AT_EMPTY_PATH, files->mask & ATTRIBUTES_KNOWN, &found);
	if (ret) {
		sys_call(close, fd);
		return ret;
	}
	attributes_from_statx((struct syscript_stat *)f->data, &found);
	attributes_add_missing_of((struct syscript_stat *)f->data, fd, files->mask);
	return fd;
}

/*
 * @total: out, the size of the file if it fills the buffer; may be NULL. @is_part: out, the
 *         transfer ended before the end of the file or of the data.
 */
static long transfer(const struct files_request *files, struct syscript_file *f,
		     long long *total, bool *is_part)
{
	bool reads = files->op == FILES_READ;
	int flags = files->flags | O_CLOEXEC | (reads ? O_RDONLY : O_WRONLY);
	long fd = sys_call(openat, files->dirfd, f->path, flags, files->mode);
	long n, err;
	unsigned long done = 0;

	if (fd < 0)
		return fd;
	do {
		n = reads ? sys_call(read, fd, f->data + done, f->size - done) :
			    sys_call(write, fd, f->data + done, f->size - done);
		if (n <= 0)
			break;
		done += n;
	} while (done < f->size);
	*is_part = n && done < f->size;
	if (total)
		*total = done < f->size ? (long long)done :
			 files_total(done, sys_call(lseek, fd, 0, SEEK_END));
	err = sys_call(close, fd);
	if (done)
		n = done;
	return n >= 0 && err ? err : n;
}

static long file_op(struct run *run, const struct files_request *files,
		    struct syscript_file *f)
{
	bool stats = files->op == FILES_STAT || (files->op == FILES_OPEN && f->data);
	struct syscript_stat old;
	bool is_part;

	/* Memory to which the kernel could not write fails here as well, with the same error. */
	if (stats && (usermem_copy_in(run, &old, f->data, sizeof(old)) ||
		      usermem_copy_out(run, f->data, &old, sizeof(old))))
		return -EFAULT;
	switch (files->op) {
	case FILES_STAT:
		return stat_file(files, f);
	case FILES_OPEN:
		return open_file(files, f);
	default:
		return transfer(files, f, NULL, &is_part);
	}
}

long files_batch(struct run *run, const struct files_request *files)
{
	struct syscript_file f;
	unsigned int i = 0;
	long err = 0;

	run->syscalls++;
	run_leave(run);
	for (; i < files->n && !err; i++) {
		unsigned long at = files->addr + i * sizeof(f);

		err = usermem_copy_in(run, &f, at, sizeof(f));
		if (err)
			break;
		f.result = file_op(run, files, &f);
		err = usermem_copy_out(run, at, &f, sizeof(f));
	}
	run_enter(run);
	return i ? i : err;
}

long files_read(struct run *run, struct files_reading *reading)
{
	const struct files_request request = {
		.op = FILES_READ, .dirfd = reading->dirfd, .flags = reading->flags,
	};
	struct syscript_file f = {
		.path = reading->path, .data = reading->addr, .size = reading->size,
	};
	bool is_part = false;
	long n;

	run->syscalls++;
	run_leave(run);
	n = transfer(&request, &f, &reading->total, &is_part);
	run_enter(run);
	return n > 0 && is_part && run_pending(run) ? -EINTR : n;
}
