// SPDX-License-Identifier: GPL-2.0
/*
 * kmem_caches of instrumented modules.
 *
 * caches_lock serialises writers; lookups use RCU, and records are freed only when Kefence is
 * unloaded.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "cache.h"
#include "client.h"
#include "object.h"
#include "violation.h"

static DEFINE_HASHTABLE(caches, 8);
static HLIST_HEAD(destroyed);
static DEFINE_MUTEX(caches_lock);

struct cache *cache_of(const struct kmem_cache *real)
{
	struct cache *cache, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(caches, cache, node, (unsigned long)real)
		if (cache->real == real) {
			found = cache;
			break;
		}
	rcu_read_unlock();
	return found;
}

/* A module that is reloaded creates its caches again: reuse their records. */
static struct cache *cache_again(const struct client *client, const char *name)
{
	struct cache *cache;

	hlist_for_each_entry(cache, &destroyed, node)
		if (cache->client == client && !strcmp(cache->name, name) &&
		    !atomic_long_read(&cache->live)) {
			hlist_del(&cache->node);
			return cache;
		}
	return NULL;
}

void cache_add(struct kmem_cache *real, struct client *client, const char *name,
	       unsigned int size, unsigned int align, slab_flags_t flags,
	       void (*ctor)(void *object))
{
	size_t len = strlen(name) + 1;
	struct cache *cache;

	mutex_lock(&caches_lock);
	cache = cache_again(client, name);
	if (!cache)
		cache = kzalloc(struct_size(cache, name, len), GFP_KERNEL);
	if (!cache)
		goto unlock;
	memcpy(cache->name, name, len);
	cache->client = client;
	cache->ctor = ctor;
	cache->size = size;
	cache->align = align;
	cache->by_rcu = flags & SLAB_TYPESAFE_BY_RCU;
	cache->wanted = client_wants_cache(client, name);
	cache->real = real;
	hash_add_rcu(caches, &cache->node, (unsigned long)real);
unlock:
	mutex_unlock(&caches_lock);
}

void cache_remove(struct kmem_cache *real, unsigned long ip)
{
	struct cache *cache = cache_of(real);

	if (!cache)
		return;
	/* Objects that RCU is about to free are not leaked. */
	if (atomic_long_read(&cache->live))
		object_flush();
	violation_of_cache(cache, ip);
	mutex_lock(&caches_lock);
	hash_del_rcu(&cache->node);
	mutex_unlock(&caches_lock);
	/* A lookup may still be reading the record. */
	synchronize_rcu();
	mutex_lock(&caches_lock);
	cache->real = NULL;
	hlist_add_head(&cache->node, &destroyed);
	mutex_unlock(&caches_lock);
}

void cache_settings_changed(const struct client *client)
{
	struct cache *cache;
	unsigned int i;

	mutex_lock(&caches_lock);
	hash_for_each(caches, i, cache, node)
		if (cache->client == client)
			WRITE_ONCE(cache->wanted,
				   client_wants_cache(client, cache->name));
	mutex_unlock(&caches_lock);
}

void cache_exit(void)
{
	struct hlist_node *next;
	struct cache *cache;
	unsigned int i;

	hash_for_each_safe(caches, i, next, cache, node)
		kfree(cache);
	hlist_for_each_entry_safe(cache, next, &destroyed, node)
		kfree(cache);
}
