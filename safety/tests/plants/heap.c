// SPDX-License-Identifier: GPL-2.0
/* Accesses beyond objects of the heap, and before them. */
#include <linux/device.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>

#include "plants.h"

struct row {
	u16 column[5];
};

HEAP(heap_read, u8, 13, sink = READ_ONCE(p[12 + off]))
HEAP(heap_write, u8, 13, WRITE_ONCE(p[12 + off], 1))
HEAP(heap_read_word, u32, 3, sink = READ_ONCE(p[2 + off]))
HEAP(heap_write_word, u32, 3, WRITE_ONCE(p[2 + off], 1))
HEAP(heap_straddle, u8, 13, sink = READ_ONCE(*(u64 *)(p + 8 * off)))
HEAP(heap_far, u32, 10, sink = READ_ONCE(p[1000 * off]))
HEAP(heap_matrix, struct row, 3, WRITE_ONCE(p[1 + off].column[4 + off], 1))
HEAP(heap_row, struct row, 3, WRITE_ONCE(p[1].column[4 + off], 1))
HEAP(heap_atomic, u32, 3, atomic_inc((atomic_t *)&p[2 + off]))
HEAP(heap_exchange, u32, 3, sink = xchg(&p[2 + off], 1))
HEAP(heap_builtin, u32, 3, __atomic_fetch_add(&p[2 + off], 1, __ATOMIC_RELAXED))
HEAP(heap_passed, u8, 13, other_write(p + 12 + off))
HEAP(heap_large, u32, 5000, WRITE_ONCE(p[4999 + off], 1))
HEAP(heap_member, struct table, 2, WRITE_ONCE(p->name[19 + off], 1))
HEAP(heap_integer, u8, 13, sink = other_read((u8 *)((unsigned long)p + 12 + off)))
HEAP(heap_under_read, u32, 16, sink = READ_ONCE(p[-off]))
HEAP(heap_under_passed, u8, 61, sink = other_read(p - off))

void heap_loop(void)
{
	u8 *p = kmalloc(13, GFP_KERNEL);

	for (long i = 0; i < 13 + off; i++)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

void heap_loop_pointer(void)
{
	u8 *p = kzalloc(13, GFP_KERNEL);

	for (u8 *q = p, *end = p + 13 + off; q != end; q++)
		sink += READ_ONCE(*q);
	kfree(p);
}

void heap_loop_until(void)
{
	char *p = kzalloc(13, GFP_KERNEL), *q = p;

	memset(p, 'a', 13);
	while (READ_ONCE(*q) == 'a' && q < p + 15)
		q++;
	kfree(p);
}

void heap_short(void)
{
	struct record *record = kzalloc(sizeof(*record) - 4 * off, GFP_KERNEL);

	record->key = 1;
	WRITE_ONCE(record->tail, 2);
	kfree(record);
}

void heap_other_type(void)
{
	struct table *table = kzalloc(sizeof(struct record) + 8 * off, GFP_KERNEL);

	sink = READ_ONCE(table->after);
	kfree(table);
}

void heap_flexible(void)
{
	struct counted *counted = kzalloc(struct_size(counted, data, 9), GFP_KERNEL);

	counted->count = 9;
	WRITE_ONCE(counted->data[counted->count - 1 + off], 1);
	kfree(counted);
}

void heap_structure(void)
{
	static struct { u64 words[6]; } model;
	typeof(model) *copy = kzalloc(sizeof(*copy) - 8 * off, GFP_KERNEL);

	*copy = model;
	other_use(copy);
	kfree(copy);
}

void heap_bitfield(void)
{
	struct bits { u32 a; u64 b; u8 c : 3, d : 5; } *p = kzalloc(16, GFP_KERNEL);

	sink = p->a;
	p->d = off;
	other_use(p);
	kfree(p);
}

void heap_cache(void)
{
	u8 *p = own_object();

	WRITE_ONCE(p[OWN_SIZE - 1 + off], 0);
	kmem_cache_free(own_cache(), p);
}

void heap_array(void)
{
	u32 *p = kcalloc(7, sizeof(*p), GFP_KERNEL);

	WRITE_ONCE(p[6 + off], 1);
	kfree(p);
}

void heap_copy(void)
{
	static const u8 model[13];
	u8 *p = kmemdup(model, sizeof(model), GFP_KERNEL);

	sink = READ_ONCE(p[12 + off]);
	kfree(p);
}

void heap_string(void)
{
	char *p = kstrdup("twelve chars", GFP_KERNEL);

	WRITE_ONCE(p[12 + off], 0);
	kfree(p);
}

void heap_printed(void)
{
	char *p = kasprintf(GFP_KERNEL, "twelve char%c", 's');

	WRITE_ONCE(p[12 + off], 0);
	kfree(p);
}

void heap_shrunk(void)
{
	u8 *p = krealloc(kzalloc(60, GFP_KERNEL), 40, GFP_KERNEL);

	WRITE_ONCE(p[58 + off], 1);
	kfree(p);
}

void heap_grown(void)
{
	u8 *p = krealloc(kzalloc(20, GFP_KERNEL), 60, GFP_KERNEL);

	WRITE_ONCE(p[59 + off], 1);
	kfree(p);
}

void heap_kvmalloc(void)
{
	u8 *p = kvzalloc(100000, GFP_KERNEL);

	WRITE_ONCE(p[99999 + off], 1);
	kvfree(p);
}

void heap_vmalloc(void)
{
	u8 *p = vzalloc(5000);

	WRITE_ONCE(p[4999 + off], 1);
	vfree(p);
}

void heap_pages(void)
{
	u32 *p = (u32 *)__get_free_pages(GFP_KERNEL, 1);

	sink = READ_ONCE(p[2047 + off]);
	free_pages((unsigned long)p, 1);
}

void heap_percpu(void)
{
	u8 __percpu *p = __alloc_percpu(13, 16);

	sink = READ_ONCE(*per_cpu_ptr(p + 12 + off, 0));
	free_percpu(p);
}

void heap_mempool(void)
{
	mempool_t *pool = mempool_create_kmalloc_pool(1, 13);
	u8 *p = mempool_alloc(pool, GFP_KERNEL);

	WRITE_ONCE(p[12 + off], 1);
	mempool_free(p, pool);
	mempool_destroy(pool);
}

void heap_device(void)
{
	struct device *device = root_device_register("plants");
	u8 *p = devm_kzalloc(device, 13, GFP_KERNEL);

	WRITE_ONCE(p[12 + off], 1);
	devm_kfree(device, p);
	root_device_unregister(device);
}

void heap_stored(void)
{
	u8 *p = kzalloc(13, GFP_KERNEL);
	struct window window = { p, p + 13 + off };

	sink = other_sum(&window);
	kfree(p);
}

void heap_given(void)
{
	u8 *p = other_object(13);

	WRITE_ONCE(p[12 + off], 1);
	kfree(p);
}

void heap_chosen(void)
{
	u8 *p = kzalloc(13, GFP_KERNEL), *a = p + 12 + off, *b = p + 3;

	sink = other_read(max(a, b));
	kfree(p);
}

void heap_union(void)
{
	union {
		u8 *pointer;
		unsigned long number;
	} both = { .pointer = kzalloc(13, GFP_KERNEL) };

	both.number += 12 + off;
	sink = other_read(both.pointer);
	kfree(both.pointer - 13);
}

void heap_packet(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);

	skb_put(skb, 20);
	sink = READ_ONCE(skb->data[19 + off]);
	kfree_skb(skb);
}

void heap_packet_end(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);

	skb_put(skb, skb_tailroom(skb) + off);
	kfree_skb(skb);
}

void heap_packet_head(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);

	skb_put(skb, 20);
	sink = READ_ONCE(skb->data[-off]);
	kfree_skb(skb);
}

static void write_beyond(void)
{
	u8 *p = kzalloc(13, GFP_ATOMIC);

	WRITE_ONCE(p[12 + off], 1);
	kfree(p);
}

void heap_softirq(void)
{
	in_softirq_of(write_beyond);
}

void heap_hardirq(void)
{
	in_hardirq_of(write_beyond);
}

void heap_work(void)
{
	in_work_of(write_beyond);
}

void heap_locked(void)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	write_beyond();
	spin_unlock_irqrestore(&lock, flags);
}

/* The byte before belongs to another object, which does not use it. */
void heap_under_write(void)
{
	u8 *p = own_object();

	WRITE_ONCE(p[-off], 0);
	kmem_cache_free(own_cache(), p);
}

void heap_under_loop(void)
{
	u32 *p = kzalloc(64, GFP_KERNEL);

	for (long i = 15; i >= -off; i--)
		sink += READ_ONCE(p[i]);
	kfree(p);
}

void heap_under_copy(void)
{
	u8 *p = kzalloc(61, GFP_KERNEL), copy[16];

	memcpy(copy, p - 4 * off, 8 + 4 * off);
	other_use(copy);
	kfree(p);
}

/* container_of() with a larger structure than the member is in. */
void heap_container(void)
{
	struct list_head *link = kzalloc(sizeof(*link), GFP_KERNEL);
	struct later { u64 value; struct list_head link; } *later;

	later = container_of(link, struct later, link);
	sink = READ_ONCE(later->value);
	kfree(link);
}
