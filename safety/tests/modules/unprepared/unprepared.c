// SPDX-License-Identifier: GPL-2.0
/*
 * A module built without evmon that misbehaves on request: write a word to
 * /sys/kernel/debug/unprepared.
 *
 *   sound	takes a reference and the locks, and releases them
 *   twice	drops the only reference two times
 *   sleep	sleeps with the spinlock held
 *   other	has another task release the mutex
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

struct thing {
	long size;
	atomic_t users;
};

static struct thing thing = { .users = ATOMIC_INIT(1) };
static DEFINE_SPINLOCK(unprepared_spin);
static DEFINE_SPINLOCK(unprepared_other);
static DEFINE_MUTEX(unprepared_mutex);
static struct dentry *file;

noinline struct thing *unprepared_get(struct thing *t)
{
	atomic_inc(&t->users);
	return t;
}

noinline void unprepared_put(long unused, struct thing *t)
{
	atomic_dec_if_positive(&t->users);
}

static void use_locks(void)
{
	spin_lock(&unprepared_spin);
	spin_unlock(&unprepared_spin);
	spin_lock(&unprepared_other);
	spin_unlock(&unprepared_other);
	mutex_lock(&unprepared_mutex);
	mutex_unlock(&unprepared_mutex);
}

static void in_work(struct work_struct *work)
{
	mutex_unlock(&unprepared_mutex);
	/* Not a tail call: it must return here. */
	barrier();
}
static DECLARE_WORK(work, in_work);

static int do_word(const char *word)
{
	if (!strcmp(word, "sound")) {
		unprepared_put(0, unprepared_get(&thing));
		use_locks();
	} else if (!strcmp(word, "twice")) {
		unprepared_put(0, &thing);
		unprepared_put(0, &thing);
	} else if (!strcmp(word, "sleep")) {
		spin_lock(&unprepared_spin);
		/* Otherwise the kernel itself would complain. */
		preempt_enable();
		msleep(5);
		preempt_disable();
		spin_unlock(&unprepared_spin);
	} else if (!strcmp(word, "other")) {
		mutex_lock(&unprepared_mutex);
		schedule_work(&work);
		flush_work(&work);
	} else {
		return -EINVAL;
	}
	return 0;
}

static ssize_t write(struct file *f, const char __user *from, size_t len, loff_t *pos)
{
	char word[16] = {};
	int err;

	if (len >= sizeof(word) || copy_from_user(word, from, len))
		return -EINVAL;
	err = do_word(strim(word));
	return err ?: len;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = write,
};

static int __init unprepared_init(void)
{
	file = debugfs_create_file("unprepared", 0200, NULL, NULL, &operations);
	return 0;
}

static void __exit unprepared_exit(void)
{
	debugfs_remove(file);
}

module_init(unprepared_init);
module_exit(unprepared_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A module that was not built with evmon");
