/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's attributes of a file to the program's. */
#ifndef SYSCRIPT_ATTRIBUTES_H
#define SYSCRIPT_ATTRIBUTES_H

#include <linux/path.h>
#include <linux/types.h>
#include <uapi/syscript_files.h>

struct user_namespace;

/*
 * What statx(2) does once it has found the file: the security modules are asked,
 * then the file system.  0 or -errno, and then @stat is zero.
 */
int attributes_get(const struct path *path, u32 mask,
		   struct user_namespace *ns, struct syscript_stat *stat);

#endif /* SYSCRIPT_ATTRIBUTES_H */
