// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2022-41674 (cfg80211): one element of a list is skipped. Its length with its
 * header is kept in eight bits: with 254 bytes it wraps to 0.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

static bool fixed;
module_param(fixed, bool, 0444);

/* An element is its number, its length, its bytes. */
static noinline char *without(const u8 *elements, size_t len, const u8 *element)
{
	size_t rest_len, before = element - elements;
	u8 short_len = element[1] + 2;
	size_t skipped = fixed ? element[1] + 2 : short_len;
	char *copy;

	/* The size without the element: correct, computed as an int. */
	copy = kmalloc(len - (element[1] + 2), GFP_KERNEL);
	if (!copy)
		return NULL;
	/* Otherwise newer compilers pass the size on to memcpy(), which checks it itself. */
	OPTIMIZER_HIDE_VAR(copy);
	memcpy(copy, elements, before);
	rest_len = len - before - skipped;
	memcpy(copy + before, element + skipped, rest_len);
	return copy;
}

static int __init trigger(void)
{
	static u8 elements[600];
	size_t len = 20 + 256 + 30;

	/* 20 bytes, the element of 254 + 2, and 30 bytes after it. */
	elements[20] = 71;
	elements[21] = 254;
	/* The size comes over the air: the compiler must not know it. */
	OPTIMIZER_HIDE_VAR(len);
	kfree(without(elements, len, elements + 20));
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2022-41674");
