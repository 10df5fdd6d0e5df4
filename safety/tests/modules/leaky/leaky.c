// SPDX-License-Identifier: GPL-2.0
/* Allocates memory and does not free it. */
#include <linux/module.h>
#include <linux/slab.h>

static void *leaked;

static int __init leaky_init(void)
{
	WRITE_ONCE(leaked, kmalloc(100, GFP_KERNEL));
	return 0;
}

static void __exit leaky_exit(void)
{
}

module_init(leaky_init);
module_exit(leaky_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A leak, for the tests of the safety kit");
