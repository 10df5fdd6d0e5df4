// SPDX-License-Identifier: GPL-2.0
/* The file that faults are requested by, and the objects with which they are made. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "planted_locks.h"

struct thing *a, *b, *c;
DEFINE_MUTEX(static_mutex);
DEFINE_SPINLOCK(static_spin);
DEFINE_RWLOCK(static_rwlock);

static struct dentry *file;

static const struct { const char *name; void (*fn)(void); } faults[] = {
#define FAULT(name)	{ #name, name },
#include "faults.def"
#undef FAULT
};

void released(struct kref *kref)
{
}

struct thing *thing_create(void)
{
	struct thing *thing = kzalloc(sizeof(*thing), GFP_KERNEL);

	if (!thing)
		return NULL;
	spin_lock_init(&thing->spin);
	mutex_init(&thing->mutex);
	init_rwsem(&thing->rwsem);
	sema_init(&thing->sem, 1);
	rwlock_init(&thing->rwlock);
	return thing;
}

static int run(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, name))
			continue;
		/* A new object for each: state of the last one must not affect it. */
		c = thing_create();
		if (!c)
			return -ENOMEM;
		faults[i].fn();
		return 0;
	}
	return -ENOENT;
}

/* "NAME" or "NAME COUNT". */
static ssize_t planted_write(struct file *f, const char __user *from, size_t len,
			     loff_t *pos)
{
	char text[64], name[32];
	int times = 1, err = 0;

	if (len >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';
	sscanf(text, "%31s %d", name, &times);
	while (times-- > 0 && !err)
		err = run(name);
	return err ?: len;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.write = planted_write,
};

static int __init planted_init(void)
{
	a = thing_create();
	b = thing_create();
	if (!a || !b)
		return -ENOMEM;
	file = debugfs_create_file("planted_locks", 0200, NULL, NULL, &fops);
	return 0;
}

static void __exit planted_exit(void)
{
	debugfs_remove(file);
	kfree(a);
	kfree(b);
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults with locks to order, for the tests of the safety kit");
