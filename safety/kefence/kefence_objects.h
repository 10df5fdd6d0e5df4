/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of modules built with Kefence, for other tools. Exported by kefence.ko, GPL only; build
 * with KBUILD_EXTRA_SYMBOLS += its Module.symvers.
 *
 * A watcher is called for every object that an instrumented module allocates or frees, guarded or
 * not. Lookup by address finds guarded objects only.
 */
#ifndef KEFENCE_OBJECTS_H
#define KEFENCE_OBJECTS_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct kefence_object - a guarded object
 * @start:	its first byte
 * @size:	in bytes, as requested
 * @live:	false: freed; it was the last object in its slot
 * @cache:	its kmem_cache's name, or NULL; valid while kefence.ko is loaded
 * @allocated:	address in the instrumented module to which its allocation returned
 * @freed:	the same of the call that freed it, 0 if @live
 */
struct kefence_object {
	unsigned long start;
	size_t size;
	bool live;
	const char *cache;
	unsigned long allocated;
	unsigned long freed;
};

/**
 * kefence_find - the guarded object nearest to an address
 * @addr:	any address
 * @object:	filled in if there is one
 *
 * Any context, NMIs included; takes no lock. The result may be stale at once, unless the caller
 * keeps the object alive.
 *
 * Return: true if @addr is in a slot or in the guard before it, and the slot was
 * ever used.
 */
bool kefence_find(unsigned long addr, struct kefence_object *object);

/**
 * kefence_walk - all live guarded objects
 * @fn:		called for each; returning true ends the walk
 * @data:	passed to @fn
 *
 * Any context, takes no lock.  Objects allocated or freed meanwhile may be missed.
 */
void kefence_walk(bool (*fn)(const struct kefence_object *object, void *data),
		  void *data);

/**
 * struct kefence_watch - callbacks for allocations and frees
 * @alloc:	an object was allocated, and is not visible to others yet; @ip as
 *		kefence_object.allocated
 * @free:	an object is about to be freed; its memory is not reused yet. Also called
 *		for frees that Kefence then refuses.  Memory freed by kfree_rcu() and
 *		kmem_caches with SLAB_TYPESAFE_BY_RCU may still be read for a grace period.
 * @next:	Kefence's
 *
 * Both are called in the context of the allocating or freeing code: they may not
 * sleep, nor allocate or free memory of an instrumented module.
 */
struct kefence_watch {
	void (*alloc)(const void *object, size_t size, unsigned long ip);
	void (*free)(const void *object, unsigned long ip);
	struct kefence_watch __rcu *next;
};

/**
 * kefence_watch - start calling a watcher
 * @watch:	belongs to the caller; must live until kefence_unwatch()
 *
 * For guarded objects that exist already, use kefence_walk().
 */
void kefence_watch(struct kefence_watch *watch);

/**
 * kefence_unwatch - stop calling a watcher
 * @watch:	on return none of its calls is under way
 *
 * May sleep.
 */
void kefence_unwatch(struct kefence_watch *watch);

#endif /* KEFENCE_OBJECTS_H */
