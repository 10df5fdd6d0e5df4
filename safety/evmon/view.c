// SPDX-License-Identifier: GPL-2.0
/* evmon's files in debugfs. */
#include "batch.h"
#include "kprobe_events.h"
#include "dispatch.h"
#include "files.h"
#include "source_loc.h"
#include "dedup.h"
#include "view.h"

static struct dentry *top;

SAFETY_FILE(places, place_show);
SAFETY_FILE(monitors, dispatch_show);
SAFETY_FILE(violations, seen_show);

static ssize_t flush_write(struct file *file, const char __user *source, size_t len,
			   loff_t *pos)
{
	batch_flush();
	return len;
}

static const struct file_operations flush_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = flush_write,
	.llseek = noop_llseek,
};

void view_init(void)
{
	top = debugfs_create_dir("evmon", NULL);
	debugfs_create_file("places", 0400, top, NULL, &places_fops);
	debugfs_create_file("monitors", 0400, top, NULL, &monitors_fops);
	debugfs_create_file("violations", 0400, top, NULL, &violations_fops);
	debugfs_create_file("calls", 0600, top, NULL, &calls_fops);
	debugfs_create_file("flush", 0200, top, NULL, &flush_fops);
}

void view_exit(void)
{
	debugfs_remove(top);
}
