/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Compares entries of syscript_readdirplus() with statx(2)'s attributes. */
#ifndef DIR_CHECK_H
#define DIR_CHECK_H

#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <syscript_files.h>

#include "lib_test.h"

#define ALL	(STATX_BASIC_STATS | STATX_BTIME)

/* CHANGING: attributes may change between two calls. */
enum strict { STABLE, CHANGING };

static inline bool same_time(struct syscript_time a, struct statx_timestamp b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline void check_stat(const struct syscript_dirent *entry, const struct statx *st,
		       enum strict strict)
{
	const struct syscript_stat *stat = &entry->stat;

	CHECK_EQ(stat->mask, st->stx_mask & ALL);
	CHECK_EQ(stat->ino, st->stx_ino);
	CHECK_EQ(stat->mode, st->stx_mode);
	CHECK_EQ(stat->uid, st->stx_uid);
	CHECK_EQ(stat->gid, st->stx_gid);
	CHECK_EQ(stat->dev, makedev(st->stx_dev_major, st->stx_dev_minor));
	CHECK_EQ(stat->rdev, makedev(st->stx_rdev_major, st->stx_rdev_minor));
	CHECK_EQ(stat->blksize, st->stx_blksize);
	if (strict == CHANGING)
		return;
	CHECK_EQ(stat->attributes, st->stx_attributes);
	CHECK_EQ(stat->nlink, st->stx_nlink);
	CHECK_EQ(stat->size, st->stx_size);
	CHECK_EQ(stat->blocks, st->stx_blocks);
	CHECK(same_time(stat->mtime, st->stx_mtime));
	CHECK(same_time(stat->ctime, st->stx_ctime));
	CHECK(same_time(stat->atime, st->stx_atime));
	if (st->stx_mask & STATX_BTIME)
		CHECK(same_time(stat->btime, st->stx_btime));
}

/* Compares an entry with the plain calls: the same result or the same error. */
static inline void check_entry(int fd, const struct syscript_dirent *entry, enum strict strict)
{
	struct statx st;
	int err = 0;

	CHECK_EQ(strlen(entry->name), entry->namelen);
	CHECK(entry->reclen % 8 == 0);
	CHECK(entry->reclen > sizeof(*entry) + entry->namelen);
	if (syscall(SYS_statx, fd, entry->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, ALL, &st))
		err = -errno;
	/* The entry's process started or ended meanwhile. */
	if (strict == CHANGING && (err || entry->error))
		return;
	if (err != entry->error)
		fprintf(stderr, "%s: ", entry->name);
	CHECK_EQ(entry->error, err);
	if (err) {
		CHECK_EQ(entry->stat.mask, 0);
		return;
	}
	if (entry->type != DT_UNKNOWN)
		CHECK_EQ(entry->type, IFTODT(entry->stat.mode));
	check_stat(entry, &st, strict);
}

static inline int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fprintf(stderr, "%s: %m\n", path);
	CHECK(fd >= 0);
	return fd;
}

/* A reader of names in the order of getdents64(2). */
struct plain_dir {
	int fd;
	bool dots;
	size_t at;
	long len;			/* length, 0 at the end, or -errno */
	char raw[32768];
};

static inline bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static inline void fill_plain(struct plain_dir *dir)
{
	dir->at = 0;
	dir->len = syscall(SYS_getdents64, dir->fd, dir->raw, sizeof(dir->raw));
	if (dir->len < 0)
		dir->len = -errno;
}

/* NULL at the end, or at an error. */
static inline const char *next_plain(struct plain_dir *dir)
{
	const struct dirent64 *entry;

	do {
		if (dir->at == (size_t)dir->len)
			fill_plain(dir);
		if (dir->len <= 0)
			return NULL;
		entry = (void *)(dir->raw + dir->at);
		dir->at += entry->d_reclen;
	} while (!dir->dots && is_dots(entry->d_name));
	return entry->d_name;
}

/*
 * Compares a whole directory, @size bytes of @buf at a time. STABLE: the entries must be in the
 * order of getdents64(2), with the same end or error. Returns their number.
 */
static inline long check_dir(const char *path, char *buf, size_t size, unsigned int flags,
			     enum strict strict)
{
	static struct plain_dir plain;
	int fd = open_dir(path), other = open_dir(path), end = 0;
	ssize_t len;
	long n = 0;

	plain.fd = open_dir(path);
	plain.dots = flags & SYSCRIPT_DOTS;
	/* Read it now: reading changes the directory's access time, which is compared. */
	fill_plain(&plain);
	while ((len = syscript_readdirplus(fd, buf, size, ALL, flags, &end)) > 0) {
		struct syscript_dirent *entry = (void *)buf;

		for (; (char *)entry < buf + len; entry = syscript_next_dirent(entry), n++) {
			const char *name = strict == STABLE ? next_plain(&plain) : entry->name;

			if (!name || strcmp(entry->name, name))
				fprintf(stderr, "%s: '%s' is not '%s': ", path, entry->name,
					name ? name : "");
			CHECK(name && !strcmp(entry->name, name));
			check_entry(other, entry, strict);
		}
		CHECK((char *)entry == buf + len);
	}
	if (strict == STABLE && next_plain(&plain))
		fprintf(stderr, "%s: more entries after %ld: ", path, n);
	CHECK(strict == CHANGING || plain.at == 0);
	CHECK_EQ(len, strict == CHANGING ? 0 : plain.len);
	CHECK_EQ(end, len == 0);
	close(fd);
	close(other);
	close(plain.fd);
	return n;
}

#endif /* DIR_CHECK_H */
