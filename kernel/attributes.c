// SPDX-License-Identifier: GPL-2.0
/* See attributes.h. */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "attributes.h"

#define MASK_KNOWN	(STATX_BASIC_STATS | STATX_BTIME)

/* from_kuid_munged(), which would be most of what a record takes to fill. */
static inline u32 uid_seen(struct user_namespace *ns, kuid_t uid)
{
	if (likely(ns == &init_user_ns && uid_valid(uid)))
		return __kuid_val(uid);
	return from_kuid_munged(ns, uid);
}

static inline u32 gid_seen(struct user_namespace *ns, kgid_t gid)
{
	if (likely(ns == &init_user_ns && gid_valid(gid)))
		return __kgid_val(gid);
	return from_kgid_munged(ns, gid);
}

static inline void put_time(struct syscript_time *to, struct timespec64 from)
{
	to->tv_sec = from.tv_sec;
	to->tv_nsec = from.tv_nsec;
}

int attributes_get(const struct path *path, u32 mask,
		   struct user_namespace *ns, struct syscript_stat *to)
{
	struct kstat stat __uninitialized;
	int err;

	err = vfs_getattr(path, &stat, mask & MASK_KNOWN, AT_STATX_SYNC_AS_STAT);
	if (unlikely(err)) {
		memset(to, 0, sizeof(*to));
		return err;
	}
	if (unlikely(path->mnt->mnt_root == path->dentry))
		stat.attributes |= STATX_ATTR_MOUNT_ROOT;
	to->mask = stat.result_mask & MASK_KNOWN;
	to->blksize = stat.blksize;
	to->attributes = stat.attributes & ~COMPAT_STATX_ATTR_INTERNAL;
	to->ino = stat.ino;
	to->size = stat.size;
	to->blocks = stat.blocks;
	to->mode = stat.mode;
	to->nlink = stat.nlink;
	to->uid = uid_seen(ns, stat.uid);
	to->gid = gid_seen(ns, stat.gid);
	to->dev = new_encode_dev(stat.dev);
	to->rdev = new_encode_dev(stat.rdev);
	put_time(&to->atime, stat.atime);
	put_time(&to->btime, stat.btime);
	put_time(&to->ctime, stat.ctime);
	put_time(&to->mtime, stat.mtime);
	return 0;
}
