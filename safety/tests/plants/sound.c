// SPDX-License-Identifier: GPL-2.0
/* Correct code that looks faulty: no tool may report it. */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/seqlock.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "plants.h"

/* -- pointers -------------------------------------------------------------------- */

void sound_list(void)
{
	struct { struct list_head list; } *owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	struct item *node, *next;

	INIT_LIST_HEAD(&owner->list);
	for (int i = 0; i < 5; i++) {
		node = kzalloc(sizeof(*node), GFP_KERNEL);
		list_add(&node->link, &owner->list);
	}
	/* After the loop the cursor is not an entry; its address is before the owner. */
	list_for_each_entry(node, &owner->list, link)
		sink += node->value;
	sink = list_entry_is_head(node, &owner->list, link);
	list_for_each_entry_safe(node, next, &owner->list, link) {
		list_del(&node->link);
		kfree(node);
	}
	kfree(owner);
}

void sound_end(void)
{
	u32 *p = kzalloc(48, GFP_KERNEL), *end = p + 12;
	struct window window = { (u8 *)p, (u8 *)end };

	for (u32 *q = p; q < end; q++)
		sink += *q;
	for (u32 *q = end; q-- > p;)
		sink += *q;
	sink = other_sum(&window);
	kfree(p);
}

void sound_from_one(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *from_one = p - 1;

	for (long i = 1; i <= 10; i++)
		WRITE_ONCE(from_one[i], i);
	kfree(p);
}

void sound_middle(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *middle = p + 5;

	for (long i = -5; i < 5; i++)
		WRITE_ONCE(middle[i], i);
	kfree(p);
}

void sound_flexible(void)
{
	struct counted *counted = kzalloc(struct_size(counted, data, 9), GFP_KERNEL);
	struct { u32 length; char name[1]; } *old = kzalloc(4 + 20, GFP_KERNEL);

	counted->count = 9;
	for (u32 i = 0; i < counted->count; i++)
		WRITE_ONCE(counted->data[i], i);
	for (long i = 0; i < 20; i++)
		WRITE_ONCE(old->name[i], 'a');
	kfree(counted);
	kfree(old);
}

void sound_tag(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	unsigned long tagged = (unsigned long)p | 3;

	OPTIMIZER_HIDE_VAR(tagged);
	sink = READ_ONCE(((u32 *)(tagged & ~3UL))[9]);
	kfree(p);
}

void sound_align(void)
{
	u8 *p = kzalloc(100, GFP_KERNEL), *q = PTR_ALIGN(p + 1, 32);

	memset(q, 0, 32);
	sink = other_read(q + 31);
	kfree(p);
}

void sound_error(void)
{
	struct record *record = off ? ERR_PTR(-ENOENT) : kzalloc(sizeof(*record), GFP_KERNEL);

	if (IS_ERR_OR_NULL(record))
		sink = PTR_ERR(record);
	else
		kfree(record);
	kfree(NULL);
	record = kmalloc(0, GFP_KERNEL);
	sink = ZERO_OR_NULL_PTR(record);
	kfree(record);
}

void sound_resized(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	p = krealloc(p, 48, GFP_KERNEL | __GFP_ZERO);
	WRITE_ONCE(p[11], 1);
	p = krealloc(p, 4000, GFP_KERNEL);
	WRITE_ONCE(p[999], 1);
	kfree(p);
}

void sound_again(void)
{
	for (int i = 0; i < 50; i++) {
		u32 *p = kmem_cache_alloc(own_cache(), GFP_KERNEL);

		WRITE_ONCE(*p, i);
		kmem_cache_free(own_cache(), p);
	}
}

void sound_members(void)
{
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL), copy;

	memset(record, 0, sizeof(*record));
	copy = *record;
	other_use(&copy);
	memcpy(record, &copy, sizeof(copy));
	kfree(record);
}

void sound_union(void)
{
	union { struct record record; u8 bytes[16]; u64 words[2]; } *both;

	both = kzalloc(sizeof(*both), GFP_KERNEL);
	both->record.key = 1;
	for (long i = 0; i < 16; i++)
		sink += READ_ONCE(both->bytes[i]);
	WRITE_ONCE(both->words[1], 2);
	kfree(both);
}

void sound_scatter(void)
{
	u8 *p = kzalloc(100, GFP_KERNEL), *q;
	struct scatterlist list[2];

	sg_init_table(list, 2);
	sg_set_buf(&list[0], p, 60);
	sg_set_buf(&list[1], p + 60, 40);
	q = sg_virt(&list[1]);
	sink = READ_ONCE(q[39]);
	sg_copy_to_buffer(list, 2, p, 50);
	kfree(p);
}

void sound_page(void)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1);
	u8 *p = page_address(page);

	WRITE_ONCE(p[8191], 1);
	sink = READ_ONCE(*((u8 *)page_address(nth_page(page, 1)) + 4095));
	__free_pages(page, 1);
}

void sound_packet(void)
{
	struct sk_buff *skb = alloc_skb(200, GFP_KERNEL), *clone;
	u8 *p;

	skb_reserve(skb, 50);
	p = skb_put(skb, 100);
	memset(p, 1, 100);
	p = skb_push(skb, 20);
	memset(p, 2, 20);
	clone = skb_clone(skb, GFP_KERNEL);
	skb_pull(skb, 20);
	sink = READ_ONCE(skb->data[99]) + skb_shinfo(skb)->nr_frags;
	kfree_skb(skb);
	sink = READ_ONCE(clone->data[119]);
	consume_skb(clone);
}

void sound_percpu(void)
{
	u64 __percpu *p = alloc_percpu(u64);
	int cpu;

	for_each_possible_cpu(cpu)
		*per_cpu_ptr(p, cpu) = cpu;
	this_cpu_inc(*p);
	free_percpu(p);
}

void sound_red_zones(void)
{
	struct kmem_cache *cache = kmem_cache_create("plants_zoned", 4096, 4096, SLAB_RED_ZONE,
						     NULL);
	u8 *p = kmem_cache_alloc(cache, GFP_KERNEL);

	memset(p, 1, 4096);
	kmem_cache_free(cache, p);
	kmem_cache_destroy(cache);
}

/* As an uninstrumented module does it: through a pointer to the kernel's function. */
void sound_zones_of_others(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	typeof(kmem_cache_create) *volatile create = kmem_cache_create;
	struct kmem_cache *cache = create("plants_others", 4096, 4096, SLAB_RED_ZONE, NULL);
#else
	typeof(__kmem_cache_create_args) *volatile create = __kmem_cache_create_args;
	struct kmem_cache_args args = { .align = 4096 };
	struct kmem_cache *cache = create("plants_others", 4096, &args, SLAB_RED_ZONE);
#endif
	u8 *p = kmem_cache_alloc(cache, GFP_KERNEL);

	memset(p, 1, 4096);
	kmem_cache_free(cache, p);
	kmem_cache_destroy(cache);
}

void sound_mempool(void)
{
	mempool_t *pool = mempool_create_kmalloc_pool(2, 40);
	u32 *p = mempool_alloc(pool, GFP_KERNEL);

	WRITE_ONCE(p[9], 1);
	mempool_free(p, pool);
	p = mempool_alloc(pool, GFP_KERNEL);
	sink = READ_ONCE(p[9]);
	mempool_free(p, pool);
	mempool_destroy(pool);
}

void sound_vmalloc(void)
{
	u8 *p = vzalloc(5000), *q = kvzalloc(100000, GFP_KERNEL);

	WRITE_ONCE(p[4999], 1);
	WRITE_ONCE(q[99999], 1);
	sink = page_to_pfn(vmalloc_to_page(p));
	vfree(p);
	kvfree(q);
}

void sound_strings(void)
{
	char text[13], *p = kstrdup("a,b,c", GFP_KERNEL), *rest = p, *part;

	while ((part = strsep(&rest, ",")))
		sink = *part;
	kfree(p);
	sink = snprintf(text, sizeof(text), "%s", "longer than it has room for");
	sink = strscpy(text, "twelve chars", sizeof(text));
	strncpy(text, "thirteen char", sizeof(text));
	sink = strnlen(text, sizeof(text));
	sink = strcmp("a", "ab");
}

void sound_bits(void)
{
	unsigned long *p = bitmap_zalloc(100, GFP_KERNEL);

	set_bit(99, p);
	bitmap_set(p, 50, 50);
	sink = find_first_bit(p, 100) + bitmap_weight(p, 100) + find_next_zero_bit(p, 100, 60);
	bitmap_free(p);
}

void sound_tree(void)
{
	struct item { struct rb_node node; u64 key; } *items =
		kcalloc(8, sizeof(*items), GFP_KERNEL);
	struct rb_root root = RB_ROOT;
	struct rb_node *node;

	for (int i = 0; i < 8; i++) {
		struct rb_node **link = &root.rb_node, *parent = NULL;

		items[i].key = (5 * i) % 8;
		while (*link) {
			parent = *link;
			link = rb_entry(parent, struct item, node)->key > items[i].key ?
			       &parent->rb_left : &parent->rb_right;
		}
		rb_link_node(&items[i].node, parent, link);
		rb_insert_color(&items[i].node, &root);
	}
	for (node = rb_first(&root); node; node = rb_next(node))
		sink += rb_entry(node, struct item, node)->key;
	kfree(items);
}

void sound_xarray(void)
{
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL);
	DEFINE_XARRAY(array);

	xa_store(&array, 3, record, GFP_KERNEL);
	xa_store(&array, 70, xa_mk_value(17), GFP_KERNEL);
	record = xa_load(&array, 3);
	sink = record->key + xa_to_value(xa_load(&array, 70));
	xa_destroy(&array);
	kfree(record);
}

struct later {
	u64 value;
	struct rcu_head rcu;
};

void sound_rcu(void)
{
	struct later *later = kzalloc(sizeof(*later), GFP_KERNEL);

	/* It is used until the section's end. */
	rcu_read_lock();
	kfree_rcu(later, rcu);
	rcu_read_lock();
	sink = READ_ONCE(later->value);
	rcu_read_unlock();
	rcu_read_unlock();
}

static void release(struct kref *kref)
{
	sink = kref_read(kref);
}

void sound_counts(void)
{
	struct { struct kref kref; refcount_t count; atomic_t atomic; } *p;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	kref_init(&p->kref);
	kref_get(&p->kref);
	kref_put(&p->kref, release);
	if (kref_get_unless_zero(&p->kref))
		kref_put(&p->kref, release);
	refcount_set(&p->count, 1);
	if (refcount_inc_not_zero(&p->count))
		sink = refcount_dec_and_test(&p->count);
	sink = refcount_dec_and_test(&p->count);
	/* Not a reference counter: it may be negative. */
	atomic_set(&p->atomic, -3);
	atomic_add(2, &p->atomic);
	kref_put(&p->kref, release);
	kfree(p);
}

/* Setup fails halfway, and frees in reverse order. */
void sound_unwound(void)
{
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL);
	char *name;
	void *p;

	if (!record)
		return;
	name = kstrdup("name", GFP_KERNEL);
	if (!name)
		goto free_record;
	p = off ? NULL : vmalloc(5000);
	if (!p)
		goto free_name;
	vfree(p);
free_name:
	kfree(name);
free_record:
	kfree(record);
}

void sound_user(void)
{
	u8 copy[8];

	if (copy_from_user(copy, user, off))
		return;
	if (copy_to_user(user, copy, off) || put_user(copy[0], user))
		sink = 1;
}

/* -- locks ----------------------------------------------------------------------- */

void sound_order(void)
{
	struct locks *a, *b;

	LOCKS_OF(a);
	LOCKS_OF(b);
	for (int i = 0; i < 3; i++) {
		mutex_lock(&a->mutex);
		mutex_lock(&b->mutex);
		/* Not in the order in which they were taken. */
		mutex_unlock(&a->mutex);
		mutex_unlock(&b->mutex);
		/* A trylock never waits. */
		mutex_lock(&b->mutex);
		if (mutex_trylock(&a->mutex))
			mutex_unlock(&a->mutex);
		mutex_unlock(&b->mutex);
		down_read(&a->rwsem);
		up_read(&a->rwsem);
	}
	kfree(a);
	kfree(b);
}

static struct locks *one_of_class(void)
{
	struct locks *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	mutex_init(&l->mutex);
	spin_lock_init(&l->spin);
	return l;
}

void sound_class(void)
{
	struct locks *x = one_of_class(), *y = one_of_class();

	/* Locked in one order only, or in an order declared by a nesting subclass. */
	for (int i = 0; i < 3; i++) {
		mutex_lock(&x->mutex);
		mutex_lock_nested(&y->mutex, SINGLE_DEPTH_NESTING);
		mutex_unlock(&y->mutex);
		mutex_unlock(&x->mutex);
	}
	kfree(x);
	kfree(y);
}

static struct locks *taken;

static void take_of(struct locks *l)
{
	spin_lock(&l->spin);
}

static void release_of(struct locks *l)
{
	spin_unlock(&l->spin);
}

static void take_taken(void)
{
	spin_lock(&taken->spin);
	spin_unlock(&taken->spin);
}

void sound_contexts(void)
{
	unsigned long flags, inner;

	LOCKS_OF(taken);
	in_hardirq_of(take_taken);
	spin_lock_irqsave(&taken->spin, flags);
	local_irq_save(inner);
	local_irq_restore(inner);
	spin_unlock_irqrestore(&taken->spin, flags);
	/* Taken and released in different functions. */
	local_irq_disable();
	take_of(taken);
	kfree(kmalloc(100, GFP_ATOMIC));
	release_of(taken);
	local_irq_enable();
	kfree(taken);
}

static void up_taken(void)
{
	up(&taken->sem);
}

/* A semaphore has no owner. */
void sound_semaphore(void)
{
	LOCKS_OF(taken);
	down(&taken->sem);
	in_work_of(up_taken);
	down(&taken->sem);
	up(&taken->sem);
	kfree(taken);
}

void sound_downgraded(void)
{
	struct locks *a;

	LOCKS_OF(a);
	down_write(&a->rwsem);
	downgrade_write(&a->rwsem);
	up_read(&a->rwsem);
	read_lock_bh(&a->rwlock);
	read_unlock_bh(&a->rwlock);
	kfree(a);
}

static struct completion *completed;

static void complete_it(void)
{
	complete(completed);
}

void sound_completion(void)
{
	DECLARE_COMPLETION_ONSTACK(done);

	completed = &done;
	in_work_of(complete_it);
	wait_for_completion(&done);
}

void sound_sections(void)
{
	rcu_read_lock();
	local_bh_disable();
	preempt_disable();
	preempt_enable();
	local_bh_enable();
	rcu_read_unlock();
	might_sleep();
	msleep(1);
}

static void ticked(struct timer_list *timer)
{
	sink++;
}

static void worked(struct work_struct *work)
{
	sink++;
}

void sound_later(void)
{
	struct { struct timer_list timer; struct work_struct work; } *p;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	timer_setup(&p->timer, ticked, 0);
	INIT_WORK(&p->work, worked);
	mod_timer(&p->timer, jiffies + 1);
	schedule_work(&p->work);
	msleep(20);
	mod_timer(&p->timer, jiffies + 1000);
	del_timer_sync(&p->timer);
	cancel_work_sync(&p->work);
	kfree(p);
}

void sound_sequence(void)
{
	static DEFINE_SEQLOCK(lock);
	unsigned int start;

	write_seqlock(&lock);
	sink = 1;
	write_sequnlock(&lock);
	do {
		start = read_seqbegin(&lock);
		sink = 2;
	} while (read_seqretry(&lock, start));
}
