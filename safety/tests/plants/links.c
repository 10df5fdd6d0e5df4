// SPDX-License-Identifier: GPL-2.0
/* Lists, and objects that the kernel refers to: timers and work. */
#include <linux/list.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "plants.h"

void list_added_twice(void)
{
	LIST_HEAD(list);
	struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);

	list_add(&node->link, &list);
	list_add(&node->link, &list);
}

void list_removed_twice(void)
{
	LIST_HEAD(list);
	struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);

	list_add(&node->link, &list);
	list_del(&node->link);
	list_del(&node->link);
}

void list_unmade(void)
{
	struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);

	list_del(&node->link);
}

/* An object still on the list is freed, and its neighbour writes to it. */
void list_freed_on(void)
{
	LIST_HEAD(list);
	struct item *first = own_object(), *second = kzalloc(sizeof(*second), GFP_KERNEL);

	list_add(&first->link, &list);
	kmem_cache_free(own_cache(), first);
	list_add(&second->link, &list);
	list_del(&second->link);
	kfree(second);
}

/* The list's head is used as an entry. */
void list_head_as_entry(void)
{
	struct { u64 before; struct list_head list; } *owner = kzalloc(24, GFP_KERNEL);
	struct { u64 values[3]; struct list_head link; } *entry;

	INIT_LIST_HEAD(&owner->list);
	entry = list_first_entry(&owner->list, typeof(*entry), link);
	sink = READ_ONCE(entry->values[0]);
	kfree(owner);
}

void list_past_end(void)
{
	struct { struct list_head list; } *owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	struct entry { struct list_head link; u64 value; } *entry;

	INIT_LIST_HEAD(&owner->list);
	list_for_each_entry(entry, &owner->list, link)
		if (entry->value)
			break;
	sink = READ_ONCE(entry->value);
	kfree(owner);
}

void link_timer_twice(void)
{
	struct timer_list *timer = own_object();

	timer_setup(timer, NULL, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	add_timer(timer);
	del_timer_sync(timer);
}

void link_timer_unmade(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	del_timer_sync(timer);
	kfree(timer);
}

void link_work_unmade(void)
{
	struct work_struct *work = kzalloc(sizeof(*work), GFP_KERNEL);

	cancel_work_sync(work);
	kfree(work);
}
