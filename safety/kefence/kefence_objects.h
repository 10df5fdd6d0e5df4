/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of modules that are built with Kefence, for other tools.  Exported
 * by kefence.ko, GPL only; build with KBUILD_EXTRA_SYMBOLS += its Module.symvers.
 *
 * A watcher is told of every object that an instrumented module allocates or
 * frees, guarded or not.  What is alive at some address is known for guarded
 * objects only.
 */
#ifndef KEFENCE_OBJECTS_H
#define KEFENCE_OBJECTS_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct kefence_object - a guarded object
 * @start:	its first byte
 * @size:	in bytes, as it was asked for
 * @live:	false: the last object that was there, which has been freed
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
 * Any context, NMIs included; takes no lock.  What is found may change at once,
 * unless the caller keeps the object alive.
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
 * Any context, takes no lock.  Objects that come or go meanwhile may be missed.
 */
void kefence_walk(bool (*fn)(const struct kefence_object *object, void *data),
		  void *data);

/**
 * struct kefence_watch - who wants to be told of objects
 * @alloc:	an object exists, no one else knows it yet; @ip as
 *		kefence_object.allocated
 * @free:	an object is about to end; no one else has the memory yet.  Also called
 *		for frees that Kefence then refuses.  Memory freed by kfree_rcu() and
 *		kmem_caches with SLAB_TYPESAFE_BY_RCU may be read on for a grace period.
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
 * kefence_watch - be told of objects from now on
 * @watch:	stays the caller's, until kefence_unwatch()
 *
 * Objects that are alive already: kefence_walk() has the guarded ones.
 */
void kefence_watch(struct kefence_watch *watch);

/**
 * kefence_unwatch - be told no longer
 * @watch:	no call of it is under way or comes when this returns
 *
 * May sleep.
 */
void kefence_unwatch(struct kefence_watch *watch);

#endif /* KEFENCE_OBJECTS_H */
