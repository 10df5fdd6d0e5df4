/* SPDX-License-Identifier: GPL-2.0 */
/* An object in a slot, from allocation to free. */
#ifndef KEFENCE_OBJECT_H
#define KEFENCE_OBJECT_H

#include <linux/types.h>

#include "pool.h"

struct cache;
struct client;
struct site;

/* An allocation request. A size known only at run time may be of any type. */
struct request {
	size_t size;
	gfp_t gfp;			/* including KEFENCE_GFP_STRUCT */
	bool constant;			/* size is constant, or counts bytes or characters */
	struct cache *cache;		/* NULL: kmalloc() */
};

/* A guarded object, or NULL if none is available or wanted. Any context that may allocate. */
void *object_alloc(const struct request *request, struct site *site);

/*
 * Frees the object at @addr in @slot, or reports why it must not be freed so. @cache is
 * kmem_cache_free()'s, or NULL. Any context.
 */
void object_free(struct slot *slot, unsigned long addr, const struct cache *cache,
		 struct site *site);

/* Like object_free(), after a grace period. */
void object_free_rcu(struct slot *slot, unsigned long addr, struct site *site);

/* Closes the pages in and after the slot that faults opened. */
void object_close(struct slot *slot);

/* Waits for all frees that are pending a grace period. */
void object_flush(void);

void object_report_leaks(struct client *client);

#endif /* KEFENCE_OBJECT_H */
