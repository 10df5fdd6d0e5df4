// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* stat(2) and its relatives: answered where they may be, else libc's own. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syscript_files.h>

#include "speedup.h"
#include "sys.h"

static long asked_kernel(long ret)
{
	speedup_saw();
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* A file that is no symbolic link is the same whether it is followed or not. */
static bool answers(const struct syscript_stat *from, int flags)
{
	return flags & AT_SYMLINK_NOFOLLOW || !S_ISLNK(from->mode);
}

static struct timespec time_of(struct syscript_time t)
{
	return (struct timespec){ t.tv_sec, t.tv_nsec };
}

/* All of it, as the kernel does. */
static void to_stat(struct stat *to, const struct syscript_stat *from)
{
	to->st_dev = from->dev;
	to->st_ino = from->ino;
	to->st_nlink = from->nlink;
	to->st_mode = from->mode;
	to->st_uid = from->uid;
	to->st_gid = from->gid;
	to->__pad0 = 0;
	to->st_rdev = from->rdev;
	to->st_size = from->size;
	to->st_blksize = from->blksize;
	to->st_blocks = from->blocks;
	to->st_atim = time_of(from->atime);
	to->st_mtim = time_of(from->mtime);
	to->st_ctim = time_of(from->ctime);
	for (size_t i = 0; i < sizeof(to->__glibc_reserved) / sizeof(*to->__glibc_reserved); i++)
		to->__glibc_reserved[i] = 0;
}

static int stat_at(int dirfd, const char *path, struct stat *to, int flags)
{
	const struct syscript_stat *from = NULL;

	if (to && !(flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)))
		from = speedup_stat(dirfd, path);
	if (from && answers(from, flags)) {
		to_stat(to, from);
		return 0;
	}
	return asked_kernel(sys_call(newfstatat, dirfd, path, to, flags));
}

PUBLIC int fstatat(int dirfd, const char *restrict path, struct stat *restrict to, int flags)
{
	return stat_at(dirfd, path, to, flags);
}

PUBLIC int stat(const char *restrict path, struct stat *restrict to)
{
	return stat_at(AT_FDCWD, path, to, 0);
}

PUBLIC int lstat(const char *restrict path, struct stat *restrict to)
{
	return stat_at(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}

/* On a 64-bit machine struct stat64 is the same. */
PUBLIC int fstatat64(int dirfd, const char *restrict path, struct stat64 *restrict to, int flags)
{
	return stat_at(dirfd, path, (struct stat *)to, flags);
}

PUBLIC int stat64(const char *restrict path, struct stat64 *restrict to)
{
	return stat_at(AT_FDCWD, path, (struct stat *)to, 0);
}

PUBLIC int lstat64(const char *restrict path, struct stat64 *restrict to)
{
	return stat_at(AT_FDCWD, path, (struct stat *)to, AT_SYMLINK_NOFOLLOW);
}

static struct statx_timestamp timestamp_of(struct syscript_time t)
{
	return (struct statx_timestamp){ .tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec };
}

/* Says of no attribute that it is known. */
static void to_statx(struct statx *to, const struct syscript_stat *from)
{
	memset(to, 0, sizeof(*to));
	to->stx_mask = from->mask & STATX_BASIC_STATS;
	to->stx_blksize = from->blksize;
	to->stx_nlink = from->nlink;
	to->stx_uid = from->uid;
	to->stx_gid = from->gid;
	to->stx_mode = from->mode;
	to->stx_ino = from->ino;
	to->stx_size = from->size;
	to->stx_blocks = from->blocks;
	to->stx_atime = timestamp_of(from->atime);
	to->stx_mtime = timestamp_of(from->mtime);
	to->stx_ctime = timestamp_of(from->ctime);
	to->stx_rdev_major = major(from->rdev);
	to->stx_rdev_minor = minor(from->rdev);
	to->stx_dev_major = major(from->dev);
	to->stx_dev_minor = minor(from->dev);
}

#define STATX_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)

PUBLIC int statx(int dirfd, const char *restrict path, int flags, unsigned int mask,
		 struct statx *restrict to)
{
	const struct syscript_stat *from = NULL;

	if (to && !(flags & ~STATX_FLAGS) && !(mask & ~STATX_BASIC_STATS))
		from = speedup_stat(dirfd, path);
	/* Without AT_NO_AUTOMOUNT a directory may be one to be mounted first. */
	if (from && answers(from, flags) && (flags & AT_NO_AUTOMOUNT || !S_ISDIR(from->mode))) {
		to_statx(to, from);
		return 0;
	}
	return asked_kernel(sys_call(statx, dirfd, path, flags, mask, to));
}
