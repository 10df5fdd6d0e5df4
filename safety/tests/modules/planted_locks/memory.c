// SPDX-License-Identifier: GPL-2.0
/* Memory of each allocator that is not freed, or twice. */
#include <linux/gfp.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "planted_locks.h"

static void *leaked;

void alloc_leak(void)
{
	/* Stored after the call: otherwise the call would be the last statement, a jump. */
	WRITE_ONCE(leaked, kmalloc(123, GFP_KERNEL));
}

void vmalloc_leak(void)
{
	WRITE_ONCE(leaked, vmalloc(12345));
}

void pages_leak(void)
{
	WRITE_ONCE(leaked, alloc_pages(GFP_KERNEL, 1));
}

void page_leak(void)
{
	WRITE_ONCE(leaked, (void *)get_zeroed_page(GFP_KERNEL));
}

void percpu_leak(void)
{
	WRITE_ONCE(leaked, (void *)(__force unsigned long)__alloc_percpu(24, 8));
}

void skb_leak(void)
{
	WRITE_ONCE(leaked, alloc_skb(777, GFP_KERNEL));
}

void clone_leak(void)
{
	struct sk_buff *skb = alloc_skb(777, GFP_KERNEL);

	if (skb)
		WRITE_ONCE(leaked, skb_clone(skb, GFP_KERNEL));
	kfree_skb(skb);
}

void sound_memory(void)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1);
	void __percpu *percpu = __alloc_percpu(24, 8);
	struct sk_buff *skb = alloc_skb(777, GFP_KERNEL);

	vfree(vmalloc(12345));
	kvfree(kvmalloc(100000, GFP_KERNEL));
	if (page)
		__free_pages(page, 1);
	free_page(get_zeroed_page(GFP_KERNEL));
	free_percpu(percpu);
	kfree_skb(skb_clone(skb, GFP_KERNEL));
	kfree_skb(skb);
	consume_skb(alloc_skb(777, GFP_KERNEL));
}

static size_t no_bytes;

/* Bulk frees happen long after; objects of zero bytes are never freed. */
void sound_alloc(void)
{
	size_t none = READ_ONCE(no_bytes);
	struct later { long data; struct rcu_head rcu; } *later;
	void *many[] = { kmalloc(100, GFP_KERNEL), kmalloc(200, GFP_KERNEL) };

	if (many[0] && many[1])
		kfree_bulk(ARRAY_SIZE(many), many);
	later = kmalloc(sizeof(*later), GFP_KERNEL);
	kfree_rcu(later, rcu);
	kvfree_rcu_mightsleep(kmalloc(300, GFP_KERNEL));
	kvfree(kvmalloc(none, GFP_KERNEL));
	kfree(kmalloc(none, GFP_KERNEL));
}

void alloc_twice(void)
{
	void *p = kmalloc(120, GFP_KERNEL), *q = kmalloc(120, GFP_KERNEL);

	kfree(p);
	kfree(q);
	kfree(p);
}
