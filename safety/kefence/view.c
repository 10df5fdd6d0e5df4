// SPDX-License-Identifier: GPL-2.0
/* What can be seen and set in debugfs. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "client.h"
#include "pool.h"
#include "site.h"
#include "view.h"
#include "violation.h"

static struct dentry *top;

static int sites_show(struct seq_file *m, void *data)
{
	site_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

static int modules_show(struct seq_file *m, void *data)
{
	client_show_counts(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(modules);

static int violations_show(struct seq_file *m, void *data)
{
	violation_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(violations);

static int pool_show(struct seq_file *m, void *data)
{
	struct pool_stats stats;
	unsigned int class;

	pool_stats(&stats);
	seq_printf(m, "budget\t%lu\npages\t%lu\nfailed\t%lu\n", stats.budget,
		   stats.pages, stats.failed);
	for (class = POOL_CLASS_MIN; class <= POOL_CLASS_MAX; class++)
		seq_printf(m, "slots of %u pages\t%lu\tfree\t%lu\n", 1U << class,
			   stats.slots[class], stats.free[class]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pool);

static int settings_show(struct seq_file *m, void *data)
{
	client_show(m);
	return 0;
}

static ssize_t settings_write(struct file *file, const char __user *source, size_t len,
			      loff_t *pos)
{
	char *text;
	int err;

	if (len > PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(source, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = client_set(text);
	kfree(text);
	return err ?: len;
}

static int settings_open(struct inode *inode, struct file *file)
{
	return single_open(file, settings_show, NULL);
}

static const struct file_operations settings_fops = {
	.owner = THIS_MODULE,
	.open = settings_open,
	.read = seq_read,
	.write = settings_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void view_init(void)
{
	top = debugfs_create_dir("kefence", NULL);
	debugfs_create_file("settings", 0600, top, NULL, &settings_fops);
	debugfs_create_file("sites", 0400, top, NULL, &sites_fops);
	debugfs_create_file("modules", 0400, top, NULL, &modules_fops);
	debugfs_create_file("pool", 0400, top, NULL, &pool_fops);
	debugfs_create_file("violations", 0400, top, NULL, &violations_fops);
}

void view_exit(void)
{
	debugfs_remove(top);
}
