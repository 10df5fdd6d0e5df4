// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/fs/readdirplus.h in a process: getdents64(2), and statx(2) for each entry. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/syscript_files.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attributes.h"
#include "fs/readdirplus.h"
#include "sys.h"
#include "user.h"
#include "usermem.h"

#define RAW_SIZE	4096		/* bytes read by one getdents64() */
#define RAW_LEAST	24		/* bytes of the shortest entry */

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* False if there is no room. */
static bool add_name(struct readdirplus *dir, const struct dirent64 *from)
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

/*
 * Room for as many entries as fit @dir->room whatever their names: a record grows with its entry.
 */
static size_t raw_room(const struct readdirplus *dir)
{
	size_t n = (dir->room - dir->used) / (sizeof(struct syscript_dirent) + 8);

	if (n > dir->max - dir->n)
		n = dir->max - dir->n;
	return n < RAW_SIZE / RAW_LEAST ? n * RAW_LEAST : RAW_SIZE;
}

/*
 * Reads the next entries by getdents64(2); -EINVAL if so few fit that they are not worth a call.
 * A first entry that is longer than most is read alone.
 */
static long get_raw(struct readdirplus *dir, char *raw)
{
	size_t size = raw_room(dir), most = RAW_LEAST;
	long len;

	if (dir->n)
		return size < RAW_SIZE / 4 ? -EINVAL : sys_call(getdents64, dir->fd, raw, size);
	if (dir->room > sizeof(struct syscript_dirent))
		most += dir->room - sizeof(struct syscript_dirent);
	do {
		len = sys_call(getdents64, dir->fd, raw, size);
		size += 8;
	} while (len == -EINVAL && size <= most && size <= RAW_SIZE);
	return len;
}

/*
 * Reads as many entries as there is room for: returns 1 at the directory's end, or -errno. Not
 * every directory can be reread from an entry on, so no entry is read without room for it, except
 * the first, which is then an error.
 */
static long get_names(struct run *run, struct readdirplus *dir)
{
	_Alignas(struct dirent64) char raw[RAW_SIZE];

	for (;;) {
		unsigned int before = dir->n;
		long len = get_raw(dir, raw);

		if (len <= 0)
			return len ? len : 1;
		for (const char *p = raw; p < raw + len;) {
			const struct dirent64 *from = (const void *)p;

			if (!add_name(dir, from))
				return -EINVAL;
			p += from->d_reclen;
		}
		if (dir->n == before)
			run_check_wall(run_priv(run), sys_now(CLOCK_MONOTONIC));
		if (run->stop_reason)
			return -EINTR;
	}
}

/* As get_names_given() of kernel/fs/readdirplus.c. */
static long get_names_given(struct run *run, struct readdirplus *dir)
{
	const size_t head = offsetof(struct dirent64, d_name);
	size_t size = RUN_BUFFER_SIZE - READDIRPLUS_ROOM, len;
	char *raw = dir->records + READDIRPLUS_ROOM;

	if (size > dir->names_len)
		size = dir->names_len;
	if (usermem_copy_in(run, raw, dir->names, size))
		return -EFAULT;
	dir->taken = 0;
	while (size - dir->taken > head) {
		const struct dirent64 *given = (const void *)(raw + dir->taken);

		if (given->d_reclen <= head || given->d_reclen > size - dir->taken)
			break;
		len = strnlen(given->d_name, given->d_reclen - head);
		if (!len || len == given->d_reclen - head || memchr(given->d_name, '/', len) ||
		    !add_name(dir, given))
			break;
		dir->taken += given->d_reclen;
	}
	return dir->taken || !dir->names_len ? 0 : -EINVAL;
}

static void get_attributes(struct readdirplus *dir)
{
	struct syscript_dirent *entry = (void *)dir->records;
	char *end = dir->records + dir->used;
	struct statx found;

	for (; (char *)entry < end; entry = (void *)((char *)entry + entry->reclen)) {
		if (!dir->mask || (dir->mask == STATX_TYPE && entry->type != DT_UNKNOWN) ||
		    is_dot(entry->name))
			continue;
		entry->error = attributes_statx(dir->fd, entry->name, AT_SYMLINK_NOFOLLOW,
						dir->mask, &found);
		if (entry->error)
			continue;
		attributes_from_statx(&entry->stat, &found);
		attributes_add_missing(&entry->stat, dir->fd, entry->name, AT_SYMLINK_NOFOLLOW,
				       dir->mask);
	}
}

static long stat_given(struct run *run, struct readdirplus *dir)
{
	struct stat st;
	long ret = sys_call(newfstatat, dir->fd, "", &st, AT_EMPTY_PATH);

	if (!ret)
		ret = S_ISDIR(st.st_mode) ? get_names_given(run, dir) : -ENOTDIR;
	get_attributes(dir);
	return ret;
}

static long read_batch(struct run *run, struct readdirplus *dir)
{
	long ret;

	dir->start = sys_call(lseek, dir->fd, 0, SEEK_CUR);
	ret = get_names(run, dir);
	dir->end = ret == 1;
	/* Skipped "." and ".." do not count as a first entry. */
	if (ret == -EINVAL && !dir->n)
		sys_call(lseek, dir->fd, dir->start, SEEK_SET);
	get_attributes(dir);
	/* Entries before an error are valid; the next batch gets the error again. */
	return dir->n || dir->end ? 0 : ret;
}

long readdirplus(struct run *run, struct readdirplus *dir)
{
	long ret = -ENOMEM;

	dir->used = 0;
	dir->n = 0;
	dir->end = 0;
	if (dir->room > READDIRPLUS_ROOM)
		dir->room = READDIRPLUS_ROOM;
	run->syscalls++;
	run_leave(run);
	dir->records = run_buffer(run);
	if (dir->records)
		ret = dir->names ? stat_given(run, dir) : read_batch(run, dir);
	run_enter(run);
	return ret;
}
