// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/syscript_files.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "attributes.h"
#include "sys.h"

long attributes_statx(int dirfd, const char *path, unsigned int flags, unsigned int mask,
		      struct statx *found)
{
	unsigned int all = flags | AT_NO_AUTOMOUNT;
	long ret = sys_call(statx, dirfd, path, all, mask & ATTRIBUTES_KNOWN, found);

	/* gVisor's kernel does not know the flag. It mounts nothing in any case. */
	if (ret == -EINVAL)
		ret = sys_call(statx, dirfd, path, flags, mask & ATTRIBUTES_KNOWN, found);
	return ret;
}

static struct syscript_time from_time(const struct statx_timestamp *time)
{
	return (struct syscript_time){ time->tv_sec, time->tv_nsec };
}

void attributes_from_statx(struct syscript_stat *to, const struct statx *from)
{
	*to = (struct syscript_stat){
		.mask = from->stx_mask & ATTRIBUTES_KNOWN,
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

/* -- Extended attributes ---------------------------------------------------- */

/* Extended attributes of the file at @path, or of @fd if @path is NULL. */
struct source {
	const char *path;
	int fd;
	bool follow;
};

static bool is_none(long err)
{
	return err == -ENODATA || err == -EOPNOTSUPP;
}

static bool has_not(const struct source *from, const char *name)
{
	if (!from->path)
		return is_none(sys_call(fgetxattr, from->fd, name, NULL, 0));
	if (from->follow)
		return is_none(sys_call(getxattr, from->path, name, NULL, 0));
	return is_none(sys_call(lgetxattr, from->path, name, NULL, 0));
}

static bool has_no_names(const struct source *from)
{
	long size;

	if (!from->path)
		size = sys_call(flistxattr, from->fd, NULL, 0);
	else if (from->follow)
		size = sys_call(listxattr, from->path, NULL, 0);
	else
		size = sys_call(llistxattr, from->path, NULL, 0);
	return !size || is_none(size);
}

static void add_missing(struct syscript_stat *to, const struct source *from, unsigned int mask)
{
	if ((mask & SYSCRIPT_NO_ACL) && has_not(from, "system.posix_acl_access") &&
	    (!S_ISDIR(to->mode) || has_not(from, "system.posix_acl_default")))
		to->mask |= SYSCRIPT_NO_ACL;
	if ((mask & SYSCRIPT_NO_LABEL) && has_not(from, "security.selinux"))
		to->mask |= SYSCRIPT_NO_LABEL;
	if ((mask & SYSCRIPT_NO_XATTR) && has_no_names(from))
		to->mask |= SYSCRIPT_NO_XATTR;
}

void attributes_add_missing(struct syscript_stat *to, int dirfd, const char *path, int flags,
			    unsigned int mask)
{
	struct source from = { .path = path, .follow = !(flags & AT_SYMLINK_NOFOLLOW) };
	char whole[PATH_MAX];

	if (!(mask & ATTRIBUTES_XATTRS))
		return;
	/* Linux 6.13 has calls relative to a directory. */
	if (path[0] != '/' && dirfd != AT_FDCWD) {
		if (snprintf(whole, sizeof(whole), "/proc/self/fd/%d/%s", dirfd, path) >=
		    (int)sizeof(whole))
			return;
		from.path = whole;
	}
	add_missing(to, &from, mask);
}

void attributes_add_missing_of(struct syscript_stat *to, int fd, unsigned int mask)
{
	const struct source from = { .fd = fd };

	if (mask & ATTRIBUTES_XATTRS)
		add_missing(to, &from, mask);
}
