/* SPDX-License-Identifier: GPL-2.0 */
/* Converts the kernel's attributes of a file to the program's struct syscript_stat. */
#ifndef SYSCRIPT_ATTRIBUTES_H
#define SYSCRIPT_ATTRIBUTES_H

#include <linux/path.h>
#include <linux/types.h>
#include <uapi/syscript_files.h>

struct user_namespace;

/* Bits of masks in addition to those of statx(2). */
#define ATTRIBUTES_XATTRS	(SYSCRIPT_NO_ACL | SYSCRIPT_NO_LABEL | SYSCRIPT_NO_XATTR)

static inline bool attributes_is_dot(const char *name, size_t len)
{
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

/*
 * Does what statx(2) does once the file is found: asks the LSMs, then the file system.  0; or
 * -errno, with @stat zeroed.
 */
int attributes_get(const struct path *path, u32 mask,
		   struct user_namespace *ns, struct syscript_stat *stat);

/**
 * struct attributes_parent - a directory whose names are looked up one after another
 * @path:   the directory; referenced by the owner of this structure
 * @ns:     of the current task
 * @denied: 0, or the error that all lookups in it get
 * @cached: names can be looked up in the dcache alone
 */
struct attributes_parent {
	struct path path;
	struct user_namespace *ns;
	int denied;
	bool cached;
};

void attributes_parent_init(struct attributes_parent *parent, const struct path *path);

/*
 * Gets the attributes of the file @name in @parent if the name is in the dcache, is no mount
 * point, and needs no revalidation by its file system. Otherwise -ESTALE: the path has to be
 * resolved.
 */
int attributes_cached(const struct attributes_parent *parent, const char *name,
		      unsigned int len, bool follow, u32 mask,
		      struct syscript_stat *stat);

#endif /* SYSCRIPT_ATTRIBUTES_H */
