/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices and the script fds: the requests of uapi/syscript.h.
 *
 * /dev/syscript is for the confined engine, and may be opened to all users. The module of an
 * engine that needs more trust adds its own device, whose permissions say who may use it.
 */
#ifndef SYSCRIPT_DEVICE_H
#define SYSCRIPT_DEVICE_H

#include <linux/fs.h>
#include <linux/miscdevice.h>

struct engine_ops;

/**
 * struct script_device - a device that takes scripts and programs
 * @misc: its name, minor and operations: DEVICE_OPS
 * @only: the only engine that it takes them for, or NULL for all
 */
struct script_device {
	struct miscdevice misc;
	const struct engine_ops *only;
};

long script_device_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int script_device_mmap(struct file *file, struct vm_area_struct *vma);

/*
 * In the module that owns the node: each open file, and each script, holds a reference to that
 * module.
 */
#define DEVICE_OPS					\
	{						\
		.owner = THIS_MODULE,			\
		.unlocked_ioctl = script_device_ioctl,		\
		.mmap = script_device_mmap,			\
		.llseek = noop_llseek,			\
	}

/* 0, -EINVAL for an invalid @mode, or -errno. */
int script_device_add(struct script_device *node, unsigned short mode);
void script_device_remove(struct script_device *node);

int device_init(void);
void device_exit(void);

#endif /* SYSCRIPT_DEVICE_H */
