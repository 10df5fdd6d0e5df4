/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * System call scripting: structures that the functions of fs.* write to memory, the same in both
 * backends. syscript(7) describes the functions.
 */
#ifndef _UAPI_SYSCRIPT_FILES_H
#define _UAPI_SYSCRIPT_FILES_H

#include <linux/types.h>

struct syscript_time {
	__s64 tv_sec;
	__s64 tv_nsec;
};

/**
 * struct syscript_stat - attributes of a file, a part of struct statx
 * @mask:       STATX_BASIC_STATS and STATX_BTIME: fields that are valid.  As
 *              with statx(2), more fields than requested may be filled in.
 *              SYSCRIPT_NO_*, if requested: the file has none
 * @blksize:    preferred size of reads and writes, in bytes
 * @attributes: STATX_ATTR_*
 * @ino:        inode number
 * @size:       bytes
 * @blocks:     512 bytes each
 * @mode:       type and permissions
 * @nlink:      hard links
 * @uid, @gid:  as the calling process sees them
 * @dev, @rdev: the device that it is on, and the device that it is; as in struct stat
 * @atime, @btime, @ctime, @mtime: access, creation, change of the attributes,
 *              change of the data
 */
struct syscript_stat {
	__u32 mask;
	__u32 blksize;
	__u64 attributes;
	__u64 ino;
	__u64 size;
	__u64 blocks;
	__u32 mode;
	__u32 nlink;
	__u32 uid;
	__u32 gid;
	__u64 dev;
	__u64 rdev;
	struct syscript_time atime;
	struct syscript_time btime;
	struct syscript_time ctime;
	struct syscript_time mtime;
};

/**
 * struct syscript_dirent - an entry of a directory, with its file's attributes
 * @reclen:  bytes to the next entry, a multiple of 8
 * @namelen: length of @name, without the NUL
 * @type:    DT_*, as stored in the directory; may be DT_UNKNOWN
 * @error:   0, or -errno, and @stat is empty.  -ENOENT: the file disappeared before its
 *           attributes were looked up
 * @stat:    as statx(2) with AT_SYMLINK_NOFOLLOW and AT_NO_AUTOMOUNT.  Where
 *           @mask lacks STATX_INO, @ino is the directory's
 * @name:    ends with a NUL
 */
struct syscript_dirent {
	__u16 reclen;
	__u16 namelen;
	__u8  type;
	__u8  reserved[3];
	__s32 error;
	__u32 reserved2;
	struct syscript_stat stat;
	char  name[];
};

/**
 * struct syscript_file - one file of a batch: fs.stat_files(), fs.read_files(),
 *                        fs.write_files(), fs.open_files()
 * @path:   address of its name, relative to the batch's directory
 * @data:   address of the buffer to read or write; or of a struct syscript_stat, for open_files()
 *          optional (0)
 * @size:   size of the buffer, for read_files() and write_files(), which transfer up to 1 MiB at
 *          a time
 * @result: out: bytes read or written, less than @size if a signal or a limit came first; or the
 *          new descriptor; or 0; or -errno
 */
struct syscript_file {
	__u64 path;
	__u64 data;
	__u64 size;
	__s64 result;
};

/*
 * In masks of fs.readdirplus(), fs.stat_entries(), fs.stat_files() and fs.open_files(), with
 * STATX_*: extended attributes to ask for. In the mask of the result a bit means that the file
 * lacks the attribute: the named call by the same path would fail (ENODATA, EOPNOTSUPP). A
 * missing bit means that this is unknown: make the call. No bit is set if seccomp or a tracer
 * watches the process's calls.
 */
#define SYSCRIPT_NO_ACL		0x10000000U	/* getxattr(2): system.posix_acl_access, */
						/* and for a directory _default */
#define SYSCRIPT_NO_LABEL	0x20000000U	/* getxattr(2): security.selinux */
#define SYSCRIPT_NO_XATTR	0x40000000U	/* listxattr(2): the list is empty */

/* fs.readdirplus(), flags */
#define SYSCRIPT_DOTS		(1 << 0)	/* include "." and ".." */

#endif /* _UAPI_SYSCRIPT_FILES_H */
