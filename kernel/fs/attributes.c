// SPDX-License-Identifier: GPL-2.0
/*
 * Implements attributes.h. statx(2) spends most of its time on resolving the path; here the
 * directory is already known, and a name in the dcache needs no more than a hash lookup.
 * Whatever else path resolution would do is left to it.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xattr.h>

#include "compat.h"
#include "attributes.h"
#include "syscall_observers.h"

#define MASK_KNOWN	(STATX_BASIC_STATS | STATX_BTIME)

/* An inline from_kuid_munged(): the function would take most of the time to fill a record. */
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

static bool is_none(ssize_t err)
{
	return err == -ENODATA || err == -EOPNOTSUPP;
}

static bool no_acl(const struct path *path)
{
	return is_none(compat_acl_size(path, XATTR_NAME_POSIX_ACL_ACCESS)) &&
	       (!d_is_dir(path->dentry) ||
		is_none(compat_acl_size(path, XATTR_NAME_POSIX_ACL_DEFAULT)));
}

static bool no_xattr(const struct path *path)
{
	ssize_t size = vfs_listxattr(path->dentry, NULL, 0);

	return !size || is_none(size);
}

/*
 * Gets the attributes in @mask that the file lacks, through the functions of the system calls, so
 * that LSMs are asked as for those.  Observers are not asked: they see only the program's own
 * calls.
 */
static noinline u32 get_missing(const struct path *path, u32 mask)
{
	u32 missing = 0;

	if (observers_watch())
		return 0;
	if ((mask & SYSCRIPT_NO_ACL) && no_acl(path))
		missing |= SYSCRIPT_NO_ACL;
	if ((mask & SYSCRIPT_NO_LABEL) &&
	    is_none(compat_getxattr_size(path, XATTR_NAME_SELINUX)))
		missing |= SYSCRIPT_NO_LABEL;
	if ((mask & SYSCRIPT_NO_XATTR) && no_xattr(path))
		missing |= SYSCRIPT_NO_XATTR;
	return missing;
}

/* Inline, because it is called for each entry of a directory. */
static __always_inline int attributes_of(const struct path *path, u32 mask,
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
	if (mask & ATTRIBUTES_XATTRS)
		to->mask |= get_missing(path, mask);
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

int attributes_get(const struct path *path, u32 mask,
		   struct user_namespace *ns, struct syscript_stat *to)
{
	return attributes_of(path, mask, ns, to);
}

void attributes_parent_init(struct attributes_parent *parent, const struct path *path)
{
	parent->path = *path;
	parent->ns = current_user_ns();
	parent->denied = compat_inode_permission(path, MAY_EXEC);
	parent->cached = !(path->dentry->d_flags &
			   (DCACHE_OP_HASH | DCACHE_OP_COMPARE));
}

static inline bool is_plain(const struct dentry *dentry, bool follow)
{
	return d_is_positive(dentry) && !(follow && d_is_symlink(dentry)) &&
	       !(dentry->d_flags & (DCACHE_MANAGED_DENTRY | DCACHE_OP_REVALIDATE));
}

int attributes_cached(const struct attributes_parent *parent, const char *name,
		      unsigned int len, bool follow, u32 mask,
		      struct syscript_stat *stat)
{
	struct path path = { .mnt = parent->path.mnt };
	struct qstr qname = QSTR_INIT(name, len);
	int err = -ESTALE;

	if (unlikely(parent->denied))
		return parent->denied;
	if (unlikely(!parent->cached))
		return -ESTALE;
	qname.hash = full_name_hash(parent->path.dentry, name, len);
	path.dentry = d_lookup(parent->path.dentry, &qname);
	if (unlikely(!path.dentry))
		return -ESTALE;
	/* While the reference is held, the dentry stays positive. */
	if (likely(is_plain(path.dentry, follow)))
		err = attributes_of(&path, mask, parent->ns, stat);
	dput(path.dentry);
	return err;
}
