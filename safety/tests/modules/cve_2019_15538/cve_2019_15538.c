// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2019-15538 (xfs): a change of group takes the inode's lock, and
 * the error path of a quota that is full leaves without releasing it.
 */
#include <linux/module.h>
#include <linux/rwsem.h>

static bool fixed;
module_param(fixed, bool, 0444);

static struct {
	struct rw_semaphore lock;
	int group, quota;
} inode;

static int change_group(int group)
{
	int err = 0;

	down_write(&inode.lock);
	if (!inode.quota) {
		err = -EDQUOT;
		if (!fixed)
			return err;
		goto unlock;
	}
	inode.group = group;
unlock:
	up_write(&inode.lock);
	return err;
}

static int __init trigger(void)
{
	init_rwsem(&inode.lock);
	change_group(1000);
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2019-15538");
