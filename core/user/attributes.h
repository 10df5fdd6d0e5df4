/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Converts statx(2)'s attributes of a file to those of <linux/syscript_files.h>. */
#ifndef LIB_USER_ATTRIBUTES_H
#define LIB_USER_ATTRIBUTES_H

#include <linux/syscript_files.h>
#include <sys/stat.h>

/* Fills in the attributes that statx(2) returns. */
#define ATTRIBUTES_KNOWN	(STATX_BASIC_STATS | STATX_BTIME)

#define ATTRIBUTES_XATTRS	(SYSCRIPT_NO_ACL | SYSCRIPT_NO_LABEL | SYSCRIPT_NO_XATTR)

/* statx(2) that mounts nothing; @mask may have other bits as well. Returns 0 or -errno. */
long attributes_statx(int dirfd, const char *path, unsigned int flags, unsigned int mask,
		      struct statx *found);

void attributes_from_statx(struct syscript_stat *to, const struct statx *from);

/*
 * Adds to @to, the attributes of @path relative to @dirfd, the attributes of @mask that statx(2)
 * does not return. @path is not empty; @flags: AT_SYMLINK_NOFOLLOW.
 */
void attributes_add_missing(struct syscript_stat *to, int dirfd, const char *path, int flags,
			    unsigned int mask);
/* As above, for the open file @fd. */
void attributes_add_missing_of(struct syscript_stat *to, int fd, unsigned int mask);

#endif /* LIB_USER_ATTRIBUTES_H */
