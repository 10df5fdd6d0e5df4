/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Columns of fs.entries(), for both engines' libraries: the numeric fields of a struct
 * syscript_dirent.  Files that include it have C_STATX_* and C_DT_*, by constants.inc.
 */
#ifndef SYSCRIPT_COLUMNS_H
#define SYSCRIPT_COLUMNS_H

#include "../../include/uapi/syscript_files.h"

static inline const struct syscript_dirent *column_entry(const char *p)
{
	return (const struct syscript_dirent *)(const void *)p;
}

/* The entry's type, DT_*. */
static inline int column_type(const struct syscript_dirent *entry)
{
	return entry->stat.mask & C_STATX_TYPE ? (int)(entry->stat.mode >> 12) & 15 :
	       entry->type;
}

/* May the entry be a directory?  Unknown types count. */
static inline int column_isdir(const struct syscript_dirent *entry)
{
	int type = column_type(entry);

	return type == C_DT_DIR || type == C_DT_UNKNOWN;
}

/* name, the mask for statx(2), value */
#define COLUMNS(_) \
	_(error, 0, entry->error) \
	_(type, C_STATX_TYPE, column_type(entry)) \
	_(ino, C_STATX_INO, entry->stat.ino) \
	_(mode, C_STATX_TYPE|C_STATX_MODE, entry->stat.mode) \
	_(nlink, C_STATX_NLINK, entry->stat.nlink) \
	_(uid, C_STATX_UID, entry->stat.uid) \
	_(gid, C_STATX_GID, entry->stat.gid) \
	_(size, C_STATX_SIZE, entry->stat.size) \
	_(blocks, C_STATX_BLOCKS, entry->stat.blocks) \
	_(dev, C_STATX_INO, entry->stat.dev) \
	_(rdev, C_STATX_INO, entry->stat.rdev) \
	_(atime, C_STATX_ATIME, entry->stat.atime.tv_sec) \
	_(mtime, C_STATX_MTIME, entry->stat.mtime.tv_sec) \
	_(ctime, C_STATX_CTIME, entry->stat.ctime.tv_sec) \
	_(btime, C_STATX_BTIME, entry->stat.btime.tv_sec) \
	_(atime_nsec, C_STATX_ATIME, entry->stat.atime.tv_nsec) \
	_(mtime_nsec, C_STATX_MTIME, entry->stat.mtime.tv_nsec) \
	_(ctime_nsec, C_STATX_CTIME, entry->stat.ctime.tv_nsec) \
	_(btime_nsec, C_STATX_BTIME, entry->stat.btime.tv_nsec)

#endif /* SYSCRIPT_COLUMNS_H */
