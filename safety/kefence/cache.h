/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kmem_caches created by instrumented modules, with what the kernel does not reveal: constructor,
 * alignment, name. Objects of other caches are left to the kernel. A record outlives its cache,
 * because freed objects refer to it.
 */
#ifndef KEFENCE_CACHE_H
#define KEFENCE_CACHE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/slab.h>

struct client;

struct cache {
	struct hlist_node node;
	struct kmem_cache *real;	/* NULL once destroyed */
	struct client *client;
	void (*ctor)(void *object);
	unsigned int size, align;
	bool by_rcu;			/* SLAB_TYPESAFE_BY_RCU */
	bool wanted;			/* selected by the client's settings */
	atomic_long_t live;		/* guarded objects */
	char name[];
};

/* The record of a cache, or NULL.  Any context. */
struct cache *cache_of(const struct kmem_cache *real);

/* Records a new cache; without memory for a record its objects are not guarded. */
void cache_add(struct kmem_cache *real, struct client *client, const char *name,
	       unsigned int size, unsigned int align, slab_flags_t flags,
	       void (*ctor)(void *object));

/* Called before its destruction: reports objects still alive. */
void cache_remove(struct kmem_cache *real, unsigned long ip);

void cache_settings_changed(const struct client *client);
void cache_exit(void);

#endif /* KEFENCE_CACHE_H */
