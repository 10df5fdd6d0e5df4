/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_HEAP_H
#define KGCC_HEAP_H

#include <linux/gfp.h>
#include <linux/slab.h>

#include "kgcc.h"
#include "slab.h"

/*
 * Caches of instrumented modules, including KGCC's own for their kmalloc(). Objects carry a tag
 * after their last byte.
 */
struct kgcc_cache {
	struct hlist_node node;
	struct kmem_cache *cache;
	unsigned int size;		/* object size without the tag */
	bool exact;			/* kmalloc(): each object has its own size */
	bool shared;			/* other code allocates and frees there, too */
	void (*constructor)(void *object);
	struct rcu_head rcu;
};

#define KGCC_TAG_BYTES	16
/* The largest kmalloc() served from caches; larger objects take whole pages. */
#define KGCC_KMALLOC_MAX	8192u

/*
 * The position of an object's tag. A free slot has the allocator's link in its middle, which must
 * not overlap the tag.
 */
static inline unsigned int kgcc_tag_offset(unsigned int size)
{
	return max(ALIGN(size, 8), 24u);
}

int kgcc_heap_init(void);
void kgcc_heap_exit(void);

/* The cache for a size; NULL: use pages. */
struct kmem_cache *kgcc_heap_cache(size_t size);

/* Register the caches that instrumented modules create. */
int kgcc_cache_add(struct kmem_cache *cache, unsigned int size, bool exact,
		   void (*constructor)(void *object));
void kgcc_cache_remove(struct kmem_cache *cache);
void kgcc_cache_share(struct kmem_cache *cache);

/* The constructor of all caches: calls the cache's own, if any. */
void kgcc_heap_construct(void *object);

/* Call it after allocating an object from one of these caches, or in pages of its own. */
void kgcc_heap_allocated(void *object, size_t size, const char *where);
void kgcc_heap_allocated_pages(void *object, size_t size, const char *where);

enum kgcc_free { KGCC_FREE_GOOD, KGCC_FREE_TWICE, KGCC_FREE_INSIDE, KGCC_FREE_FOREIGN };
/* Call it before freeing an object: unless the result is good, do not free it. */
enum kgcc_free kgcc_heap_freed(const void *object, const char *where,
			       struct kgcc_object *found);

/* The object's size; 0 if it is not in one of these caches. */
size_t kgcc_heap_size(const void *object);

bool kgcc_heap_find(const struct kgcc_slot *slot, struct kgcc_object *object);
void kgcc_heap_pages(struct page *page, struct kgcc_object *object);

#endif
