// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in the kernel's slabs. Where a slab's page points to its cache, and where a cache stores
 * the distance of its objects, differs between kernels. So both are searched for at load time, with
 * caches made for the purpose.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "heap.h"
#include "object.h"
#include "slab.h"

/* Sizes that a cache's structure contains for no other reason. */
#define SIZE_A	1016
#define SIZE_B	1576

/* Byte offsets in struct page and struct kmem_cache; 0: unknown. */
static unsigned int cache_offset, stride_offset, flags_offset;

static void constructor(void *object)
{
}

/* With a constructor the free pointer is stored after the object, in 8 bytes. */
static struct kmem_cache *sample(const char *name, unsigned int size, slab_flags_t flags)
{
	return kmem_cache_create(name, size, 8, flags, constructor);
}

static unsigned int find_cache(struct kmem_cache *cache, const void *object)
{
	const unsigned long *words = (const void *)virt_to_head_page(object);

	for (unsigned int i = 0; i < sizeof(struct page) / sizeof(*words); i++)
		if (words[i] == (unsigned long)cache)
			return i * sizeof(*words);
	return 0;
}

/* The stride and the size are adjacent fields. */
static bool has_sizes(struct kmem_cache *cache, unsigned int at, unsigned int size)
{
	const u32 *words = (const u32 *)cache;

	return words[at] == size + 8 && words[at + 1] == size;
}

static unsigned int find_stride(struct kmem_cache *a, struct kmem_cache *b)
{
	for (unsigned int i = 0; i < 64; i++)
		if (has_sizes(a, i, SIZE_A) && has_sizes(b, i, SIZE_B))
			return i * sizeof(u32);
	return 0;
}

/* The only flag that b has and a lacks. */
static unsigned int find_flags(struct kmem_cache *a, struct kmem_cache *b, u32 flag)
{
	const u32 *in_a = (const u32 *)a, *in_b = (const u32 *)b;

	for (unsigned int i = 0; i < 64; i++)
		if (!(in_a[i] & flag) && in_b[i] == (in_a[i] | flag))
			return i * sizeof(u32);
	return 0;
}

static bool learn(struct kmem_cache *a, struct kmem_cache *b)
{
	void *first = kmem_cache_alloc(a, GFP_KERNEL), *second = kmem_cache_alloc(a, GFP_KERNEL);
	struct kgcc_slot slot;
	bool ok = false;

	if (first && second) {
		cache_offset = find_cache(a, first);
		stride_offset = find_stride(a, b);
		flags_offset = find_flags(a, b, (__force u32)SLAB_RECLAIM_ACCOUNT);
		ok = cache_offset && stride_offset && flags_offset &&
		     kgcc_slab_slot(virt_to_head_page(second), (unsigned long)second + 7, &slot) &&
		     slot.start == (unsigned long)second && slot.cache == a;
	}
	if (first)
		kmem_cache_free(a, first);
	if (second)
		kmem_cache_free(a, second);
	return ok;
}

int kgcc_slab_init(void)
{
	struct kmem_cache *a = sample("kgcc_sample_a", SIZE_A, 0);
	struct kmem_cache *b = sample("kgcc_sample_b", SIZE_B, SLAB_RECLAIM_ACCOUNT);
	bool ok = a && b && learn(a, b);

	kmem_cache_destroy(a);
	kmem_cache_destroy(b);
	if (ok)
		return 0;
	pr_err("the layout of this kernel's slabs is not known\n");
	return -EOPNOTSUPP;
}

/* When a page stops being a slab, the pointer may be anything: then the result is 0. */
static u32 word_of(const struct kmem_cache *cache, unsigned int offset)
{
	u32 word;

	if (!kgcc_in_direct_map((unsigned long)cache))
		return 0;
	__get_kernel_nofault(&word, (void *)cache + offset, u32, gone);
	return word;
gone:
	return 0;
}

static __always_inline bool find_slot(struct page *page, unsigned long address,
				      struct kgcc_slot *slot)
{
	unsigned long base = (unsigned long)page_address(page);
	unsigned int stride;

	slot->witness = (void *)page + cache_offset;
	slot->cache = (struct kmem_cache *)READ_ONCE(*slot->witness);
	stride = word_of(slot->cache, stride_offset);
	if (!stride)
		return false;
	slot->start = base + rounddown((u32)(address - base), stride);
	/* The remainder at a slab's end is not a slot. */
	return slot->start + stride <= base + page_size(page);
}

bool kgcc_slab_slot(struct page *page, unsigned long address, struct kgcc_slot *slot)
{
	return find_slot(page, address, slot);
}

bool kgcc_slab_find(struct page *page, unsigned long address, struct kgcc_object *object)
{
	struct kgcc_slot slot;

	if (!find_slot(page, address, &slot))
		return false;
	if (kgcc_heap_find(&slot, object))
		return true;
	/* With red zones objects do not begin where their slots do. */
	if (word_of(slot.cache, flags_offset) & (__force u32)SLAB_RED_ZONE)
		return false;
	kgcc_object_set(object, KGCC_SLAB, slot.start, slot.start + kmem_cache_size(slot.cache),
			slot.witness, (unsigned long)slot.cache);
	return address <= object->end;
}
