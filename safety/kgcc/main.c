// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "check.h"
#include "heap.h"
#include "module.h"
#include "region.h"
#include "report.h"
#include "slab.h"
#include "view.h"

static int __init kgcc_init(void)
{
	int err;

	report_init();
	err = kgcc_slab_init();
	if (err)
		return err;
	err = kgcc_heap_init();
	if (err)
		return err;
	err = kgcc_check_init();
	if (err)
		goto heap;
	err = kgcc_module_init();
	if (err)
		goto check;
	kgcc_view_init();
	return 0;
check:
	kgcc_check_exit();
heap:
	kgcc_heap_exit();
	return err;
}

static void __exit kgcc_exit(void)
{
	kgcc_view_exit();
	kgcc_module_exit();
	report_exit();
	kgcc_check_exit();
	kgcc_region_exit();
	kgcc_heap_exit();
}

module_init(kgcc_init);
module_exit(kgcc_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Checks of the pointers of modules that were compiled for it");
