// SPDX-License-Identifier: GPL-2.0
/* Other tools that watch objects. watches_lock guards changes of the list. */
#include <linux/export.h>
#include <linux/mutex.h>

#include "cache.h"
#include "pool.h"
#include "watch.h"

struct kefence_watch __rcu *watches;
static DEFINE_MUTEX(watches_lock);

void watch_call_alloc(const void *object, size_t size, unsigned long ip)
{
	struct kefence_watch *watch;

	rcu_read_lock();
	for (watch = rcu_dereference(watches); watch; watch = rcu_dereference(watch->next))
		watch->alloc(object, size, ip);
	rcu_read_unlock();
}

void watch_call_free(const void *object, unsigned long ip)
{
	struct kefence_watch *watch;

	rcu_read_lock();
	for (watch = rcu_dereference(watches); watch; watch = rcu_dereference(watch->next))
		watch->free(object, ip);
	rcu_read_unlock();
}

void kefence_watch(struct kefence_watch *watch)
{
	mutex_lock(&watches_lock);
	RCU_INIT_POINTER(watch->next,
			 rcu_dereference_protected(watches, lockdep_is_held(&watches_lock)));
	rcu_assign_pointer(watches, watch);
	mutex_unlock(&watches_lock);
}
EXPORT_SYMBOL_GPL(kefence_watch);

void kefence_unwatch(struct kefence_watch *watch)
{
	struct kefence_watch __rcu **link = &watches;

	mutex_lock(&watches_lock);
	while (rcu_access_pointer(*link) != watch)
		link = &rcu_dereference_protected(*link, lockdep_is_held(&watches_lock))->next;
	rcu_assign_pointer(*link, rcu_access_pointer(watch->next));
	mutex_unlock(&watches_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(kefence_unwatch);

static void object_of(const struct slot *slot, struct kefence_object *object)
{
	object->start = slot->object;
	object->size = slot->size;
	object->live = READ_ONCE(slot->state) == SLOT_LIVE;
	object->cache = slot->cache ? slot->cache->name : NULL;
	object->allocated = slot->born.ip;
	object->freed = object->live ? 0 : slot->died.ip;
}

bool kefence_find(unsigned long addr, struct kefence_object *object)
{
	const struct slot *slot = pool_slot_of(addr);

	if (!slot || !slot->born.site)
		return false;
	object_of(slot, object);
	return true;
}
EXPORT_SYMBOL_GPL(kefence_find);

struct walk {
	bool (*fn)(const struct kefence_object *object, void *data);
	void *data;
};

static bool walk_slot(struct slot *slot, void *data)
{
	const struct walk *walk = data;
	struct kefence_object object;

	if (smp_load_acquire(&slot->state) != SLOT_LIVE)
		return false;
	object_of(slot, &object);
	return walk->fn(&object, walk->data);
}

void kefence_walk(bool (*fn)(const struct kefence_object *object, void *data),
		  void *data)
{
	struct walk walk = { fn, data };

	pool_walk(walk_slot, &walk);
}
EXPORT_SYMBOL_GPL(kefence_walk);
