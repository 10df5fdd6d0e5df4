// SPDX-License-Identifier: GPL-2.0
/* Memory that is never freed. */
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "plants.h"

/* Stored after the call: otherwise the call would be the last statement, a jump. */
#define LOST(name, pointer)						\
	void name(void)							\
	{								\
		other_use((void *)(pointer));				\
		sink = 0;						\
	}

LOST(leak_kmalloc, kmalloc(123, GFP_KERNEL))
LOST(leak_array, kcalloc(7, 33, GFP_KERNEL))
LOST(leak_string, kstrdup("a string that is never freed", GFP_KERNEL))
LOST(leak_copy, kmemdup("a copy that is never freed", 26, GFP_KERNEL))
LOST(leak_large, kmalloc(20000, GFP_KERNEL))
LOST(leak_kvmalloc, kvmalloc(300, GFP_KERNEL))
LOST(leak_vmalloc, vmalloc(12345))
LOST(leak_pages, alloc_pages(GFP_KERNEL, 1))
LOST(leak_page, __get_free_page(GFP_KERNEL))
LOST(leak_percpu, (__force void *)__alloc_percpu(24, 8))
LOST(leak_packet, alloc_skb(777, GFP_KERNEL))
LOST(leak_resized, krealloc(kmalloc(50, GFP_KERNEL), 500, GFP_KERNEL))
LOST(leak_mempool, mempool_create_kmalloc_pool(2, 100))
LOST(leak_workqueue, alloc_workqueue("plants", 0, 0))

static int check(const struct record *record)
{
	return off ? -EINVAL : !!record->flags;
}

static int leak_on_error_of(struct record **made)
{
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL);
	int err;

	if (!record)
		return -ENOMEM;
	err = check(record);
	if (err)
		return err;
	*made = record;
	return 0;
}

void leak_on_error(void)
{
	struct record *record = NULL;

	sink = leak_on_error_of(&record);
	kfree(record);
}

void leak_overwritten(void)
{
	void *p = kmalloc(40, GFP_KERNEL);

	other_use(p);
	p = kmalloc(50, GFP_KERNEL);
	kfree(p);
}

void leak_list(void)
{
	LIST_HEAD(list);

	for (int i = 0; i < 3; i++) {
		struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);

		list_add(&node->link, &list);
	}
	INIT_LIST_HEAD(&list);
}

void leak_member(void)
{
	struct { char *name; } *parent = kzalloc(sizeof(*parent), GFP_KERNEL);

	parent->name = kstrdup("a member's name", GFP_KERNEL);
	other_use(parent);
	kfree(parent);
}

struct referred {
	struct kref kref;
	u32 value;
};

static void release_referred(struct kref *kref)
{
	kfree(container_of(kref, struct referred, kref));
}

void leak_reference(void)
{
	struct referred *referred = kzalloc(sizeof(*referred), GFP_KERNEL);

	kref_init(&referred->kref);
	kref_get(&referred->kref);
	other_use(referred);
	kref_put(&referred->kref, release_referred);
}

void leak_clone(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL), *clone;

	clone = skb_clone(skb, GFP_KERNEL);
	other_use(clone);
	kfree_skb(skb);
}

void leak_page_reference(void)
{
	struct page *page = alloc_page(GFP_KERNEL);

	get_page(page);
	__free_page(page);
}
