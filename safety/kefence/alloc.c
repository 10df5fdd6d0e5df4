// SPDX-License-Identifier: GPL-2.0
/*
 * The replacements of kmalloc(), kmem_cache_alloc(), kfree() and so on.
 *
 * A free goes by the address, whichever function allocated it: memory outside slots belongs to the
 * kernel.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "alloc.h"
#include "cache.h"
#include "client.h"
#include "pool.h"
#include "site.h"
#include "violation.h"

/* One of this many calls at a place is timed. */
#define TIMED_SHARE	64

static void *alloc_timed(const struct request *request, struct site *site)
{
	u64 start = ktime_get_mono_fast_ns();
	void *object = object_alloc(request, site);

	atomic_long_add(ktime_get_mono_fast_ns() - start, &site->ns);
	atomic_long_inc(&site->timed);
	return object;
}

void *alloc_guarded(const struct request *request, unsigned long ip)
{
	struct site *site = site_of(ip);

	if (unlikely(atomic_long_inc_return(&site->allocs) % TIMED_SHARE == 0))
		return alloc_timed(request, site);
	return object_alloc(request, site);
}

/* -- allocating --------------------------------------------------------------- */

#define STAND_IN(name, constant_, parameters, arguments)		\
	EXPORT_STAND_IN(name);						\
	void *kefence_##name parameters					\
	{								\
		const struct request request = {			\
			.size = size, .gfp = flags, .constant = constant_,\
		};							\
									\
		flags &= ~KEFENCE_GFP_STRUCT;				\
		return alloc_guarded_or(&request, name arguments);	\
	}

#define STAND_IN_CACHE(name, parameters, arguments)			\
	EXPORT_STAND_IN(name);						\
	void *kefence_##name parameters					\
	{								\
		struct cache *cache = cache_of(s);			\
		const struct request request = {			\
			.size = cache ? cache->size : 0,		\
			.gfp = flags, .constant = true, .cache = cache,	\
		};							\
									\
		return alloc_guarded_or(&request, name arguments);	\
	}

#include "stand_ins.h"

/* -- freeing ------------------------------------------------------------------ */

static void freed(struct slot *slot, const void *object, const struct cache *cache,
		  unsigned long ip)
{
	struct site *site = site_of(ip);

	atomic_long_inc(&site->frees);
	watch_free(object, ip);
	object_free(slot, (unsigned long)object, cache, site);
}

bool alloc_free_guarded(const void *object, unsigned long ip)
{
	struct slot *slot;

	if (ZERO_OR_NULL_PTR(object))
		return false;
	slot = pool_slot_of((unsigned long)object);
	if (slot) {
		freed(slot, object, NULL, ip);
		return true;
	}
	if (unlikely(!alloc_in_direct_map(object))) {
		violation_of_foreign_free((unsigned long)object, site_of(ip));
		return true;
	}
	watch_free(object, ip);
	return false;
}

EXPORT_STAND_IN(kfree);
void kefence_kfree(const void *object)
{
	if (!alloc_free_guarded(object, _RET_IP_))
		kfree(object);
}

/* Strings in the kernel's read-only data are not freed. */
EXPORT_STAND_IN(kfree_const);
void kefence_kfree_const(const void *object)
{
	if (!alloc_in_direct_map(object) || !alloc_free_guarded(object, _RET_IP_))
		kfree_const(object);
}

EXPORT_STAND_IN(kfree_sensitive);
void kefence_kfree_sensitive(const void *object)
{
	struct slot *slot = pool_slot_of((unsigned long)object);

	if (slot && READ_ONCE(slot->state) == SLOT_LIVE &&
	    slot->object == (unsigned long)object)
		memzero_explicit((void *)object, slot->size);
	if (!alloc_free_guarded(object, _RET_IP_))
		kfree_sensitive(object);
}

EXPORT_STAND_IN(kvfree);
void kefence_kvfree(const void *object)
{
	if (is_vmalloc_addr(object))
		watch_free(object, _RET_IP_);
	else if (alloc_free_guarded(object, _RET_IP_))
		return;
	kvfree(object);
}

EXPORT_STAND_IN(kvfree_sensitive);
void kefence_kvfree_sensitive(const void *object, size_t len)
{
	if (pool_slot_of((unsigned long)object)) {
		memzero_explicit((void *)object, len);
		alloc_free_guarded(object, _RET_IP_);
		return;
	}
	watch_free(object, _RET_IP_);
	kvfree_sensitive(object, len);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
EXPORT_STAND_IN(kvfree_atomic);
void kefence_kvfree_atomic(const void *object)
{
	if (is_vmalloc_addr(object))
		watch_free(object, _RET_IP_);
	else if (alloc_free_guarded(object, _RET_IP_))
		return;
	kvfree_atomic(object);
}
#endif

/* kfree_rcu() in all forms. Without an rcu_head the caller must be allowed to sleep. */
static bool free_guarded_rcu(bool head, void *object, unsigned long ip)
{
	struct slot *slot = pool_slot_of((unsigned long)object);
	struct site *site;

	watch_free(object, ip);
	if (!slot)
		return false;
	site = site_of(ip);
	atomic_long_inc(&site->frees);
	if (head) {
		object_free_rcu(slot, (unsigned long)object, site);
	} else {
		synchronize_rcu();
		object_free(slot, (unsigned long)object, NULL, site);
	}
	return true;
}

EXPORT_STAND_IN(kvfree_call_rcu);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
void kefence_kvfree_call_rcu(struct rcu_head *head, void *object)
{
	if (!free_guarded_rcu(head, object, _RET_IP_))
		kvfree_call_rcu(head, object);
}
#else
/* The "function" is the offset of the head in the object, or the object itself. */
void kefence_kvfree_call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	void *object = head ? (void *)head - (unsigned long)func : (void *)func;

	if (!free_guarded_rcu(head, object, _RET_IP_))
		kvfree_call_rcu(head, func);
}
#endif

/* Guarded objects are freed through call_rcu(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
EXPORT_STAND_IN(kvfree_rcu_barrier);
void kefence_kvfree_rcu_barrier(void)
{
	rcu_barrier();
	kvfree_rcu_barrier();
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
EXPORT_STAND_IN(kvfree_rcu_barrier_on_cache);
void kefence_kvfree_rcu_barrier_on_cache(struct kmem_cache *s)
{
	rcu_barrier();
	kvfree_rcu_barrier_on_cache(s);
}
#endif

/* -- sizes -------------------------------------------------------------------- */

EXPORT_STAND_IN(ksize);
size_t kefence_ksize(const void *object)
{
	const struct slot *slot = pool_slot_of((unsigned long)object);

	return slot ? slot->size : ksize(object);
}

/*
 * Copies the contents of @object to @fresh, frees @object and returns @fresh. If @fresh is NULL,
 * nothing changes.
 */
static void *moved(struct slot *slot, const void *object, size_t size, void *fresh,
		   unsigned long ip)
{
	if (!fresh)
		return NULL;
	memcpy(fresh, object, min_t(size_t, size, slot->size));
	freed(slot, object, NULL, ip);
	return fresh;
}

static void *realloc_guarded(struct slot *slot, const void *object, size_t size,
			     gfp_t flags, bool virtual, unsigned long ip)
{
	const struct request request = { .size = size, .gfp = flags };
	void *fresh;

	if (READ_ONCE(slot->state) != SLOT_LIVE ||
	    slot->object != (unsigned long)object) {
		/* Reports it. */
		freed(slot, object, NULL, ip);
		return NULL;
	}
	if (!size) {
		freed(slot, object, NULL, ip);
		return ZERO_SIZE_PTR;
	}
	flags &= ~KEFENCE_GFP_STRUCT;
	fresh = alloc_guarded(&request, ip) ?:
		virtual ? kvmalloc(size, flags) : kmalloc(size, flags);
	watch_alloc(fresh, size, ip);
	return moved(slot, object, size, fresh, ip);
}

/* A guarded object moves; one that does not exist yet is allocated. */
#define realloc_guarded_or(object, size_, flags_, virtual, real) ({	\
	struct slot *slot_ = pool_slot_of((unsigned long)(object));	\
	const struct request request_ = { .size = (size_), .gfp = (flags_) };\
	void *result_;							\
									\
	if (slot_) {							\
		result_ = realloc_guarded(slot_, object, size_, flags_,	\
					  virtual, _RET_IP_);		\
	} else if (!(object)) {						\
		result_ = alloc_guarded_or(&request_, real);		\
	} else {							\
		watch_free(object, _RET_IP_);				\
		result_ = realloc_watched(object, size_, real, _RET_IP_);\
	}								\
	result_;							\
})

/* Without memory the object stays where it was. */
static void *realloc_watched(const void *object, size_t size, void *result,
			     unsigned long ip)
{
	if (result && result != ZERO_SIZE_PTR)
		watch_alloc(result, size, ip);
	else if (size && !ZERO_OR_NULL_PTR(object) && alloc_in_direct_map(object))
		watch_alloc(object, ksize(object), ip);
	return result;
}

#ifdef krealloc_node_align
EXPORT_STAND_IN(krealloc_node_align_noprof);
void *kefence_krealloc_node_align_noprof(const void *object,
					 DECL_TOKEN_PARAMS(size, token),
					 unsigned long align, gfp_t flags, int node)
{
	return realloc_guarded_or(object, size, flags, false,
		krealloc_node_align_noprof(object, PASS_TOKEN_PARAMS(size, token),
					   align, flags & ~KEFENCE_GFP_STRUCT, node));
}

EXPORT_STAND_IN(kvrealloc_node_align_noprof);
void *kefence_kvrealloc_node_align_noprof(const void *object,
					  DECL_TOKEN_PARAMS(size, token),
					  unsigned long align, gfp_t flags, int node)
{
	return realloc_guarded_or(object, size, flags, true,
		kvrealloc_node_align_noprof(object, PASS_TOKEN_PARAMS(size, token),
					    align, flags & ~KEFENCE_GFP_STRUCT, node));
}
#elif defined(krealloc)
EXPORT_STAND_IN(krealloc_noprof);
void *kefence_krealloc_noprof(const void *object, size_t size, gfp_t flags)
{
	return realloc_guarded_or(object, size, flags, false,
		krealloc_noprof(object, size, flags & ~KEFENCE_GFP_STRUCT));
}

EXPORT_STAND_IN(kvrealloc_noprof);
void *kefence_kvrealloc_noprof(const void *object, size_t size, gfp_t flags)
{
	return realloc_guarded_or(object, size, flags, true,
		kvrealloc_noprof(object, size, flags & ~KEFENCE_GFP_STRUCT));
}
#else
EXPORT_STAND_IN(krealloc);
void *kefence_krealloc(const void *object, size_t size, gfp_t flags)
{
	return realloc_guarded_or(object, size, flags, false,
		krealloc(object, size, flags & ~KEFENCE_GFP_STRUCT));
}

EXPORT_STAND_IN(kvrealloc);
void *kefence_kvrealloc(const void *object, size_t old_size, size_t size, gfp_t flags)
{
	return realloc_guarded_or(object, size, flags, true,
		kvrealloc(object, old_size, size, flags & ~KEFENCE_GFP_STRUCT));
}
#endif

/* -- caches ------------------------------------------------------------------- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
EXPORT_STAND_IN(__kmem_cache_create_args);
struct kmem_cache *kefence___kmem_cache_create_args(const char *name, unsigned int size,
						    struct kmem_cache_args *args,
						    slab_flags_t flags)
{
	struct kmem_cache *real;

	real = __kmem_cache_create_args(name, size, args, flags | COMPAT_SLAB_NO_MERGE);
	if (real)
		cache_add(real, client_of(_RET_IP_), name, size, args->align, flags,
			  args->ctor);
	return real;
}
#else
EXPORT_STAND_IN(kmem_cache_create);
struct kmem_cache *kefence_kmem_cache_create(const char *name, unsigned int size,
					     unsigned int align, slab_flags_t flags,
					     void (*ctor)(void *object))
{
	struct kmem_cache *real;

	real = kmem_cache_create(name, size, align, flags | COMPAT_SLAB_NO_MERGE, ctor);
	if (real)
		cache_add(real, client_of(_RET_IP_), name, size, align, flags, ctor);
	return real;
}

EXPORT_STAND_IN(kmem_cache_create_usercopy);
struct kmem_cache *kefence_kmem_cache_create_usercopy(const char *name,
		unsigned int size, unsigned int align, slab_flags_t flags,
		unsigned int useroffset, unsigned int usersize,
		void (*ctor)(void *object))
{
	struct kmem_cache *real;

	real = kmem_cache_create_usercopy(name, size, align,
					  flags | COMPAT_SLAB_NO_MERGE, useroffset,
					  usersize, ctor);
	if (real)
		cache_add(real, client_of(_RET_IP_), name, size, align, flags, ctor);
	return real;
}
#endif

EXPORT_STAND_IN(kmem_cache_destroy);
void kefence_kmem_cache_destroy(struct kmem_cache *s)
{
	cache_remove(s, _RET_IP_);
	kmem_cache_destroy(s);
}

static void cache_free(struct kmem_cache *s, void *object, unsigned long ip)
{
	struct slot *slot = pool_slot_of((unsigned long)object);

	if (slot) {
		freed(slot, object, cache_of(s), ip);
		return;
	}
	watch_free(object, ip);
	kmem_cache_free(s, object);
}

EXPORT_STAND_IN(kmem_cache_free);
void kefence_kmem_cache_free(struct kmem_cache *s, void *object)
{
	cache_free(s, object, _RET_IP_);
}

/* With a NULL cache it acts as kfree_bulk(). */
EXPORT_STAND_IN(kmem_cache_free_bulk);
void kefence_kmem_cache_free_bulk(struct kmem_cache *s, size_t n, void **objects)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (s)
			cache_free(s, objects[i], _RET_IP_);
		else if (!alloc_free_guarded(objects[i], _RET_IP_))
			kfree(objects[i]);
	}
}

/* Objects of the pool are not charged to a memory cgroup. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
EXPORT_STAND_IN(kmem_cache_charge);
bool kefence_kmem_cache_charge(void *object, gfp_t flags)
{
	return pool_slot_of((unsigned long)object) || kmem_cache_charge(object, flags);
}
#endif

static size_t cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t n,
			       void **objects, unsigned long ip)
{
	struct cache *cache = cache_of(s);
	const struct request request = {
		.size = cache ? cache->size : 0,
		.gfp = flags, .constant = true, .cache = cache,
	};
	size_t i;

	for (i = 0; i < n; i++) {
		objects[i] = alloc_guarded(&request, ip) ?: kmem_cache_alloc(s, flags);
		if (!objects[i])
			break;
		watch_alloc(objects[i], request.size, ip);
	}
	if (i == n)
		return n;
	while (i--)
		cache_free(s, objects[i], ip);
	return 0;
}

#ifdef kmem_cache_alloc_bulk
EXPORT_STAND_IN(kmem_cache_alloc_bulk_noprof);
typeof(kmem_cache_alloc_bulk_noprof(NULL, 0, 0, NULL))
kefence_kmem_cache_alloc_bulk_noprof(struct kmem_cache *s, gfp_t flags, size_t n,
				     void **objects)
{
	return cache_alloc_bulk(s, flags, n, objects, _RET_IP_);
}
#else
EXPORT_STAND_IN(kmem_cache_alloc_bulk);
int kefence_kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t n,
				  void **objects)
{
	return cache_alloc_bulk(s, flags, n, objects, _RET_IP_);
}
#endif
