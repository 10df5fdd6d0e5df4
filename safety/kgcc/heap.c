// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that instrumented modules allocate, and their tags.
 *
 * An object's slot is found from its page, see slab.c. The rest is in a tag at the slot's end:
 * size, state, and the places that allocated and freed it. Only KGCC uses the caches, so a tag
 * never describes foreign memory. If the kernel frees an object, it counts as alive until its slot
 * is reused.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/rculist.h>

#include "check.h"
#include "heap.h"
#include "object.h"
#include "slab.h"

/*
 * A tag's first word, the witness of lookups: different for each life of a slot. Its mark depends
 * on the slot, so that a copy of an object's memory is not taken for a tag.
 */
#define SIZE_BITS	23
#define SERIAL_BITS	23
#define STATE_SHIFT	(SIZE_BITS + SERIAL_BITS)
#define STATE_BITS	2
#define MARK_SHIFT	(STATE_SHIFT + STATE_BITS)

enum state { LIVE = 1, DEAD = 2 };

struct tag {
	unsigned long word;
	/* Strings in modules, which are in the upper 2 GB. */
	s32 allocated, freed;
};

static_assert(sizeof(struct tag) == KGCC_TAG_BYTES);

static DEFINE_HASHTABLE(caches, 6);
static DEFINE_SPINLOCK(caches_lock);
static unsigned long secret;
static DEFINE_PER_CPU(u32, serial);

static unsigned long mark_of(const struct tag *tag)
{
	return (unsigned long)hash_64((unsigned long)tag ^ secret, 64 - MARK_SHIFT) << MARK_SHIFT;
}

static unsigned int size_of(unsigned long word)
{
	return word & GENMASK(SIZE_BITS - 1, 0);
}

static bool is_marked(const struct tag *tag, unsigned long word, unsigned long start)
{
	return word >> MARK_SHIFT << MARK_SHIFT == mark_of(tag) &&
	       start + size_of(word) <= (unsigned long)tag;
}

static enum state state_of(unsigned long word)
{
	return word >> STATE_SHIFT & GENMASK(STATE_BITS - 1, 0);
}

/* Unique across CPUs: each CPU uses its own residue modulo 64. */
static unsigned long next_serial(void)
{
	u32 n = this_cpu_inc_return(serial) << 6 | (raw_smp_processor_id() & 63);

	return n & GENMASK(SERIAL_BITS - 1, 0);
}

static const char *text(s32 where)
{
	return where ? (const char *)(long)where : NULL;
}

static void tag_live(struct tag *tag, size_t size, const char *where)
{
	tag->allocated = (s32)(long)where;
	tag->freed = 0;
	WRITE_ONCE(tag->word, mark_of(tag) | (unsigned long)LIVE << STATE_SHIFT |
			      next_serial() << SIZE_BITS | size);
}

static void tag_dead(struct tag *tag, const char *where)
{
	unsigned long word = tag->word & ~(GENMASK(STATE_BITS - 1, 0) << STATE_SHIFT);

	tag->freed = (s32)(long)where;
	WRITE_ONCE(tag->word, word | (unsigned long)DEAD << STATE_SHIFT);
}

static void describe(const struct tag *tag, unsigned long word, unsigned long start,
		     struct kgcc_object *object)
{
	kgcc_object_set(object, state_of(word) == LIVE ? KGCC_HEAP : KGCC_FREED, start,
			start + size_of(word), &tag->word, word);
	object->allocated = text(tag->allocated);
	object->freed = text(tag->freed);
}

/* -- caches -------------------------------------------------------------------- */

/* Call it under RCU-sched, that is, with preemption off. */
static struct kgcc_cache *find_cache(const struct kmem_cache *cache)
{
	struct kgcc_cache *c;

	hash_for_each_possible_rcu_notrace(caches, c, node, (unsigned long)cache)
		if (c->cache == cache)
			return c;
	return NULL;
}

int kgcc_cache_add(struct kmem_cache *cache, unsigned int size, bool exact,
		   void (*constructor)(void *object))
{
	struct kgcc_cache *c = kzalloc(sizeof(*c), GFP_KERNEL);
	unsigned long flags;

	if (!c)
		return -ENOMEM;
	c->cache = cache;
	c->size = size;
	c->exact = exact;
	c->constructor = constructor;
	spin_lock_irqsave(&caches_lock, flags);
	hash_add_rcu(caches, &c->node, (unsigned long)cache);
	spin_unlock_irqrestore(&caches_lock, flags);
	return 0;
}

void kgcc_cache_remove(struct kmem_cache *cache)
{
	struct kgcc_cache *c;
	unsigned long flags;

	spin_lock_irqsave(&caches_lock, flags);
	rcu_read_lock_sched();
	c = find_cache(cache);
	if (c) {
		hash_del_rcu(&c->node);
		kfree_rcu(c, rcu);
	}
	rcu_read_unlock_sched();
	spin_unlock_irqrestore(&caches_lock, flags);
}

void kgcc_cache_share(struct kmem_cache *cache)
{
	struct kgcc_cache *c;

	rcu_read_lock_sched();
	c = find_cache(cache);
	if (c)
		WRITE_ONCE(c->shared, true);
	rcu_read_unlock_sched();
}

/* -- objects ------------------------------------------------------------------- */

static struct tag *tag_of(const struct kgcc_cache *cache, unsigned long start)
{
	return (struct tag *)(start + kgcc_tag_offset(cache->size));
}

static struct tag *tag_of_pages(struct page *page)
{
	return page_address(page) + page_size(page) - sizeof(struct tag);
}

/* Call it under RCU: the slot's tag, if the slot is in one of KGCC's caches. */
static struct tag *slot_tag(const struct kgcc_slot *slot, struct kgcc_cache **cache)
{
	*cache = find_cache(slot->cache);
	return *cache ? tag_of(*cache, slot->start) : NULL;
}

bool kgcc_heap_find(const struct kgcc_slot *slot, struct kgcc_object *object)
{
	struct kgcc_cache *cache;
	unsigned long word;
	struct tag *tag;

	rcu_read_lock_sched();
	tag = slot_tag(slot, &cache);
	if (!tag) {
		rcu_read_unlock_sched();
		return false;
	}
	word = READ_ONCE(tag->word);
	if (is_marked(tag, word, slot->start) && !READ_ONCE(cache->shared))
		describe(tag, word, slot->start, object);
	else
		kgcc_object_set(object, KGCC_SLAB, slot->start, slot->start + cache->size,
				&tag->word, word);
	rcu_read_unlock_sched();
	return true;
}

void kgcc_heap_pages(struct page *page, struct kgcc_object *object)
{
	struct tag *tag = tag_of_pages(page);
	unsigned long word = READ_ONCE(tag->word);

	if (is_marked(tag, word, object->start))
		describe(tag, word, object->start, object);
}

static bool find_slot(const void *address, struct kgcc_slot *slot)
{
	struct page *page = kgcc_slab_page((unsigned long)address);

	return page && kgcc_slab_slot(page, (unsigned long)address, slot);
}

/* The memory may have been a slab before: clear stale tags of freed objects. */
void kgcc_heap_construct(void *object)
{
	void (*constructor)(void *object) = NULL;
	struct kgcc_cache *cache;
	struct kgcc_slot slot;
	struct tag *tag;

	if (!find_slot(object, &slot))
		return;
	rcu_read_lock_sched();
	tag = slot_tag(&slot, &cache);
	if (tag) {
		WRITE_ONCE(tag->word, 0);
		constructor = cache->constructor;
	}
	rcu_read_unlock_sched();
	if (constructor)
		constructor(object);
}

void kgcc_heap_allocated(void *object, size_t size, const char *where)
{
	unsigned long start = (unsigned long)object;
	struct kgcc_object found;
	struct kgcc_cache *cache;
	struct kgcc_slot slot;
	struct tag *tag;

	if (!find_slot(object, &slot))
		return;
	rcu_read_lock_sched();
	tag = slot_tag(&slot, &cache);
	if (tag)
		tag_live(tag, cache->exact ? size : cache->size, where);
	if (tag && !READ_ONCE(cache->shared)) {
		/* It will be looked up soon: cache the lookup. */
		describe(tag, tag->word, start, &found);
		kgcc_check_keep(start, &found);
	}
	rcu_read_unlock_sched();
}

void kgcc_heap_allocated_pages(void *object, size_t size, const char *where)
{
	struct page *page = virt_to_head_page(object);

	if (PageCompound(page) && size + sizeof(struct tag) <= page_size(page))
		tag_live(tag_of_pages(page), size, where);
}

/* The heap object or slot that an address is in; false if it is in neither. */
static bool find_object(const void *address, struct kgcc_object *object)
{
	struct page *page = kgcc_slab_page((unsigned long)address);

	if (page)
		return kgcc_slab_find(page, (unsigned long)address, object);
	if (!virt_addr_valid(address))
		return false;
	page = virt_to_head_page(address);
	object->kind = KGCC_PAGES;
	object->start = (unsigned long)page_address(page);
	if (PageCompound(page))
		kgcc_heap_pages(page, object);
	return true;
}

/* The tag of a live or freed object, and its contents. */
static struct tag *find_tag(const void *address, struct kgcc_object *object)
{
	if (!find_object(address, object) ||
	    (object->kind != KGCC_HEAP && object->kind != KGCC_FREED))
		return NULL;
	return container_of(object->witness, struct tag, word);
}

enum kgcc_free kgcc_heap_freed(const void *address, const char *where,
			       struct kgcc_object *found)
{
	struct tag *tag = find_tag(address, found);

	if (!tag)
		return KGCC_FREE_FOREIGN;
	if (found->kind == KGCC_FREED)
		return KGCC_FREE_TWICE;
	if (found->start != (unsigned long)address)
		return KGCC_FREE_INSIDE;
	tag_dead(tag, where);
	return KGCC_FREE_GOOD;
}

size_t kgcc_heap_size(const void *address)
{
	struct kgcc_object object;

	return find_tag(address, &object) ? object.end - object.start : 0;
}

/* -- caches for kmalloc() -------------------------------------------------------- */

/* A power of two must be aligned to itself; sizes between need only 8. */
static const unsigned int sizes[] = {
	16, 32, 48, 64, 80, 112, 176, 240, 368, 496, 752, 1008, 1520, 2032, 3056, 4080, 8176,
};

#define POWERS	ilog2(KGCC_KMALLOC_MAX)

static struct kmem_cache *between[ARRAY_SIZE(sizes)], *powers[POWERS + 1];
/* By size in steps of 16: the index of the smallest sufficient size. */
static u8 fitting[KGCC_KMALLOC_MAX / 16];
static char names[ARRAY_SIZE(sizes) + POWERS + 1][32];

static struct kmem_cache *make_cache(char *name, unsigned int size, unsigned int align)
{
	struct kmem_cache *cache;

	/* The suffix differs at each load: caches of an earlier load may still exist. */
	snprintf(name, sizeof(names[0]), "kgcc_%s%u_%04lx", align > 8 ? "aligned_" : "", size,
		 secret & 0xffff);
	/* A cache with a usercopy region is never merged with others. */
	cache = kmem_cache_create_usercopy(name, kgcc_tag_offset(size) + sizeof(struct tag),
					   align, 0, 0, size, NULL);
	if (cache && kgcc_cache_add(cache, size, true, NULL)) {
		kmem_cache_destroy(cache);
		return NULL;
	}
	return cache;
}

struct kmem_cache *kgcc_heap_cache(size_t size)
{
	if (size > KGCC_KMALLOC_MAX)
		return NULL;
	if (is_power_of_2(size) && size >= 16)
		return powers[ilog2(size)];
	if (size > sizes[ARRAY_SIZE(sizes) - 1])
		return NULL;
	return between[fitting[DIV_ROUND_UP(size, 16)]];
}

/* Objects that modules leaked may still be used or freed by others: the cache stays. */
static void remove_cache(struct kmem_cache *cache)
{
	if (!cache)
		return;
	kgcc_cache_remove(cache);
	if (kmem_cache_shrink(cache))
		pr_warn("modules leaked objects of %u bytes: their cache stays\n",
			kmem_cache_size(cache) - (unsigned int)sizeof(struct tag));
	else
		kmem_cache_destroy(cache);
}

void kgcc_heap_exit(void)
{
	/* Wait until objects passed to kfree_rcu() are freed. */
	rcu_barrier();
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++)
		remove_cache(between[i]);
	for (unsigned int i = 4; i <= POWERS; i++)
		remove_cache(powers[i]);
	rcu_barrier();
}

int kgcc_heap_init(void)
{
	unsigned int n = 0;

	secret = get_random_u64();
	for (unsigned int size = 0, i = 0; size <= sizes[ARRAY_SIZE(sizes) - 1]; size += 16) {
		i += size > sizes[i];
		fitting[size / 16] = i;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		between[i] = make_cache(names[n++], sizes[i], 8);
		if (!between[i])
			goto fail;
	}
	for (unsigned int i = 4; i <= POWERS; i++) {
		powers[i] = make_cache(names[n++], 1u << i, 1u << i);
		if (!powers[i])
			goto fail;
	}
	return 0;
fail:
	kgcc_heap_exit();
	return -ENOMEM;
}
