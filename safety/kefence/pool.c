// SPDX-License-Identifier: GPL-2.0
/*
 * Slots between pages that fault.
 *
 * class->lock is taken in any context except NMIs, and no lock is taken inside it. Chunks are added
 * one at a time under grow_lock and stay until Kefence is unloaded, so lookups need no lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/pgtable.h>

#include "pool.h"

#define CHUNK_ORDER	(PMD_SHIFT - PAGE_SHIFT)
#define CHUNK_PAGES	(1UL << CHUNK_ORDER)
/* A class with fewer free slots than this asks for another chunk. */
#define LOW_WATER(class) (32U >> (class))

struct chunk {
	unsigned long start;
	pte_t *ptes;			/* page table entries of its CHUNK_PAGES pages */
	pgprot_t prot;			/* protection in the direct map */
	unsigned int class;
	unsigned int count;		/* slots in use: all except the last */
	struct slot slots[];
};

struct pool_class {
	raw_spinlock_t lock;
	struct slot *first, **last;
	unsigned long free, slots;
	bool wanted;			/* an atomic allocation asked for a chunk */
} ____cacheline_aligned_in_smp;

static struct pool_class classes[POOL_CLASS_MAX + 1];
static unsigned int classes_empty = POOL_CLASS_MAX - POOL_CLASS_MIN + 1;

/* Open addressing, by start >> PMD_SHIFT; at most half full. */
static struct chunk **chunks;
static unsigned int chunks_bits;
static unsigned long pages_budget, pages_taken, chunks_failed;
static DEFINE_MUTEX(grow_lock);

static unsigned int class_of(size_t size)
{
	unsigned int class = POOL_CLASS_MIN;

	while (((1UL << class) - 1) << PAGE_SHIFT < size)
		class++;
	return class;
}

static struct chunk *chunk_of(unsigned long addr)
{
	unsigned long start = addr & PMD_MASK;
	unsigned int i = hash_long(start >> PMD_SHIFT, chunks_bits);
	struct chunk *chunk;

	while ((chunk = smp_load_acquire(&chunks[i]))) {
		if (chunk->start == start)
			return chunk;
		i = (i + 1) & ((1U << chunks_bits) - 1);
	}
	return NULL;
}

static void chunk_publish(struct chunk *chunk)
{
	unsigned int i = hash_long(chunk->start >> PMD_SHIFT, chunks_bits);

	while (chunks[i])
		i = (i + 1) & ((1U << chunks_bits) - 1);
	smp_store_release(&chunks[i], chunk);
}

struct slot *pool_slot_of(unsigned long addr)
{
	struct chunk *chunk = chunk_of(addr);

	if (!chunk)
		return NULL;
	return &chunk->slots[(addr & ~PMD_MASK) >> (PAGE_SHIFT + chunk->class)];
}

static unsigned int slot_index(const struct slot *slot)
{
	return slot - slot->chunk->slots;
}

struct slot *pool_slot_before(const struct slot *slot)
{
	return slot_index(slot) ? (struct slot *)slot - 1 : NULL;
}

struct slot *pool_slot_after(const struct slot *slot)
{
	/* The last slot of a chunk is not used. */
	return slot_index(slot) < slot->chunk->count ? (struct slot *)slot + 1 : NULL;
}

unsigned int pool_slot_pages(const struct slot *slot)
{
	return 1U << slot->chunk->class;
}

unsigned long pool_slot_start(const struct slot *slot)
{
	return slot->chunk->start +
	       ((unsigned long)slot_index(slot) << (PAGE_SHIFT + slot->chunk->class));
}

unsigned long pool_slot_end(const struct slot *slot)
{
	return pool_slot_start(slot) + (PAGE_SIZE << slot->chunk->class);
}

static pte_t *slot_pte(const struct slot *slot, unsigned long addr)
{
	return &slot->chunk->ptes[(addr & ~PMD_MASK) >> PAGE_SHIFT];
}

static void flush_here(unsigned long addr)
{
	asm volatile("invlpg (%0)" : : "r" (addr) : "memory");
}

void pool_protect(const struct slot *slot, unsigned long addr, unsigned long end)
{
	/* Clearing "present" is not enough: a CPU with L1TF speculates with the address bits. */
	for (addr &= PAGE_MASK; addr < end; addr += PAGE_SIZE) {
		set_pte(slot_pte(slot, addr), __pte(0));
		flush_here(addr);
	}
}

void pool_unprotect(const struct slot *slot, unsigned long addr,
		    unsigned long end, bool writable)
{
	pgprot_t prot = slot->chunk->prot;

	if (!writable)
		prot = __pgprot(pgprot_val(prot) & ~(_PAGE_RW | _PAGE_DIRTY));
	for (addr &= PAGE_MASK; addr < end; addr += PAGE_SIZE)
		set_pte(slot_pte(slot, addr), pfn_pte(__pa(addr) >> PAGE_SHIFT, prot));
}

bool pool_is_open(const struct slot *slot, unsigned long addr, bool write)
{
	pte_t pte = READ_ONCE(*slot_pte(slot, addr));

	return pte_present(pte) && (!write || pte_write(pte));
}

static void class_add(struct pool_class *class, struct slot *slot)
{
	slot->next = NULL;
	*class->last = slot;
	class->last = &slot->next;
	class->free++;
}

void pool_put(struct slot *slot)
{
	struct pool_class *class = &classes[slot->chunk->class];
	unsigned long flags;

	raw_spin_lock_irqsave(&class->lock, flags);
	class_add(class, slot);
	raw_spin_unlock_irqrestore(&class->lock, flags);
}

static struct slot *class_take(struct pool_class *class)
{
	struct slot *slot;
	unsigned long flags;

	raw_spin_lock_irqsave(&class->lock, flags);
	slot = class->first;
	if (slot) {
		class->first = slot->next;
		if (!class->first)
			class->last = &class->first;
		class->free--;
	}
	raw_spin_unlock_irqrestore(&class->lock, flags);
	return slot;
}

/* Splits the direct map's large page, by giving one of its pages other permissions. */
static int chunk_split(struct chunk *chunk)
{
	unsigned int level;
	int err;

	err = set_memory_wc(chunk->start, 1);
	if (err)
		return err;
	err = set_memory_wb(chunk->start, 1);
	if (err)
		return err;
	chunk->ptes = lookup_address(chunk->start, &level);
	if (!chunk->ptes || level != PG_LEVEL_4K)
		return -ENXIO;
	chunk->prot = pte_pgprot(*chunk->ptes);
	return 0;
}

static void chunk_free_pages(unsigned long start)
{
	unsigned int i;

	for (i = 0; i < CHUNK_PAGES; i++)
		free_page(start + i * PAGE_SIZE);
}

static struct chunk *chunk_create(unsigned int class)
{
	unsigned int i, slots = CHUNK_PAGES >> class;
	struct chunk *chunk;
	struct page *pages;

	chunk = kvzalloc(struct_size(chunk, slots, slots), GFP_KERNEL);
	if (!chunk)
		return NULL;
	/* Guard pages must be zero: a fault may open them, and they must leak nothing. */
	pages = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY,
			    CHUNK_ORDER);
	if (!pages)
		goto free_chunk;
	split_page(pages, CHUNK_ORDER);
	chunk->start = (unsigned long)page_address(pages);
	chunk->class = class;
	/* There would be no faulting page after the last slot. */
	chunk->count = slots - 1;
	for (i = 0; i < slots; i++)
		chunk->slots[i].chunk = chunk;
	if (chunk_split(chunk))
		goto free_pages;
	return chunk;

free_pages:
	chunk_free_pages(chunk->start);
free_chunk:
	kvfree(chunk);
	return NULL;
}

static void chunk_add(struct chunk *chunk)
{
	struct pool_class *class = &classes[chunk->class];
	unsigned long flags;
	unsigned int i;

	pool_protect(chunk->slots, chunk->start, chunk->start + PMD_SIZE);
	chunk_publish(chunk);
	if (!class->slots)
		WRITE_ONCE(classes_empty, classes_empty - 1);

	raw_spin_lock_irqsave(&class->lock, flags);
	class->slots += chunk->count;
	for (i = 0; i < chunk->count; i++)
		class_add(class, &chunk->slots[i]);
	raw_spin_unlock_irqrestore(&class->lock, flags);
}

/*
 * The budget that a class with slots leaves to those without: a chunk for each, but at most a
 * quarter.
 */
static unsigned long pages_reserved(void)
{
	unsigned long chunks_all = pages_budget >> CHUNK_ORDER;

	return min_t(unsigned long, READ_ONCE(classes_empty), chunks_all / 4) << CHUNK_ORDER;
}

static bool class_has_budget(unsigned int class)
{
	unsigned long reserved = READ_ONCE(classes[class].slots) ? pages_reserved() : 0;

	return READ_ONCE(pages_taken) + CHUNK_PAGES + reserved <= pages_budget;
}

static bool class_may_grow(unsigned int class)
{
	return READ_ONCE(classes[class].free) <= LOW_WATER(class) &&
	       class_has_budget(class);
}

static void class_grow(unsigned int class)
{
	struct chunk *chunk;

	lockdep_assert_held(&grow_lock);
	if (!class_may_grow(class))
		return;
	chunk = chunk_create(class);
	if (!chunk) {
		chunks_failed++;
		return;
	}
	WRITE_ONCE(pages_taken, pages_taken + CHUNK_PAGES);
	chunk_add(chunk);
}

static void grow_work(struct work_struct *work)
{
	unsigned int class;

	mutex_lock(&grow_lock);
	for (class = POOL_CLASS_MIN; class <= POOL_CLASS_MAX; class++)
		if (xchg(&classes[class].wanted, false))
			class_grow(class);
	mutex_unlock(&grow_lock);
}
static DECLARE_WORK(growing, grow_work);

/* trylock: the holder may be waiting for memory that this allocation must provide. */
static void class_want(unsigned int class, gfp_t gfp)
{
	if ((gfp & GFP_KERNEL) == GFP_KERNEL && mutex_trylock(&grow_lock)) {
		class_grow(class);
		mutex_unlock(&grow_lock);
	} else {
		WRITE_ONCE(classes[class].wanted, true);
		queue_work(system_unbound_wq, &growing);
	}
}

struct slot *pool_get(size_t size, gfp_t gfp)
{
	unsigned int class;
	struct slot *slot;

	if (size > POOL_OBJECT_MAX)
		return NULL;
	class = class_of(size);
	slot = class_take(&classes[class]);
	if (likely(slot && !class_may_grow(class)))
		return slot;
	if (!class_may_grow(class))
		return NULL;
	class_want(class, slot ? 0 : gfp);
	return slot ?: class_take(&classes[class]);
}

unsigned int pool_left(size_t size)
{
	unsigned int class;
	unsigned long slots;

	if (size > POOL_OBJECT_MAX)
		return 0;
	class = class_of(size);
	if (class_has_budget(class))
		return POOL_LEFT_ALL;
	slots = READ_ONCE(classes[class].slots);
	return slots ? READ_ONCE(classes[class].free) * POOL_LEFT_ALL / slots : 0;
}

void pool_walk(bool (*fn)(struct slot *slot, void *data), void *data)
{
	unsigned int i, j;

	for (i = 0; i < 1U << chunks_bits; i++) {
		struct chunk *chunk = smp_load_acquire(&chunks[i]);

		for (j = 0; chunk && j < chunk->count; j++)
			if (fn(&chunk->slots[j], data))
				return;
	}
}

void pool_stats(struct pool_stats *stats)
{
	unsigned int class;

	memset(stats, 0, sizeof(*stats));
	stats->budget = pages_budget;
	stats->pages = READ_ONCE(pages_taken);
	stats->failed = READ_ONCE(chunks_failed);
	for (class = POOL_CLASS_MIN; class <= POOL_CLASS_MAX; class++) {
		stats->slots[class] = READ_ONCE(classes[class].slots);
		stats->free[class] = READ_ONCE(classes[class].free);
	}
}

int pool_init(unsigned long budget)
{
	unsigned int class;

	if (budget < CHUNK_PAGES) {
		pr_err("budget=%lu: not enough for anything, %lu pages are the least\n",
		       budget, CHUNK_PAGES);
		return -EINVAL;
	}
	pages_budget = budget;
	chunks_bits = order_base_2(max(budget >> CHUNK_ORDER, 8UL)) + 1;
	chunks = kvcalloc(1UL << chunks_bits, sizeof(*chunks), GFP_KERNEL);
	if (!chunks)
		return -ENOMEM;
	for (class = 0; class <= POOL_CLASS_MAX; class++) {
		raw_spin_lock_init(&classes[class].lock);
		classes[class].last = &classes[class].first;
	}
	/*
	 * Most objects are smaller than a page: allocate their chunk now, so that not even the
	 * first waits.
	 */
	mutex_lock(&grow_lock);
	class_grow(POOL_CLASS_MIN);
	mutex_unlock(&grow_lock);
	if (!pages_taken)
		pr_warn("no 2 MiB of memory in one piece now: nothing is guarded until there are\n");
	return 0;
}

/* A later access to an object still in use must not touch another object. */
static bool chunk_keep_used(struct chunk *chunk)
{
	bool used = false;
	unsigned int i;

	for (i = 0; i < chunk->count; i++)
		used |= chunk->slots[i].state != SLOT_FREE;
	return used;
}

void pool_exit(void)
{
	unsigned long lost = 0;
	unsigned int i;

	cancel_work_sync(&growing);
	for (i = 0; i < 1U << chunks_bits; i++) {
		struct chunk *chunk = chunks[i];

		if (!chunk)
			continue;
		pool_unprotect(chunk->slots, chunk->start, chunk->start + PMD_SIZE, true);
		if (chunk_keep_used(chunk))
			lost += CHUNK_PAGES;
		else
			chunk_free_pages(chunk->start);
		kvfree(chunk);
	}
	kvfree(chunks);
	if (lost)
		pr_warn("%lu pages stay in use: objects in them were never freed\n", lost);
}
