// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What vm_fs.h asks of its place, in a process: getdents64(2), and statx(2) for
 * each entry.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/syscript_files.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "luajit/vm_fs.h"
#include "sys.h"
#include "user.h"

#define MASK_KNOWN	(STATX_BASIC_STATS | STATX_BTIME)
#define RAW_SIZE	4096		/* of what getdents64() returns at once */

static struct syscript_time from_time(const struct statx_timestamp *time)
{
	return (struct syscript_time){ time->tv_sec, time->tv_nsec };
}

static void from_statx(struct syscript_stat *to, const struct statx *from)
{
	*to = (struct syscript_stat){
		.mask = from->stx_mask & MASK_KNOWN,
		.blksize = from->stx_blksize,
		.attributes = from->stx_attributes,
		.ino = from->stx_ino,
		.size = from->stx_size,
		.blocks = from->stx_blocks,
		.mode = from->stx_mode,
		.nlink = from->stx_nlink,
		.uid = from->stx_uid,
		.gid = from->stx_gid,
		.dev = makedev(from->stx_dev_major, from->stx_dev_minor),
		.rdev = makedev(from->stx_rdev_major, from->stx_rdev_minor),
		.atime = from_time(&from->stx_atime),
		.btime = from_time(&from->stx_btime),
		.ctime = from_time(&from->stx_ctime),
		.mtime = from_time(&from->stx_mtime),
	};
}

/* -- Directories ----------------------------------------------------------- */

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* False if there is no room. */
static bool add_name(struct vm_dir *dir, const struct dirent64 *from)
{
	struct syscript_dirent *entry = (void *)(dir->records + dir->used);
	size_t len = strlen(from->d_name);
	size_t size = sizeof(*entry) + (len / 8 + 1) * 8;

	if (is_dot(from->d_name) && !(dir->flags & SYSCRIPT_DOTS))
		return true;
	if (size > dir->room - dir->used || dir->n == dir->max)
		return false;
	memset(entry, 0, size);
	memcpy(entry->name, from->d_name, len);
	entry->reclen = size;
	entry->namelen = len;
	entry->type = from->d_type;
	entry->stat.ino = from->d_ino;
	dir->used += size;
	dir->n++;
	return true;
}

/* As many as there is room for.  0 if so, 1 at the directory's end, or -errno. */
static long get_names(struct vm_dir *dir)
{
	_Alignas(struct dirent64) char raw[RAW_SIZE];
	long long at = dir->start;

	for (;;) {
		long len = sys_call(getdents64, dir->fd, raw, sizeof(raw));

		if (len <= 0)
			return len ? len : 1;
		for (const char *p = raw; p < raw + len;) {
			const struct dirent64 *from = (const void *)p;

			if (!add_name(dir, from)) {
				long pos = sys_call(lseek, dir->fd,
						    dir->n ? at : dir->start, SEEK_SET);

				return pos < 0 ? pos : 0;
			}
			at = from->d_off;
			p += from->d_reclen;
		}
	}
}

static void get_attributes(struct vm_dir *dir)
{
	struct syscript_dirent *entry = (void *)dir->records;
	char *end = dir->records + dir->used;
	struct statx found;

	for (; (char *)entry < end; entry = (void *)((char *)entry + entry->reclen)) {
		if (!dir->mask || (dir->mask == STATX_TYPE && entry->type != DT_UNKNOWN) ||
		    is_dot(entry->name))
			continue;
		entry->error = sys_call(statx, dir->fd, entry->name,
					AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
					dir->mask & MASK_KNOWN, &found);
		if (!entry->error)
			from_statx(&entry->stat, &found);
	}
}

static long read_batch(struct vm_dir *dir)
{
	long ret;

	dir->start = sys_call(lseek, dir->fd, 0, SEEK_CUR);
	ret = get_names(dir);
	dir->end = ret == 1;
	get_attributes(dir);
	/* What came before an error is good; the next batch meets it again. */
	if (dir->n || dir->end)
		return 0;
	return ret ? ret : -EINVAL;
}

static char *batch_of(struct script *script)
{
	if (!script->batch)
		script->batch = malloc(VM_BATCH_SIZE);
	return script->batch;
}

long port_readdirplus(struct vm *vm, struct vm_dir *dir)
{
	struct script *script = script_of(vm);
	long ret = -ENOMEM;

	dir->used = 0;
	dir->n = 0;
	dir->end = 0;
	if (dir->room > VM_BATCH_SIZE)
		dir->room = VM_BATCH_SIZE;
	user_vm_leave(script);
	dir->records = batch_of(script);
	if (dir->records)
		ret = read_batch(dir);
	user_vm_enter(script);
	return ret;
}

/* -- Files ----------------------------------------------------------------- */

static long stat_file(const struct vm_files *files, struct syscript_file *f)
{
	struct statx found;
	long ret = sys_call(statx, files->dirfd, f->path, files->flags | AT_NO_AUTOMOUNT,
			    files->mask & MASK_KNOWN, &found);

	if (!ret)
		from_statx((struct syscript_stat *)f->data, &found);
	return ret;
}

static long open_file(const struct vm_files *files, struct syscript_file *f)
{
	long fd = sys_call(openat, files->dirfd, f->path, files->flags, files->mode);
	struct statx found;
	long ret;

	if (fd < 0 || !f->data)
		return fd;
	ret = sys_call(statx, fd, "", AT_EMPTY_PATH, files->mask & MASK_KNOWN, &found);
	if (ret) {
		sys_call(close, fd);
		return ret;
	}
	from_statx((struct syscript_stat *)f->data, &found);
	return fd;
}

static long transfer(const struct vm_files *files, struct syscript_file *f)
{
	bool reads = files->op == VM_FILES_READ;
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
	err = sys_call(close, fd);
	if (done)
		n = done;
	return n >= 0 && err ? err : n;
}

static long file_op(struct script *script, const struct vm_files *files,
		    struct syscript_file *f)
{
	bool stats = files->op == VM_FILES_STAT || (files->op == VM_FILES_OPEN && f->data);
	struct syscript_stat old;

	/* What the kernel would not write to is not for us to write to. */
	if (stats && (port_copy_in(&script->vm, &old, f->data, sizeof(old)) ||
		      port_copy_out(&script->vm, f->data, &old, sizeof(old))))
		return -EFAULT;
	switch (files->op) {
	case VM_FILES_STAT:
		return stat_file(files, f);
	case VM_FILES_OPEN:
		return open_file(files, f);
	default:
		return transfer(files, f);
	}
}

long port_files(struct vm *vm, const struct vm_files *files)
{
	struct script *script = script_of(vm);
	struct syscript_file f;
	unsigned int i = 0;
	long err = 0;

	user_vm_leave(script);
	for (; i < files->n && !err; i++) {
		unsigned long at = files->addr + i * sizeof(f);

		err = port_copy_in(vm, &f, at, sizeof(f));
		if (err)
			break;
		f.result = file_op(script, files, &f);
		err = port_copy_out(vm, at, &f, sizeof(f));
	}
	user_vm_enter(script);
	return i ? i : err;
}
