// SPDX-License-Identifier: GPL-2.0
/* Use after free; double free; free of something that is not an object. */
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "plants.h"

static u8 target[64];

FREED(freed_read, u32, 10, sink = READ_ONCE(*p))
FREED(freed_write, u32, 10, WRITE_ONCE(*p, 1))
FREED(freed_small, u32, 4, sink = READ_ONCE(*p))
FREED(freed_tiny, u8, 5, sink = READ_ONCE(*p))
FREED(freed_large, u32, 5000, sink = READ_ONCE(p[4000]))
FREED(freed_copy, u8, 40, memcpy(target, p, 30 + off))
FREED(freed_set, u8, 40, memset(p, 0, 8 * off))
FREED(freed_length, char, 40, sink = strlen(p))
FREED(freed_compare, char, 40, sink = strcmp(p, "name"))
FREED(freed_to_user, u8, 40, if (copy_to_user(user, p, 8 * off)) sink = 1)
FREED(freed_atomic, atomic_t, 10, atomic_inc(p))
FREED(freed_passed, u8, 40, sink = other_read(p + 4))
FREED(freed_loop, u32, 10, for (long i = 0; i < 9 + off; i++) sink += READ_ONCE(p[i]))

void freed_cache(void)
{
	u32 *p = own_object();

	kmem_cache_free(own_cache(), p);
	sink = READ_ONCE(p[1]);
}

/* The compiler's clones have other names: free_first.constprop.0, free_rarely.part.0 */
static noinline void free_first(void **list, int which, const char *why)
{
	if (why)
		kfree(list[which]);
}

void freed_by_clone(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	void *list[] = { p };

	free_first(list, 0, "always");
	sink = READ_ONCE(*p);
}

static void end_record(struct record *record)
{
	if (likely(!record->flags))
		return;
	record->tail = 0;
	other_use(record);
	kfree(record);
}

void freed_by_part(void)
{
	struct record *record = kzalloc(40, GFP_KERNEL), kept = {};

	record->flags = off;
	end_record(&kept);
	end_record(record);
	sink = READ_ONCE(record->key);
}

static noinline void drop_of(const struct window *window)
{
	kfree(window->start);
}

void freed_by_member(void)
{
	struct window window = { kzalloc(40, GFP_KERNEL) };

	drop_of(&window);
	sink = READ_ONCE(*window.start);
}

void freed_by_other(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	other_unref(p);
	sink = READ_ONCE(*p);
}

void freed_by_pointer(void)
{
	static const struct { void (*end)(void *p); } operations = { other_unref };
	const typeof(operations) *by = &operations;
	u32 *p = kzalloc(40, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(by);
	by->end(p);
	sink = READ_ONCE(*p);
}

void freed_resized(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *q = krealloc(p, 400, GFP_KERNEL);

	sink = READ_ONCE(*p);
	kfree(q);
}

static void *waited_for;
static struct completion waiting;

static void free_waited_for(void)
{
	kfree(waited_for);
	complete(&waiting);
}

static void in_work(struct work_struct *unused)
{
	free_waited_for();
}
static DECLARE_WORK(work, in_work);

void freed_during_wait(void)
{
	u32 *p = waited_for = kzalloc(40, GFP_KERNEL);

	init_completion(&waiting);
	sink = READ_ONCE(*p);
	schedule_work(&work);
	wait_for_completion(&waiting);
	sink = READ_ONCE(*p);
}

static void *shared;

static void free_shared(void)
{
	kfree(shared);
}

void freed_in_softirq(void)
{
	u32 *p = shared = kzalloc(40, GFP_KERNEL);

	in_softirq_of(free_shared);
	sink = READ_ONCE(*p);
}

void freed_in_hardirq(void)
{
	u32 *p = shared = kzalloc(40, GFP_KERNEL);

	in_hardirq_of(free_shared);
	sink = READ_ONCE(*p);
}

static void read_shared(void)
{
	sink = READ_ONCE(*(u32 *)shared);
}

void freed_read_in_softirq(void)
{
	shared = kzalloc(40, GFP_KERNEL);
	kfree(shared);
	in_softirq_of(read_shared);
}

void freed_list(void)
{
	struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);
	LIST_HEAD(list);

	list_add(&node->link, &list);
	list_for_each_entry(node, &list, link)
		kfree(node);
}

void freed_list_after(void)
{
	struct item *node = kzalloc(sizeof(*node), GFP_KERNEL);
	LIST_HEAD(list);

	list_add(&node->link, &list);
	kfree(node);
	list_for_each_entry(node, &list, link)
		sink += READ_ONCE(node->value);
}

struct later {
	u64 value;
	struct rcu_head rcu;
};

static void free_later(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct later, rcu));
}

void freed_rcu(void)
{
	struct later *later = kzalloc(sizeof(*later), GFP_KERNEL);

	call_rcu(&later->rcu, free_later);
	rcu_barrier();
	sink = READ_ONCE(later->value);
}

void freed_rcu_by_kernel(void)
{
	struct later *later = kzalloc(sizeof(*later), GFP_KERNEL);

	kfree_rcu(later, rcu);
	rcu_barrier();
	/* Some milliseconds more: frees are batched. */
	schedule_timeout_uninterruptible(HZ / 5);
	rcu_barrier();
	sink = READ_ONCE(later->value);
}

struct referred {
	struct kref kref;
	u32 value;
};

static void release_referred(struct kref *kref)
{
	kfree(container_of(kref, struct referred, kref));
}

void freed_reference(void)
{
	struct referred *referred = kzalloc(sizeof(*referred), GFP_KERNEL);

	kref_init(&referred->kref);
	kref_put(&referred->kref, release_referred);
	sink = READ_ONCE(referred->value);
}

void freed_parent(void)
{
	struct table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	char *name = table->name;

	kfree(table);
	sink = other_read(name);
}

/* The slot holds another object when the first pointer is used. */
void freed_again_used(void)
{
	u32 *p = kmem_cache_alloc(own_cache(), GFP_KERNEL), *q;

	kmem_cache_free(own_cache(), p);
	q = kmem_cache_alloc(own_cache(), GFP_KERNEL);
	sink = READ_ONCE(*p);
	kmem_cache_free(own_cache(), q);
}

void freed_vmalloc(void)
{
	u32 *p = vzalloc(5000);

	vfree(p);
	sink = READ_ONCE(*p);
}

void freed_pages(void)
{
	u32 *p = (u32 *)__get_free_pages(GFP_KERNEL, 1);

	free_pages((unsigned long)p, 1);
	sink = READ_ONCE(*p);
}

void freed_percpu(void)
{
	u8 __percpu *p = __alloc_percpu(13, 16);

	free_percpu(p);
	sink = READ_ONCE(*per_cpu_ptr(p, 0));
}

void freed_mempool(void)
{
	mempool_t *pool = mempool_create_kmalloc_pool(1, 40);
	u32 *p = mempool_alloc(pool, GFP_KERNEL), *q = mempool_alloc(pool, GFP_KERNEL);

	mempool_free(q, pool);
	mempool_free(p, pool);
	sink = READ_ONCE(*p);
	mempool_destroy(pool);
}

void freed_packet(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);

	kfree_skb(skb);
	sink = READ_ONCE(skb->len);
}

void freed_packet_data(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);
	u8 *data = skb_put(skb, 20);

	kfree_skb(skb);
	sink = READ_ONCE(data[3]);
}

void freed_completion(void)
{
	struct completion *done = kzalloc(sizeof(*done), GFP_KERNEL);

	init_completion(done);
	kfree(done);
	sink = READ_ONCE(done->done);
}

/*
 * The timer wheel's fields are outside those that the cache overwrites; it is freed a little later.
 */
void freed_timer(void)
{
	struct timer_list *timer = own_object();

	memset(timer, 0, sizeof(*timer));
	timer_setup(timer, NULL, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kmem_cache_free(own_cache(), timer);
	del_timer(timer);
}

/* -- freed twice ----------------------------------------------------------------- */

FREED(twice, u32, 10, kfree(p))

void twice_between(void)
{
	void *p = own_object(), *q = own_object();

	kmem_cache_free(own_cache(), p);
	kmem_cache_free(own_cache(), q);
	kmem_cache_free(own_cache(), p);
}

void twice_sensitive(void)
{
	void *p = kzalloc(40, GFP_KERNEL);

	kfree(p);
	kfree_sensitive(p);
}

void twice_by_other(void)
{
	void *p = kzalloc(40, GFP_KERNEL);

	other_unref(p);
	other_unref(p);
}

void twice_vmalloc(void)
{
	void *p = vzalloc(5000);

	vfree(p);
	vfree(p);
}

void twice_reference(void)
{
	struct referred *referred = kzalloc(sizeof(*referred), GFP_KERNEL);

	kref_init(&referred->kref);
	kref_put(&referred->kref, release_referred);
	kref_put(&referred->kref, release_referred);
}

void twice_resized(void)
{
	void *p = kzalloc(40, GFP_KERNEL), *q = krealloc(p, 400, GFP_KERNEL);

	kfree(p);
	kfree(q);
}

/* -- no object ------------------------------------------------------------------- */

void invalid_inside(void)
{
	u8 *p = kzalloc(60, GFP_KERNEL);

	kfree(p + 8 * off);
}

void invalid_cache(void)
{
	struct kmem_cache *other = kmem_cache_create("plants_other", 200, 0, 0, NULL);
	void *p = kmem_cache_alloc(other, GFP_KERNEL);

	kmem_cache_free(own_cache(), p);
}

void invalid_vfree(void)
{
	void *p = kzalloc(40, GFP_KERNEL);

	vfree(p);
}

void invalid_local(void)
{
	u8 local[64], *p = local;

	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
}

void invalid_global(void)
{
	void *p = target;

	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
}
