// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "alloc.h"
#include "compat.h"
#include "heap.h"
#include "library.h"
#include "text.h"
#include "region.h"
#include "violation.h"

/* -- kmalloc() ------------------------------------------------------------------- */

/* Memory in whole pages, with room for a tag. */
static void *alloc_large(const char *where, size_t size, gfp_t flags, int node)
{
	void *object = kmalloc_node(size + KGCC_TAG_BYTES, flags, node);

	if (object)
		kgcc_heap_allocated_pages(object, size, where);
	return object;
}

void *kgcc_kmalloc(const char *where, size_t size, gfp_t flags, int node)
{
	struct kmem_cache *cache;
	void *object;

	if (!size)
		return ZERO_SIZE_PTR;
	cache = kgcc_heap_cache(size);
	/* KGCC's caches have ordinary memory only: other zones are the kernel's to serve. */
	if (flags & GFP_ZONEMASK)
		return kmalloc_node(size, flags, node);
	if (!cache)
		return alloc_large(where, size, flags, node);
	object = kmem_cache_alloc_node(cache, flags & ~__GFP_ZERO, node);
	if (!object)
		return NULL;
	if (flags & __GFP_ZERO)
		memset(object, 0, size);
	kgcc_heap_allocated(object, size, where);
	return object;
}
EXPORT_SYMBOL_GPL(kgcc_kmalloc);

void *kgcc_kvmalloc(const char *where, size_t size, gfp_t flags, int node)
{
	void *object;

	if (size <= KGCC_KMALLOC_MAX)
		return kgcc_kmalloc(where, size, flags, node);
	object = kvmalloc_node(size + KGCC_TAG_BYTES, flags, node);
	if (is_vmalloc_addr(object))
		kgcc_note(where, object, size);
	else if (object)
		kgcc_heap_allocated_pages(object, size, where);
	return object;
}
EXPORT_SYMBOL_GPL(kgcc_kvmalloc);

/* Whether an object may be freed; reports it if not. */
static bool may_free(const char *where, const void *object, unsigned long ip)
{
	struct kgcc_object found;
	enum kgcc_free state;

	if (ZERO_OR_NULL_PTR(object))
		return true;
	state = kgcc_heap_freed(object, where, &found);
	if (state == KGCC_FREE_GOOD || state == KGCC_FREE_FOREIGN)
		return true;
	kgcc_violation_free(object, state, &found, where, ip);
	return false;
}

void kgcc_kfree(const char *where, const void *object)
{
	if (may_free(where, object, _RET_IP_))
		kfree(object);
}
EXPORT_SYMBOL_GPL(kgcc_kfree);

void kgcc_kfree_sensitive(const char *where, const void *object)
{
	size_t size = ZERO_OR_NULL_PTR(object) ? 0 : kgcc_heap_size(object);

	if (!may_free(where, object, _RET_IP_))
		return;
	if (!size) {
		kfree_sensitive(object);
		return;
	}
	memzero_explicit((void *)object, size);
	kfree(object);
}
EXPORT_SYMBOL_GPL(kgcc_kfree_sensitive);

void kgcc_kvfree(const char *where, const void *object)
{
	if (is_vmalloc_addr(object)) {
		kgcc_forget(object);
		vfree(object);
	} else {
		kgcc_kfree(where, object);
	}
}
EXPORT_SYMBOL_GPL(kgcc_kvfree);

void kgcc_kvfree_sensitive(const char *where, const void *object, size_t length)
{
	if (!ZERO_OR_NULL_PTR(object))
		memzero_explicit((void *)object, length);
	kgcc_kvfree(where, object);
}
EXPORT_SYMBOL_GPL(kgcc_kvfree_sensitive);

size_t kgcc_ksize(const char *where, const void *object)
{
	size_t size = ZERO_OR_NULL_PTR(object) ? 0 : kgcc_heap_size(object);

	return size ?: ksize(object);
}
EXPORT_SYMBOL_GPL(kgcc_ksize);

/* The size of vmalloc() memory may be unknown: then all pages up to the requested size. */
static size_t room_of(const char *where, const void *old, size_t wanted)
{
	size_t room = 0;

	if (!is_vmalloc_addr(old))
		return ZERO_OR_NULL_PTR(old) ? 0 : kgcc_ksize(where, old);
	while (room < wanted && vmalloc_to_page(old + room))
		room += PAGE_SIZE;
	return room;
}

/* Moves the contents to a new object; does nothing if there is none. */
static void *move(const char *where, const void *old, void *object, size_t size)
{
	size_t room = room_of(where, old, size);

	if (!object)
		return NULL;
	memcpy(object, old, min(room, size));
	kgcc_kvfree(where, old);
	return object;
}

/* Always moves: the kernel's own function would let the object grow over its tag. */
void *kgcc_krealloc(const char *where, const void *old, size_t size, gfp_t flags)
{
	return move(where, old, kgcc_kmalloc(where, size, flags, NUMA_NO_NODE), size);
}
EXPORT_SYMBOL_GPL(kgcc_krealloc);

void *kgcc_kvrealloc(const char *where, const void *old, size_t size, gfp_t flags)
{
	return move(where, old, kgcc_kvmalloc(where, size, flags, NUMA_NO_NODE), size);
}
EXPORT_SYMBOL_GPL(kgcc_kvrealloc);

void *kgcc_vrealloc(const char *where, const void *old, size_t size, gfp_t flags)
{
	void *memory;

	if (!size) {
		kgcc_kvfree(where, old);
		return NULL;
	}
	memory = __vmalloc(size, flags);
	kgcc_note(where, memory, size);
	return move(where, old, memory, size);
}
EXPORT_SYMBOL_GPL(kgcc_vrealloc);

/* -- copies ---------------------------------------------------------------------- */

void *kgcc_kmemdup(const char *where, const void *s, size_t length, gfp_t flags)
{
	void *copy = kgcc_kmalloc(where, length, flags, NUMA_NO_NODE);

	kgcc_library_read(where, s, length, _RET_IP_);
	if (copy)
		memcpy(copy, s, length);
	return copy;
}
EXPORT_SYMBOL_GPL(kgcc_kmemdup);

/* A copy with a terminating zero. */
static char *duplicate(const char *where, const char *s, size_t length, gfp_t flags)
{
	char *copy = kgcc_kmalloc(where, length + 1, flags, NUMA_NO_NODE);

	if (copy) {
		memcpy(copy, s, length);
		copy[length] = 0;
	}
	return copy;
}

char *kgcc_kmemdup_nul(const char *where, const char *s, size_t length, gfp_t flags)
{
	if (!s)
		return NULL;
	kgcc_library_read(where, s, length, _RET_IP_);
	return duplicate(where, s, length, flags);
}
EXPORT_SYMBOL_GPL(kgcc_kmemdup_nul);

char *kgcc_kstrdup(const char *where, const char *s, gfp_t flags)
{
	if (!s)
		return NULL;
	return duplicate(where, s, kgcc_library_string(where, s, SIZE_MAX, _RET_IP_), flags);
}
EXPORT_SYMBOL_GPL(kgcc_kstrdup);

char *kgcc_kstrndup(const char *where, const char *s, size_t max, gfp_t flags)
{
	if (!s)
		return NULL;
	return duplicate(where, s, kgcc_library_string(where, s, max, _RET_IP_), flags);
}
EXPORT_SYMBOL_GPL(kgcc_kstrndup);

static void *copy_user(const char *where, const void __user *s, size_t length, size_t room)
{
	char *copy = kgcc_kmalloc(where, room, GFP_USER | __GFP_NOWARN, NUMA_NO_NODE);

	if (!copy)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(copy, s, length)) {
		kgcc_kfree(where, copy);
		return ERR_PTR(-EFAULT);
	}
	return copy;
}

void *kgcc_memdup_user(const char *where, const void __user *s, size_t length)
{
	return copy_user(where, s, length, length);
}
EXPORT_SYMBOL_GPL(kgcc_memdup_user);

void *kgcc_memdup_user_nul(const char *where, const void __user *s, size_t length)
{
	char *copy = copy_user(where, s, length, length + 1);

	if (!IS_ERR(copy))
		copy[length] = 0;
	return copy;
}
EXPORT_SYMBOL_GPL(kgcc_memdup_user_nul);

char *kgcc_strndup_user(const char *where, const char __user *s, long n)
{
	long length = strnlen_user(s, n);
	char *copy;

	if (!length)
		return ERR_PTR(-EFAULT);
	if (length > n)
		return ERR_PTR(-EINVAL);
	copy = kgcc_memdup_user(where, s, length);
	if (!IS_ERR(copy))
		copy[length - 1] = 0;
	return copy;
}
EXPORT_SYMBOL_GPL(kgcc_strndup_user);

char *kgcc_kvasprintf(const char *where, gfp_t flags, const char *format, va_list args)
{
	int length;
	va_list again;
	char *text;

	kgcc_check_texts(where, format, args, _RET_IP_);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = kgcc_kmalloc(where, length + 1, flags, NUMA_NO_NODE);
	if (text)
		vsnprintf(text, length + 1, format, args);
	return text;
}
EXPORT_SYMBOL_GPL(kgcc_kvasprintf);

char *kgcc_kasprintf(const char *where, gfp_t flags, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = kgcc_kvasprintf(where, flags, format, args);
	va_end(args);
	return text;
}
EXPORT_SYMBOL_GPL(kgcc_kasprintf);

/* -- caches ---------------------------------------------------------------------- */

static unsigned int with_tag(unsigned int size)
{
	return kgcc_tag_offset(size) + KGCC_TAG_BYTES;
}

/* The kernel's red zones would shift the objects within their slots. */
#define KERNEL_CHECKS	(SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)

static struct kmem_cache *register_cache(struct kmem_cache *cache, unsigned int size,
					 slab_flags_t flags, void (*constructor)(void *))
{
	if (!cache)
		return NULL;
	if (kgcc_cache_add(cache, size, false, constructor)) {
		kmem_cache_destroy(cache);
		return NULL;
	}
	/* Freed objects of such a cache may still be read. */
	if (flags & SLAB_TYPESAFE_BY_RCU)
		kgcc_cache_share(cache);
	return cache;
}

struct kmem_cache *kgcc_cache_create_usercopy(const char *where, const char *name,
					      unsigned int size, unsigned int align,
					      slab_flags_t flags, unsigned int useroffset,
					      unsigned int usersize,
					      void (*constructor)(void *))
{
	flags &= ~KERNEL_CHECKS;
	/* A usercopy region of one byte prevents merging with other caches. */
	return register_cache(kmem_cache_create_usercopy(name, with_tag(size), align, flags,
							 useroffset, usersize ?: 1,
							 constructor ? kgcc_heap_construct : NULL),
			      size, flags, constructor);
}
EXPORT_SYMBOL_GPL(kgcc_cache_create_usercopy);

struct kmem_cache *kgcc_cache_create(const char *where, const char *name, unsigned int size,
				     unsigned int align, slab_flags_t flags,
				     void (*constructor)(void *))
{
	return kgcc_cache_create_usercopy(where, name, size, align, flags, 0, 0, constructor);
}
EXPORT_SYMBOL_GPL(kgcc_cache_create);

#ifdef KGCC_HAS_CACHE_ARGS
struct kmem_cache *kgcc_cache_create_args(const char *where, const char *name,
					  unsigned int size, struct kmem_cache_args *args,
					  slab_flags_t flags)
{
	struct kmem_cache_args with = args ? *args : (struct kmem_cache_args){};

	flags &= ~KERNEL_CHECKS;
	with.usersize = with.usersize ?: 1;
	with.ctor = with.ctor ? kgcc_heap_construct : NULL;
	return register_cache(__kmem_cache_create_args(name, with_tag(size), &with, flags),
			      size, flags, args ? args->ctor : NULL);
}
EXPORT_SYMBOL_GPL(kgcc_cache_create_args);
#endif

void kgcc_cache_destroy(const char *where, struct kmem_cache *cache)
{
	if (cache)
		kgcc_cache_remove(cache);
	kmem_cache_destroy(cache);
}
EXPORT_SYMBOL_GPL(kgcc_cache_destroy);

void kgcc_cache_hand_out(struct kmem_cache *cache)
{
	if (cache)
		kgcc_cache_share(cache);
}
EXPORT_SYMBOL_GPL(kgcc_cache_hand_out);

void *kgcc_cache_alloc(const char *where, struct kmem_cache *cache, struct list_lru *lru,
		       gfp_t flags, int node)
{
	void *object = lru ? kmem_cache_alloc_lru(cache, lru, flags)
			   : kmem_cache_alloc_node(cache, flags, node);

	if (object)
		kgcc_heap_allocated(object, 0, where);
	return object;
}
EXPORT_SYMBOL_GPL(kgcc_cache_alloc);

void kgcc_cache_free(const char *where, struct kmem_cache *cache, void *object)
{
	if (may_free(where, object, _RET_IP_))
		kmem_cache_free(cache, object);
}
EXPORT_SYMBOL_GPL(kgcc_cache_free);

/* -- other memory ---------------------------------------------------------------- */

void kgcc_note(const char *where, void *memory, size_t size)
{
	if (!IS_ERR_OR_NULL(memory))
		kgcc_region_add((unsigned long)memory, size, "", where);
}
EXPORT_SYMBOL_GPL(kgcc_note);

/* alloc_pages_exact() returns no more pages than the size takes; all of the last page is usable. */
void kgcc_note_whole_pages(const char *where, void *memory, size_t size)
{
	kgcc_note(where, memory, PAGE_ALIGN(size));
}
EXPORT_SYMBOL_GPL(kgcc_note_whole_pages);

void kgcc_note_pages(const char *where, struct page *page, unsigned int order)
{
	if (page)
		kgcc_note(where, page_address(page), PAGE_SIZE << order);
}
EXPORT_SYMBOL_GPL(kgcc_note_pages);

void kgcc_note_percpu(const char *where, void __percpu *memory, size_t size)
{
	int cpu;

	if (memory)
		for_each_possible_cpu(cpu)
			kgcc_note(where, per_cpu_ptr(memory, cpu), size);
}
EXPORT_SYMBOL_GPL(kgcc_note_percpu);

void kgcc_forget(const void *memory)
{
	unsigned long start = (unsigned long)memory;

	if (start)
		kgcc_region_remove(start, start + 1);
}
EXPORT_SYMBOL_GPL(kgcc_forget);

void kgcc_forget_percpu(void __percpu *memory)
{
	int cpu;

	if (memory)
		for_each_possible_cpu(cpu)
			kgcc_forget(per_cpu_ptr(memory, cpu));
}
EXPORT_SYMBOL_GPL(kgcc_forget_percpu);

void kgcc_forget_pages(struct page *page, unsigned int order)
{
	if (page)
		kgcc_forget(page_address(page));
}
EXPORT_SYMBOL_GPL(kgcc_forget_pages);
