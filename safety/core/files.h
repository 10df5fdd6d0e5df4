/* SPDX-License-Identifier: GPL-2.0 */
/* The debugfs files that all tools have in the same form. Included by a tool's view.c. */
#ifndef SAFETY_FILES_H
#define SAFETY_FILES_H

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>

#include "registry.h"

/* A read-only file, shown by a function that takes only the seq_file. */
#define SAFETY_FILE(name, show_)					\
	static int name##_show(struct seq_file *m, void *unused)	\
	{								\
		show_(m);						\
		return 0;						\
	}								\
	DEFINE_SHOW_ATTRIBUTE(name)

/* The file "settings", to read and to write. */
#define SAFETY_SETTINGS(registry)					\
	static int settings_show(struct seq_file *m, void *unused)	\
	{								\
		registry_show(registry, m);				\
		return 0;						\
	}								\
									\
	static ssize_t settings_write(struct file *file, const char __user *text,\
				      size_t size, loff_t *offset)	\
	{								\
		return registry_write(registry, text, size);		\
	}								\
									\
	static int settings_open(struct inode *inode, struct file *file)\
	{								\
		return single_open(file, settings_show, NULL);		\
	}								\
									\
	static const struct file_operations settings_fops = {		\
		.owner = THIS_MODULE,					\
		.open = settings_open,					\
		.read = seq_read,					\
		.write = settings_write,				\
		.llseek = seq_lseek,					\
		.release = single_release,				\
	}

#endif /* SAFETY_FILES_H */
