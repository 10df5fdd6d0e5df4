// SPDX-License-Identifier: GPL-2.0
/*
 * Code that uses pointers, correctly or wrongly depending on one argument. Write "CASE good" or
 * "CASE bad" to /sys/kernel/debug/pointers; reading it lists the cases, with the report that the
 * bad one must cause.
 *
 * Each case is the same code both times: bad differs in a number, off. Bad cases write only to
 * unused memory: padding, or a tag of KGCC's.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "pointers.h"

/* Hides the value from the compiler. */
static long off;
static volatile u64 sink;

static u8 bytes[33];
static u32 words[10];
static struct item items[3];
static struct {
	u16 head;
	u64 values[5];
} nested[2];

#define CASES(_) \
	_(heap_read1, "overrun by 1 byte: read of 1 byte at offset 13, object of 13 bytes") \
	_(heap_read2, "overrun by 2 bytes: read of 2 bytes at offset 14, object of 14 bytes") \
	_(heap_read4, "overrun by 4 bytes: read of 4 bytes at offset 12, object of 12 bytes") \
	_(heap_read8, "overrun by 8 bytes: read of 8 bytes at offset 24, object of 24 bytes") \
	_(heap_write1, "overrun by 1 byte: write of 1 byte at offset 13, object of 13 bytes") \
	_(heap_write2, "overrun by 2 bytes: write of 2 bytes at offset 14, object of 14 bytes") \
	_(heap_write4, "overrun by 4 bytes: write of 4 bytes at offset 12, object of 12 bytes") \
	_(heap_write8, "overrun by 8 bytes: write of 8 bytes at offset 24, object of 24 bytes") \
	_(heap_straddle, "overrun by 3 bytes: write of 8 bytes at offset 8, object of 13 bytes") \
	_(heap_under, "underrun by 4 bytes: read of 4 bytes at offset -4, object of 40 bytes") \
	_(heap_far, "overrun by 19964 bytes: read of 4 bytes at offset 20000, object of 40 bytes") \
	_(heap_field, "overrun by 8 bytes: write of 8 bytes at offset 8, object of 8 bytes") \
	_(heap_atomic, "overrun by 4 bytes: (read|write|access) of 4 bytes at offset 8, object of 8 bytes") \
	_(heap_bit, "overrun by 1 byte: (read|write|access) of 1 byte at offset 16, object of 16 bytes") \
	_(heap_items, "overrun by 8 bytes: read of 8 bytes at offset 64, object of 64 bytes") \
	_(heap_ways, "overrun by 1 byte: read of 1 byte at offset 3, object of 3 bytes") \
	_(heap_ways_index, "overrun by 1 byte: read of 1 byte at offset 3, object of 3 bytes") \
	_(heap_bitfield, "overrun by 1 byte: (read|write|access) of 1 byte at offset 4, object of 4 bytes") \
	_(heap_struct_copy, "overrun by 8 bytes: write of 56 bytes at offset 0, object of 48 bytes") \
	_(heap_memcpy_to, "overrun by 1 byte: write of 21 bytes at offset 0, object of 20 bytes") \
	_(heap_memcpy_from, "overrun by 1 byte: read of 21 bytes at offset 0, object of 20 bytes") \
	_(heap_memset, "overrun by 1 byte: write of 31 bytes at offset 0, object of 30 bytes") \
	_(heap_memcmp, "overrun by 1 byte: read of 31 bytes at offset 0, object of 30 bytes") \
	_(heap_loop, "overrun by 4 bytes: write of 44 bytes at offset 0, object of 40 bytes") \
	_(heap_loop_down, "underrun by 4 bytes: read of 4[04]? bytes at offset -4, object of 40 bytes") \
	_(heap_loop_step, "overrun by 4 bytes: write of 4(4 bytes at offset 0| bytes at offset 40), object of 40 bytes") \
	_(heap_loop_break, "overrun by 4 bytes: read of 4 bytes at offset 40, object of 40 bytes") \
	_(heap_loop_pointer, "overrun by 4 bytes: read of 4[04]? bytes at offset (0|40), object of 40 bytes") \
	_(heap_search, "overrun by 1 byte: read of 1 byte at offset 8, object of 8 bytes") \
	_(heap_2d, "overrun by 4 bytes: write of 4 bytes at offset 96, object of 96 bytes") \
	_(heap_large, "overrun by 4 bytes: write of 4 bytes at offset 20000, object of 20000 bytes") \
	_(heap_krealloc, "overrun by 4 bytes: write of 4 bytes at offset 80, object of 80 bytes") \
	_(heap_kcalloc, "overrun by 4 bytes: write of 4 bytes at offset 28, object of 28 bytes") \
	_(heap_kmemdup, "overrun by 1 byte: read of 1 byte at offset 33, object of 33 bytes") \
	_(heap_kstrdup, "overrun by 1 byte: read of 1 byte at offset 9, object of 9 bytes") \
	_(heap_vmalloc, "overrun by 4 bytes: write of 4 bytes at offset 5000, memory of 5000 bytes") \
	_(heap_vcalloc, "overrun by 4 bytes: write of 4 bytes at offset 5000, memory of 5000 bytes") \
	_(heap_kvmalloc, "overrun by 4 bytes: write of 4 bytes at offset 100000, (memory|object) of 100000 bytes") \
	_(heap_kvrealloc, "overrun by 4 bytes: write of 4 bytes at offset 60, object of 60 bytes") \
	_(heap_kvrealloc_large, "overrun by 4 bytes: write of 4 bytes at offset 200000, (memory|object) of 200000 bytes") \
	_(heap_pages, "overrun by 4 bytes: read of 4 bytes at offset 8192, memory of 8192 bytes") \
	_(heap_pages_exact, "overrun by 4 bytes: read of 4 bytes at offset 12288, memory of 12288 bytes") \
	_(heap_cache, "overrun by 4 bytes: write of 4 bytes at offset 56, object of 56 bytes") \
	_(heap_other, "overrun by 4 bytes: read of 4 bytes at offset 40, object of 40 bytes") \
	_(free_use, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_helper, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_use_other, "use after free: write of 4 bytes at offset 4, object of 40 bytes") \
	_(free_use_cache, "use after free: write of 8 bytes at offset 8, object of 56 bytes") \
	_(free_clone, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_unref, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_resized, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_wait, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(free_twice, "double free: object of 40 bytes") \
	_(free_never, NULL) \
	_(free_inside, "invalid free: at offset 4, object of 40 bytes") \
	_(global_bytes, "overrun: write of 1 byte at offset 33, variable bytes of 33 bytes") \
	_(global_words, "overrun: read of 4 bytes at offset 40, variable words of 40 bytes") \
	_(global_under, "underrun: read of 4 bytes at offset -4, variable words of 40 bytes") \
	_(global_member, "overrun: read (of 8 bytes at offset 96, variable nested of 96 bytes|at index 5, member values.5.)") \
	_(global_struct, "overrun: read of [0-9]+ bytes? at offset 168, variable items of 168 bytes") \
	_(global_memset, "overrun: write of 34 bytes, variable bytes of 33 bytes") \
	_(global_memset_from, "overrun: write from offset 10 on, variable bytes of 33 bytes") \
	_(global_passed, "overrun by 4 bytes: read of 4 bytes at offset 40, variable [a-z_]+ of 40 bytes") \
	_(global_passed_under, "underrun by 4 bytes: read of 4 bytes at offset -4, variable [a-z_]+ of 40 bytes") \
	_(global_extern, "overrun by 4 bytes: read of 4 bytes at offset 40, variable [a-z_]+ of 40 bytes") \
	_(global_const, "overrun by 1 byte: read of 1 byte at offset 7, variable [a-z_]+ of 7 bytes") \
	_(global_item, "overrun by 16 bytes: read of 8 bytes at offset 176, variable items of 168 bytes") \
	_(local_index, "overrun: read of 1 byte at offset 8, variable local of 8 bytes") \
	_(local_passed, "overrun by 1 byte: read of 1 byte at offset 24, local variable [a-z]+ of 24 bytes") \
	_(local_filled, "overrun by 1 byte: write of 25 bytes at offset 0, local variable [a-z]+ of 24 bytes") \
	_(local_struct, "overrun by 4 bytes: read of 44 bytes at offset 0, local variable [a-z_]+ of 40 bytes") \
	_(local_argument, "overrun: read (of 4 bytes at offset 20, variable argument of 20 bytes|at index 5, member values.5. of five)") \
	_(list_entry_wrong, "underrun by 8 bytes: read of 8 bytes at offset -8, object of 16 bytes") \
	_(peer_within, NULL) \
	_(peer_through, NULL) \
	_(peer_stored, NULL) \
	_(peer_walk, NULL) \
	_(peer_deref, "overrun by 4 bytes: read of 4 bytes at offset 40, object of 40 bytes") \
	_(peer_deref_far, "overrun by 28000 bytes: read of 4 bytes at offset 28036, object of 40 bytes") \
	_(peer_deref_before, "underrun by 8 bytes: read of 4 bytes at offset -8, object of 40 bytes") \
	_(peer_deref_stored, "overrun by 12 bytes: read of 4 bytes at offset 48, object of 40 bytes") \
	_(peer_deref_neighbour, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(peer_deref_found, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(context_spin, "overrun by 4 bytes: write of 4 bytes at offset 40, object of 40 bytes") \
	_(context_irqs_off, "overrun by 4 bytes: write of 4 bytes at offset 40, object of 40 bytes") \
	_(context_softirq, "overrun by 4 bytes: write of 4 bytes at offset 40, object of 40 bytes") \
	_(context_hardirq, "overrun by 4 bytes: write of 4 bytes at offset 40, object of 40 bytes") \
	_(context_kthread, "overrun by 4 bytes: write of 4 bytes at offset 40, object of 40 bytes") \
	_(core_inode, "overrun by [0-9]+ bytes: read of 4 bytes at offset [0-9]+, object of the kernel of [0-9]+ bytes") \
	_(core_pages, "overrun by 4 bytes: read of 4 bytes at offset 8192, block of pages of 8192 bytes") \
	_(core_neighbours, NULL) \
	_(core_dummy, NULL) \
	_(core_percpu, NULL) \
	_(register_variable, "overrun by 8 bytes: read of 8 bytes at offset 24, object of 24 bytes") \
	_(timed, NULL) \
	_(user_open, "overrun by 8 bytes: read of 8 bytes at offset 24, object of 24 bytes")

/* -- the heap ------------------------------------------------------------------- */

#define HEAP_ACCESS(name, type, count, statement)			\
	static noinline void name(void)					\
	{								\
		type *p = kzalloc(sizeof(type) * (count), GFP_KERNEL);	\
		statement;						\
		kfree(p);						\
	}

/* memcpy() and the like check sizes that the compiler knows: hide them. */
HEAP_ACCESS(heap_read1, u8, 13, sink = READ_ONCE(p[12 + off]))
HEAP_ACCESS(heap_read2, u16, 7, sink = READ_ONCE(p[6 + off]))
HEAP_ACCESS(heap_read4, u32, 3, sink = READ_ONCE(p[2 + off]))
HEAP_ACCESS(heap_read8, u64, 3, sink = READ_ONCE(p[2 + off]))
HEAP_ACCESS(heap_write1, u8, 13, WRITE_ONCE(p[12 + off], 1))
HEAP_ACCESS(heap_write2, u16, 7, WRITE_ONCE(p[6 + off], 1))
HEAP_ACCESS(heap_write4, u32, 3, WRITE_ONCE(p[2 + off], 1))
HEAP_ACCESS(heap_write8, u64, 3, WRITE_ONCE(p[2 + off], 1))
HEAP_ACCESS(heap_straddle, u8, 13, WRITE_ONCE(*(u64 *)(p + 8 * off), 1))
HEAP_ACCESS(heap_under, u32, 10, sink = READ_ONCE(p[-off]))
HEAP_ACCESS(heap_far, u32, 10, sink = other_read(p + 5000 * off))
HEAP_ACCESS(heap_memset, u8, 30, OPTIMIZER_HIDE_VAR(p); memset(p, 1, 30 + off))
HEAP_ACCESS(heap_memcmp, u8, 30, OPTIMIZER_HIDE_VAR(p); sink = memcmp(p, bytes, 30 + off))
HEAP_ACCESS(heap_memcpy_to, u8, 20, OPTIMIZER_HIDE_VAR(p); memcpy(p, bytes, 20 + off))
HEAP_ACCESS(heap_memcpy_from, u8, 20, OPTIMIZER_HIDE_VAR(p); memcpy(bytes, p, 20 + off))
HEAP_ACCESS(heap_atomic, u32, 2, atomic_inc((atomic_t *)&p[1 + off]))
HEAP_ACCESS(heap_bit, unsigned long, 2, set_bit(3, &p[1 + off]))
HEAP_ACCESS(heap_other, u32, 10, sink = other_read(p + 9 + off))

/* -- the heap, by more than one access ---------------------------------------------- */

/* The allocation is too short for its structure. */
static noinline void heap_field(void)
{
	struct item *item = kzalloc(off ? 8 : sizeof(*item), GFP_KERNEL);

	item->key = 1;
	item->value = 2;
	kfree(item);
}

/* Both are always read, at an index. */
static noinline void heap_items(void)
{
	struct item *item = kzalloc(off ? 64 : 2 * sizeof(*item), GFP_KERNEL);
	long i = 1;

	OPTIMIZER_HIDE_VAR(i);
	sink = READ_ONCE(item[i].key);
	sink = READ_ONCE(item[i].value);
	kfree(item);
}

/* The same byte is read on two paths, and more after it on one of them. */
static __always_inline u32 add_bytes(const u8 *p, int n)
{
	if (n >= 8)
		return READ_ONCE(p[3]) + READ_ONCE(p[7]);
	return READ_ONCE(p[0]) + READ_ONCE(p[3]);
}

static noinline u32 add_first(const u8 *p, int n)
{
	return add_bytes(p, n);
}

static noinline u32 add_from(const u8 *p, int n, long from)
{
	return add_bytes(p + from, n);
}

static noinline void heap_ways(void)
{
	u8 *p = kzalloc(4 - off, GFP_KERNEL), *q = kzalloc(8, GFP_KERNEL);

	sink = add_first(p, 4) + add_first(q, 8);
	kfree(p);
	kfree(q);
}

static noinline void heap_ways_index(void)
{
	u8 *p = kzalloc(4 - off, GFP_KERNEL), *q = kzalloc(9, GFP_KERNEL);

	sink = add_from(p, 4, 0) + add_from(q, 8, 1);
	kfree(p);
	kfree(q);
}

static noinline void heap_bitfield(void)
{
	struct { u32 a; u8 b : 3, c : 5; } *p = kzalloc(off ? 4 : 8, GFP_KERNEL);

	p->c = 3;
	sink = READ_ONCE(p->a);
	kfree(p);
}

static noinline void heap_struct_copy(void)
{
	struct item *copy = kzalloc(sizeof(*copy) - 8 * off, GFP_KERNEL);

	*copy = items[1];
	OPTIMIZER_HIDE_VAR(copy);
	kfree(copy);
}

static noinline void heap_loop(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	for (long i = 0; i < 10 + off; i++)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

static noinline void heap_loop_down(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	for (long i = 9; i >= 0 - off; i--)
		sink += READ_ONCE(p[i]);
	kfree(p);
}

static noinline void heap_loop_step(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	for (long i = 0; i < 9 + 2 * off; i += 2)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

static noinline void heap_loop_break(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	for (long i = 0; i < 100; i++) {
		sink = READ_ONCE(p[i]);	/* each round */
		if (i == 9 + off)
			break;
	}
	kfree(p);
}

static noinline void heap_loop_pointer(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	for (u32 *q = p, *end = p + 10 + off; q != end; q++)
		sink += READ_ONCE(*q);
	kfree(p);
}

static noinline void heap_search(void)
{
	char *p = kzalloc(8, GFP_KERNEL), *q = p;

	memset(p, 'a', 8);
	if (!off)
		p[7] = 'b';
	while (READ_ONCE(*q) == 'a' && q < p + 9)
		q++;
	kfree(p);
}

static noinline void heap_2d(void)
{
	u32 (*p)[8] = kzalloc(3 * sizeof(*p), GFP_KERNEL);

	WRITE_ONCE(p[2 + off][7 - 7 * off], 1);
	kfree(p);
}

static noinline void heap_large(void)
{
	u32 *p = kzalloc(20000, GFP_KERNEL);

	WRITE_ONCE(p[4999 + off], 1);
	kfree(p);
}

static noinline void heap_krealloc(void)
{
	u32 *p = krealloc(kzalloc(40, GFP_KERNEL), 80, GFP_KERNEL);

	WRITE_ONCE(p[19 + off], 1);
	kfree(p);
}

static noinline void heap_kcalloc(void)
{
	u32 *p = kcalloc(7, 4, GFP_KERNEL);

	WRITE_ONCE(p[6 + off], 1);
	kfree(p);
}

static noinline void heap_kmemdup(void)
{
	u8 *p = kmemdup(bytes, sizeof(bytes), GFP_KERNEL);

	sink = READ_ONCE(p[32 + off]);
	kfree(p);
}

static noinline void heap_kstrdup(void)
{
	char *p = kstrdup("8 letter", GFP_KERNEL);

	sink = READ_ONCE(p[8 + off]);
	kfree(p);
}

static noinline void heap_vmalloc(void)
{
	u32 *p = vzalloc(5000);

	WRITE_ONCE(p[1249 + off], 1);
	vfree(p);
}

static noinline void heap_vcalloc(void)
{
	u32 *p = vcalloc(1250, 4);

	WRITE_ONCE(p[1249 + off], 1);
	vfree(p);
}

static noinline void heap_kvmalloc(void)
{
	u32 *p = kvzalloc(100000, GFP_KERNEL);

	WRITE_ONCE(p[24999 + off], 1);
	kvfree(p);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define resize(p, from, to)	kvrealloc(p, from, to, GFP_KERNEL)
#else
#define resize(p, from, to)	kvrealloc(p, to, GFP_KERNEL)
#endif

/* Grows within its slot. */
static noinline void heap_kvrealloc(void)
{
	u32 *p = resize(kvzalloc(40, GFP_KERNEL), 40, 60);

	WRITE_ONCE(p[14 + off], 1);
	kvfree(p);
}

/* Keeps its contents. */
static noinline void heap_kvrealloc_large(void)
{
	u32 *p = kvzalloc(100000, GFP_KERNEL);

	p[24999] = 7;
	p = resize(p, 100000, 200000);
	WRITE_ONCE(p[49999 + off], 1);
	WARN_ON(READ_ONCE(p[24999]) != 7);
	kvfree(p);
}

/* More than a page, and not a power of two. */
static noinline void heap_pages_exact(void)
{
	u32 *p = alloc_pages_exact(9000, GFP_KERNEL);

	sink = READ_ONCE(p[3071 + off]);
	free_pages_exact(p, 9000);
}

static noinline void heap_pages(void)
{
	u32 *p = (u32 *)__get_free_pages(GFP_KERNEL, 1);

	sink = READ_ONCE(p[2047 + off]);
	free_pages((unsigned long)p, 1);
}

static struct kmem_cache *cache;

static noinline void heap_cache(void)
{
	u32 *p = kmem_cache_zalloc(cache, GFP_KERNEL);

	WRITE_ONCE(p[13 + off], 1);
	kmem_cache_free(cache, p);
}

/* -- freed ---------------------------------------------------------------------------- */

static noinline void free_use(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	if (off)
		kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	if (!off)
		kfree(p);
}

static __always_inline void give_back(u32 *given)
{
	kfree(given);
}

static __always_inline int look_at(u32 *given)
{
	return atomic_read((atomic_t *)given);
}

static noinline void free_helper(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	if (off)
		give_back(p);
	OPTIMIZER_HIDE_VAR(p);
	sink = look_at(p);
	if (!off)
		kfree(p);
}

static noinline void free_use_other(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	WRITE_ONCE(p[1], 1);
	if (off)
		kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	other_write(p + 1, 1);
	if (!off)
		kfree(p);
}

static noinline void free_use_cache(void)
{
	struct item *p = kmem_cache_zalloc(cache, GFP_KERNEL);

	if (off)
		kmem_cache_free(cache, p);
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p->value, 1);
	if (!off)
		kmem_cache_free(cache, p);
}

/* Freed by a function whose name says nothing; callers may or may not see its body. */

/* The compiler clones it for the argument: words_free.constprop.0 */
static noinline void words_free(u32 *p, long at)
{
	sink = READ_ONCE(p[at]);
	if (off)
		kfree(p);
}

static noinline void free_clone(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	words_free(p, 3);
	sink = READ_ONCE(*p);
	if (!off)
		kfree(p);
}

static noinline void free_unref(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	other_unref(p, off);
	sink = READ_ONCE(*p);
	if (!off)
		kfree(p);
}

static noinline void free_resized(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *larger = NULL;

	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	if (off)
		larger = krealloc(p, 4000, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(larger);
	sink = READ_ONCE(*p);
	kfree(off ? larger : p);
}

static struct waited {
	struct work_struct work;
	struct completion done;
	u32 *p;
} waited;

static void free_waited(struct work_struct *work)
{
	if (off)
		kfree(waited.p);
	complete(&waited.done);
}

static noinline void free_wait(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	waited.p = p;
	INIT_WORK(&waited.work, free_waited);
	init_completion(&waited.done);
	sink = READ_ONCE(*p);
	schedule_work(&waited.work);
	wait_for_completion(&waited.done);
	sink = READ_ONCE(*p);
	flush_work(&waited.work);
	if (!off)
		kfree(p);
}

static noinline void free_twice(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (off)
		kfree(p);
}

/* Its cache cannot be destroyed when KGCC is unloaded. */
static noinline void free_never(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	if (!off)
		kfree(p);
}

static noinline void free_inside(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *q = p;

	OPTIMIZER_HIDE_VAR(q);
	if (off)
		kfree(q + 1);
	kfree(p);
}

/* -- variables ------------------------------------------------------------------------ */

static noinline void global_bytes(void)
{
	WRITE_ONCE(bytes[32 + off], 1);
}

static noinline void global_words(void)
{
	sink = READ_ONCE(words[9 + off]);
}

static noinline void global_under(void)
{
	sink = READ_ONCE(words[-off]);
}

static noinline void global_member(void)
{
	sink = READ_ONCE(nested[1].values[4 + off]);
}

static noinline void global_struct(void)
{
	sink = READ_ONCE(items[2 + off].key);
}

static noinline void global_memset(void)
{
	/* Hide the length from memset(), which has a check of its own. */
	__underlying_memset(bytes, 0, 33 + off);
}

static noinline void global_memset_from(void)
{
	__underlying_memset(bytes + 10, 0, 23 + off);
}

static noinline void global_passed(void)
{
	sink = other_read(&words[9] + off);
}

static noinline void global_passed_under(void)
{
	sink = other_read(&words[0] - off);
}

static noinline void global_extern(void)
{
	sink = other_read(&other_table[9 + off]);
}

static noinline void global_const(void)
{
	sink = other_byte((const char *)other_constants, 6 + off);
}

static noinline void global_item(void)
{
	sink = other_value(&items[2 + off]);
}

static noinline void local_index(void)
{
	u8 local[8] = {};

	OPTIMIZER_HIDE_VAR(off);
	sink = READ_ONCE(local[7 + off]);
}

static noinline void local_passed(void)
{
	char local[24] = {};

	sink = other_byte(local, 23 + off);
}

static noinline void local_filled(void)
{
	char local[24];

	other_fill(local, 24 + off);
	sink = local[3];
}

static noinline void local_struct(void)
{
	u32 local[10] = {};
	struct window window = { local, local + 10 + off };

	sink = other_sum(&window);
}

struct five { u32 values[5]; };

static noinline u32 take(struct five argument)
{
	return READ_ONCE(argument.values[4 + off]);
}

static noinline void local_argument(void)
{
	struct five five = {};

	sink = take(five);
}

/* A list's head is not an entry. */
static noinline void list_entry_wrong(void)
{
	struct item *item = kzalloc(sizeof(*item), GFP_KERNEL);
	struct list_head *head = kzalloc(sizeof(*head), GFP_KERNEL);
	const struct list_head *from;

	INIT_LIST_HEAD(head);
	list_add(&item->link, head);
	from = off ? &item->link : head;
	sink = other_values(from);
	kfree(item);
	kfree(head);
}

/* -- pointers that leave their objects --------------------------------------------------- */

static noinline void peer_within(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	long i = 100 + off, j = 99 - off;

	OPTIMIZER_HIDE_VAR(i);
	OPTIMIZER_HIDE_VAR(j);
	WRITE_ONCE(*(p + i - j), 1);
	kfree(p);
}

static noinline void peer_through(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL), *q;

	q = other_move(p, 1000 + off);
	q = other_move(q, -3000);
	q = other_move(q, 2003 - off);
	other_write(q, 1);
	kfree(p);
}

static noinline void peer_stored(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	struct window window = { p, p };

	/* One-based, as in Fortran. */
	other_store(&window, p - 1 - off);
	sink = READ_ONCE(window.start[1 + off]);
	sink = other_read(window.start + 10);
	kfree(p);
}

struct link {
	struct link *next;
	u32 values[4];
};

/* Values are reached through links, each in another object. */
static noinline u32 walk(struct link *link, u32 value)
{
	u32 *p = (u32 *)(link + 1);

	while (READ_ONCE(*p) != value) {
		link = READ_ONCE(*(struct link **)(p - 6));
		p = (u32 *)(link + 1);
	}
	return other_read(p);
}

static noinline void peer_walk(void)
{
	struct link *a = kzalloc(sizeof(*a) + 4, GFP_KERNEL);
	struct link *b = kzalloc(sizeof(*b) + 4, GFP_KERNEL);

	a->next = b;
	*(u32 *)(b + 1) = 7;
	sink = walk(a, 7);
	kfree(a);
	kfree(b);
}

static noinline void peer_deref(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	sink = other_read(other_move(p, 9 + off));
	kfree(p);
}

static noinline void peer_deref_far(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	sink = other_read(other_move(other_move(p, 7000 * off), 9));
	kfree(p);
}

static noinline void peer_deref_before(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);

	sink = other_read(other_move(p, -2 * off));
	kfree(p);
}

static noinline void peer_deref_stored(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	struct window window = { p, p };

	other_store(&window, p + 9 + 3 * off);
	sink = other_read(window.start);
	kfree(p);
}

/* Searches many objects for one where the next object of this size begins. */
static noinline int find_neighbour(u32 *const *p, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			if ((unsigned long)p[j] - (unsigned long)p[i] == 128)
				return i;
	return -1;
}

/* Reads through a pointer into another live object, which also has valid pointers. */
noinline void read_neighbour(u32 (*read)(u32 *p))
{
	u32 *p[32];
	int left;

	for (int i = 0; i < 32; i++)
		p[i] = kzalloc(64, GFP_KERNEL);
	for (int i = 0; i < 32; i++)
		sink = other_read(p[i]);
	left = find_neighbour(p, 32);
	if (left >= 0)
		sink = read(p[left]);
	for (int i = 0; i < 32; i++)
		kfree(p[i]);
}

static noinline u32 read_moved(u32 *p)
{
	return other_read(other_move(p, 15 + 17 * off));
}

static noinline void peer_deref_neighbour(void)
{
	read_neighbour(read_moved);
}

/* A pointer computed in a loop and passed on where the loop ends. */
static noinline u32 read_found(u32 *p)
{
	const u32 *last = p + 15 + 17 * off;

	OPTIMIZER_HIDE_VAR(last);
	for (long i = 0;; i++) {
		OPTIMIZER_HIDE_VAR(i);
		u32 *q = p + i;			/* found here */

		if (q >= last)
			return other_read(q);
	}
}

static noinline void peer_deref_found(void)
{
	read_neighbour(read_found);
}

/* -- contexts ------------------------------------------------------------------------------ */

static noinline void overrun(void)
{
	u32 *p = kzalloc(40, GFP_ATOMIC);

	WRITE_ONCE(p[9 + off], 1);
	kfree(p);
}

static noinline void context_spin(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	overrun();
	spin_unlock(&lock);
}

static noinline void context_irqs_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	overrun();
	local_irq_restore(flags);
}

static void in_tasklet(struct tasklet_struct *tasklet)
{
	overrun();
}

static noinline void context_softirq(void)
{
	static DECLARE_TASKLET(tasklet, in_tasklet);

	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
}

static void in_irq_work(struct irq_work *work)
{
	overrun();
}

static noinline void context_hardirq(void)
{
	static struct irq_work work = IRQ_WORK_INIT_HARD(in_irq_work);

	irq_work_queue(&work);
	irq_work_sync(&work);
}

static int in_kthread(void *done)
{
	overrun();
	complete(done);
	return 0;
}

static noinline void context_kthread(void)
{
	DECLARE_COMPLETION_ONSTACK(done);

	if (!IS_ERR(kthread_run(in_kthread, &done, "pointers")))
		wait_for_completion(&done);
}

/* -- the kernel's own objects ---------------------------------------------------------------- */

static struct file *running;
static char __user *running_text;

static noinline void core_inode(void)
{
	const u32 *inode = (const u32 *)file_inode(running);

	sink = other_read(inode + (off ? 4000 : 4));
}

static noinline void core_pages(void)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	u32 *p = page_address(page);

	sink = READ_ONCE(p[2047 + off]);
	__free_pages(page, 1);
}

static void first_letter(struct tracepoint *tp, void *unused)
{
	sink = tp->name[0];
}

/* Variables without a gap: one ends where the next starts. */
static noinline void core_neighbours(void)
{
	for_each_kernel_tracepoint(first_letter, NULL);
}

/* Assembly with a memory operand that is not accessed. */
static noinline void core_dummy(void)
{
	sink = native_read_cr2();
}

static noinline void core_percpu(void)
{
	u32 __percpu *counter = alloc_percpu(u32);

	this_cpu_inc(*counter);
	sink = this_cpu_read(*counter);
	free_percpu(counter);
}

/* -- registers that checks use ------------------------------------------------ */

/* The check comes between the assignment of the register variable and its use. */
static noinline void register_variable(void)
{
	u64 *p = kzalloc(24, GFP_KERNEL);
	register u64 value asm("r11");

	OPTIMIZER_HIDE_VAR(p);
	value = 5;
	sink = READ_ONCE(p[2 + off]);
	asm volatile("" : "+r" (value));
	WARN_ON(value != 5);
	kfree(p);
}

/* -- while user memory is open ------------------------------------------------ */

/* The check closes user access and reopens it, for a string that has ended already. */
static noinline void user_open(void)
{
	u64 *p = kzalloc(24, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	if (!user_access_begin(running_text, 1))
		goto free;
	sink = READ_ONCE(p[2 + off]);
	unsafe_put_user('u', running_text, close);
	user_access_end();
	goto free;
close:
	user_access_end();
	WARN_ON(1);
free:
	kfree(p);
}

/* -- time ----------------------------------------------------------------------- */

static noinline void timed(void)
{
	u64 *p = kzalloc(24, GFP_KERNEL), *q = kzalloc(24, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	OPTIMIZER_HIDE_VAR(q);
	/* Another task meanwhile would end the measured lap. */
	preempt_disable();
	sink = READ_ONCE(p[0]);	/* delayed */
	mdelay(2);
	/* A delay frees nothing, so a second access by p would have no check of its own. */
	sink = READ_ONCE(q[0]);	/* slept */
	preempt_enable();
	msleep(20);
	sink = READ_ONCE(p[0]);	/* returned */
	kfree(q);
	kfree(p);
}

/* -- to be run ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
	const char *report;
} cases[] = {
#define CASE(name, report) { #name, name, report },
	CASES(CASE)
};

static int list(struct seq_file *m, void *unused)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		seq_printf(m, "%s\t%s\n", cases[i].name, cases[i].report ?: "");
	holes_list(m);
	library_list(m);
	members_list(m);
	return 0;
}

static int open_list(struct inode *inode, struct file *file)
{
	return single_open(file, list, NULL);
}

static ssize_t run(struct file *file, const char __user *text, size_t size, loff_t *offset)
{
	static DEFINE_MUTEX(one);
	char line[64] = {}, name[40], how[8];

	if (size >= sizeof(line) || copy_from_user(line, text, size) ||
	    sscanf(line, "%39s %7s", name, how) != 2)
		return -EINVAL;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, name))
			continue;
		mutex_lock(&one);
		off = !strcmp(how, "bad");
		running = file;
		running_text = (char __user *)text;
		cases[i].run();
		mutex_unlock(&one);
		return size;
	}
	if (holes_run(name, !strcmp(how, "bad"), text) || library_run(name, !strcmp(how, "bad")) ||
	    members_run(name, !strcmp(how, "bad"), text))
		return size;
	return -ENOENT;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_list,
	.read = seq_read,
	.write = run,
	.release = single_release,
};

static struct dentry *entry;

static int __init pointers_init(void)
{
	cache = kmem_cache_create("pointers", 56, 8, 0, NULL);
	if (!cache)
		return -ENOMEM;
	entry = debugfs_create_file("pointers", 0600, NULL, NULL, &operations);
	return 0;
}

static void __exit pointers_exit(void)
{
	debugfs_remove(entry);
	kmem_cache_destroy(cache);
}

module_init(pointers_init);
module_exit(pointers_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Pointers, used right or wrong to order");
