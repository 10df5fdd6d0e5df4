/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The kernel backend: /dev/syscript and the script fds that it gives out. */
#ifndef LIB_DEVICE_H
#define LIB_DEVICE_H

#include <linux/syscript.h>

#define DEVICE_PATH	"/dev/syscript"

/* All return what the ioctl returns, or -errno. */
int device_register(struct syscript_register *reg);
int device_next(struct syscript_info *info);
int device_call(int fd, struct syscript_call *call);
int device_text(int fd, struct syscript_text *text);
int device_info(int fd, struct syscript_info *info);

#endif /* LIB_DEVICE_H */
