// SPDX-License-Identifier: GPL-2.0
/* Kefence's files in debugfs. */
#include "client.h"
#include "files.h"
#include "pool.h"
#include "site.h"
#include "view.h"
#include "violation.h"

static struct dentry *top;

SAFETY_FILE(sites, site_show);
SAFETY_FILE(modules, client_show_counts);
SAFETY_FILE(violations, violation_show);
SAFETY_SETTINGS(&client_registry);

static void show_pool(struct seq_file *m)
{
	struct pool_stats stats;
	unsigned int class;

	pool_stats(&stats);
	seq_printf(m, "budget\t%lu\npages\t%lu\nfailed\t%lu\n", stats.budget,
		   stats.pages, stats.failed);
	for (class = POOL_CLASS_MIN; class <= POOL_CLASS_MAX; class++)
		seq_printf(m, "slots of %u pages\t%lu\tfree\t%lu\n", 1U << class,
			   stats.slots[class], stats.free[class]);
}
SAFETY_FILE(pool, show_pool);

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
