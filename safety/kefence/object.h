/* SPDX-License-Identifier: GPL-2.0 */
/* An object in a slot, from its birth to its death. */
#ifndef KEFENCE_OBJECT_H
#define KEFENCE_OBJECT_H

#include <linux/types.h>

#include "pool.h"

struct cache;
struct client;
struct site;

/* What is asked for.  A size known only at run time may be that of anything. */
struct request {
	size_t size;
	gfp_t gfp;			/* KEFENCE_GFP_STRUCT and all */
	bool constant;			/* size, or a number of bytes or characters */
	struct cache *cache;		/* NULL: kmalloc() */
};

/*
 * A guarded object, or NULL if none is available or it is not wanted.  Any context that
 * may allocate.
 */
void *object_alloc(const struct request *request, struct site *site);

/*
 * Ends the object at @addr in @slot if it may be ended so, else reports it.
 * @cache is that of kmem_cache_free(), or NULL.  Any context.
 */
void object_free(struct slot *slot, unsigned long addr, const struct cache *cache,
		 struct site *site);

/* The same after a grace period. */
void object_free_rcu(struct slot *slot, unsigned long addr, struct site *site);

/* After faults have opened pages of it and after it. */
void object_close(struct slot *slot);

/* Waits for all that have to be ended after a grace period. */
void object_flush(void);

void object_report_leaks(struct client *client);

#endif /* KEFENCE_OBJECT_H */
