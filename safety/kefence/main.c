// SPDX-License-Identifier: GPL-2.0
/* kefence.ko: guarded memory for instrumented modules.  Loading and unloading. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <asm/cpufeature.h>

#include "cache.h"
#include "client.h"
#include "compat.h"
#include "corefree.h"
#include "fault.h"
#include "object.h"
#include "pool.h"
#include "report.h"
#include "site.h"
#include "view.h"

#define KEFENCE_VERSION	"0.1.0"

/* At most 1 / BUDGET_SHARE of the machine's memory may become slots. */
#define BUDGET_SHARE	16

static unsigned long budget;
module_param(budget, ulong, 0444);
MODULE_PARM_DESC(budget, "pages for guarded objects; by default a sixteenth of all");

static char *settings;
module_param(settings, charp, 0444);
MODULE_PARM_DESC(settings, "settings of modules, as in debugfs, lines by semicolon");

static int __init kefence_init(void)
{
	int err;

	/* In a Xen PV guest the kernel cannot write page tables directly. */
	if (boot_cpu_has(X86_FEATURE_XENPV)) {
		pr_err("not in a paravirtualized Xen domain\n");
		return -EOPNOTSUPP;
	}
	if (!budget)
		budget = totalram_pages() / BUDGET_SHARE;
	err = site_init();
	if (err)
		return err;
	err = pool_init(budget);
	if (err)
		goto exit_site;
	report_init();
	err = corefree_init();
	if (err)
		goto exit_pool;
	err = fault_init();
	if (err)
		goto exit_corefree;
	err = client_init();
	if (err)
		goto exit_fault;
	err = registry_set_parameter(&client_registry, settings);
	if (err)
		goto exit_client;
	view_init();
	pr_info("version " KEFENCE_VERSION " loaded, up to %lu MiB for guarded objects\n",
		budget >> (20 - PAGE_SHIFT));
	return 0;

exit_client:
	client_exit();
exit_fault:
	fault_exit();
exit_corefree:
	corefree_exit();
exit_pool:
	pool_exit();
exit_site:
	site_exit();
	return err;
}

/* Instrumented modules use this module's symbols: by now none is loaded. */
static void __exit kefence_exit(void)
{
	view_exit();
	client_exit();
	object_flush();
	corefree_exit();
	fault_exit();
	report_exit();
	pool_exit();
	cache_exit();
	site_exit();
}

module_init(kefence_init);
module_exit(kefence_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("Guarded memory: finds overruns and uses after free of modules");
MODULE_VERSION(KEFENCE_VERSION);
