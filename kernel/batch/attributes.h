/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's attributes of a file to the program's. */
#ifndef SYSCRIPT_ATTRIBUTES_H
#define SYSCRIPT_ATTRIBUTES_H

#include <linux/path.h>
#include <linux/types.h>
#include <uapi/syscript_files.h>

struct user_namespace;

static inline bool attributes_is_dot(const char *name, size_t len)
{
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

/*
 * What statx(2) does once it has found the file: the security modules are asked,
 * then the file system.  0 or -errno, and then @stat is zero.
 */
int attributes_get(const struct path *path, u32 mask,
		   struct user_namespace *ns, struct syscript_stat *stat);

/**
 * struct attributes_parent - a directory whose names are looked up one after another
 * @path:   the directory; whoever has it keeps it
 * @ns:     of the current task
 * @denied: 0, or why no one may look anything up in it
 * @cached: the dcache alone knows what is which name
 */
struct attributes_parent {
	struct path path;
	struct user_namespace *ns;
	int denied;
	bool cached;
};

void attributes_parent_init(struct attributes_parent *parent, const struct path *path);

/*
 * Attributes of the file @name of @parent, if it is in the dcache and plainly a
 * file: no mount point, nothing that its file system has to look at again.
 * -ESTALE if it is not: then path resolution has to say.
 */
int attributes_cached(const struct attributes_parent *parent, const char *name,
		      unsigned int len, bool follow, u32 mask,
		      struct syscript_stat *stat);

#endif /* SYSCRIPT_ATTRIBUTES_H */
