// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>

#include "check.h"
#include "files.h"
#include "module.h"
#include "oob_pointer.h"
#include "region.h"
#include "view.h"

static struct dentry *directory;

SAFETY_FILE(sites, kgcc_module_show_sites);
SAFETY_SETTINGS(&kgcc_registry);

static const char *const kinds[KGCC_KINDS] = {
	[KGCC_NOTHING] = "nothing",
	[KGCC_FREED] = "freed",
	[KGCC_RETURNED] = "returned",
	[KGCC_UNKNOWN] = "unknown",
	[KGCC_HEAP] = "heap",
	[KGCC_SLAB] = "slab",
	[KGCC_PAGES] = "pages",
	[KGCC_REGION] = "region",
	[KGCC_LOCAL] = "local",
	[KGCC_STACK] = "stack",
};

static void show_counters(struct seq_file *m)
{
	struct kgcc_lookups sum;
	u64 all = 0;

	kgcc_module_show_totals(m);
	kgcc_check_sum(&sum);
	for (int i = 0; i < KGCC_KINDS; i++)
		all += sum.kind[i];
	seq_printf(m, "lookups\t%llu\n", all);
	for (int i = 0; i < KGCC_KINDS; i++)
		seq_printf(m, "lookup\t%s\t%llu\n", kinds[i], sum.kind[i]);
	seq_printf(m, "memory\tlookups\t%zu\n",
		   sizeof(struct kgcc_kept) * KGCC_SLOTS * num_possible_cpus());
	seq_printf(m, "memory\tvariables\t%zu\n", kgcc_region_bytes());
	seq_printf(m, "memory\tpeers\t%zu\n", kgcc_peer_bytes());
}
SAFETY_FILE(counters, show_counters);

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
