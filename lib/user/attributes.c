// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <linux/syscript_files.h>
#include <sys/sysmacros.h>

#include "attributes.h"

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
