/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_HEAP_H
#define KGCC_HEAP_H

#include <linux/gfp.h>
#include <linux/slab.h>

#include "kgcc.h"
#include "slab.h"

/*
 * Caches of instrumented modules, ours for their kmalloc() among them.  Objects
 * carry a tag after their last byte.
 */
struct kgcc_cache {
	struct hlist_node node;
	struct kmem_cache *cache;
	unsigned int size;		/* of objects, without the tag */
	bool exact;			/* each object has a size of its own: kmalloc() */
	bool shared;			/* others allocate and free there, too */
	void (*constructor)(void *object);
	struct rcu_head rcu;
};

#define KGCC_TAG_BYTES	16
/* What kmalloc() serves from caches; larger objects are of whole pages. */
#define KGCC_KMALLOC_MAX	8192u

/*
 * Where an object's tag is.  A free slot has the allocator's link in its middle, which is
 * not to lie on the tag.
 */
static inline unsigned int kgcc_tag_offset(unsigned int size)
{
	return max(ALIGN(size, 8), 24u);
}

int kgcc_heap_init(void);
void kgcc_heap_exit(void);

/* The cache for a size, NULL if it takes pages. */
struct kmem_cache *kgcc_heap_cache(size_t size);

/* Register the caches that instrumented modules create. */
int kgcc_cache_add(struct kmem_cache *cache, unsigned int size, bool exact,
		   void (*constructor)(void *object));
void kgcc_cache_remove(struct kmem_cache *cache);
void kgcc_cache_share(struct kmem_cache *cache);

/* The constructor of all caches that have one: calls the cache's own. */
void kgcc_heap_construct(void *object);

/* After an object is allocated in one of these caches, or in pages of its own. */
void kgcc_heap_allocated(void *object, size_t size, const char *where);
void kgcc_heap_allocated_pages(void *object, size_t size, const char *where);

enum kgcc_free { KGCC_FREE_GOOD, KGCC_FREE_TWICE, KGCC_FREE_INSIDE, KGCC_FREE_FOREIGN };
/* Before an object is freed: unless the result is good, it must not be. */
enum kgcc_free kgcc_heap_freed(const void *object, const char *where,
			       struct kgcc_object *found);

/* 0 where the object is not one of these. */
size_t kgcc_heap_size(const void *object);

bool kgcc_heap_find(const struct kgcc_slot *slot, struct kgcc_object *object);
void kgcc_heap_pages(struct page *page, struct kgcc_object *object);

#endif
