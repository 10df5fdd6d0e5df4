// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "check.h"
#include "module.h"
#include "peer.h"
#include "region.h"
#include "view.h"

#define LINE_MAX_BYTES	4096

static struct dentry *directory;

static int sites_show(struct seq_file *m, void *unused)
{
	kgcc_module_show_sites(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

static const char *const kinds[KGCC_KINDS] = {
	[KGCC_NOTHING] = "nothing",
	[KGCC_UNKNOWN] = "unknown",
	[KGCC_HEAP] = "heap",
	[KGCC_FREED] = "freed",
	[KGCC_SLAB] = "slab",
	[KGCC_PAGES] = "pages",
	[KGCC_REGION] = "region",
	[KGCC_LOCAL] = "local",
	[KGCC_STACK] = "stack",
};

static int counters_show(struct seq_file *m, void *unused)
{
	struct kgcc_lookups sum;

	kgcc_module_show_totals(m);
	kgcc_check_sum(&sum);
	seq_printf(m, "lookups\t%llu\n", sum.slow);
	for (int i = 0; i < KGCC_KINDS; i++)
		seq_printf(m, "lookup\t%s\t%llu\n", kinds[i], sum.kind[i]);
	seq_printf(m, "memory\tlookups\t%zu\n",
		   sizeof(struct kgcc_kept) * KGCC_SLOTS * num_possible_cpus());
	seq_printf(m, "memory\tvariables\t%zu\n", kgcc_region_bytes());
	seq_printf(m, "memory\tpeers\t%zu\n", kgcc_peer_bytes());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int settings_show(struct seq_file *m, void *unused)
{
	kgcc_module_show_settings(m);
	return 0;
}

static int settings_open(struct inode *inode, struct file *file)
{
	return single_open(file, settings_show, NULL);
}

/* Lines, each as kgcc_module_set() has it; those before a bad one count. */
static ssize_t settings_write(struct file *file, const char __user *text, size_t size,
			      loff_t *offset)
{
	char *copy, *rest, *line;
	int err = 0;

	if (size > LINE_MAX_BYTES)
		return -E2BIG;
	copy = rest = memdup_user_nul(text, size);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	while (!err && (line = strsep(&rest, "\n")))
		err = kgcc_module_set(line);
	kfree(copy);
	return err ?: size;
}

static const struct file_operations settings_fops = {
	.owner = THIS_MODULE,
	.open = settings_open,
	.read = seq_read,
	.write = settings_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void kgcc_view_init(void)
{
	directory = debugfs_create_dir("kgcc", NULL);
	debugfs_create_file("sites", 0400, directory, NULL, &sites_fops);
	debugfs_create_file("counters", 0400, directory, NULL, &counters_fops);
	debugfs_create_file("settings", 0600, directory, NULL, &settings_fops);
}

void kgcc_view_exit(void)
{
	debugfs_remove_recursive(directory);
}
