/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instrumented code calls these instead of the kernel's own functions: plugin/hooks.cc makes it so.
 * The first argument is the file:line of the call.
 */
#ifndef KGCC_ALLOC_H
#define KGCC_ALLOC_H

#include <linux/gfp.h>
#include <linux/slab.h>

struct list_lru;

void *kgcc_kmalloc(const char *where, size_t size, gfp_t flags, int node);
void *kgcc_kvmalloc(const char *where, size_t size, gfp_t flags, int node);
void *kgcc_krealloc(const char *where, const void *old, size_t size, gfp_t flags);
void *kgcc_kvrealloc(const char *where, const void *old, size_t size, gfp_t flags);
void *kgcc_vrealloc(const char *where, const void *old, size_t size, gfp_t flags);
void kgcc_kfree(const char *where, const void *object);
void kgcc_kvfree(const char *where, const void *object);
void kgcc_kfree_sensitive(const char *where, const void *object);
void kgcc_kvfree_sensitive(const char *where, const void *object, size_t length);
size_t kgcc_ksize(const char *where, const void *object);

char *kgcc_kstrdup(const char *where, const char *s, gfp_t flags);
char *kgcc_kstrndup(const char *where, const char *s, size_t max, gfp_t flags);
void *kgcc_kmemdup(const char *where, const void *s, size_t length, gfp_t flags);
char *kgcc_kmemdup_nul(const char *where, const char *s, size_t length, gfp_t flags);
void *kgcc_memdup_user(const char *where, const void __user *s, size_t length);
void *kgcc_memdup_user_nul(const char *where, const void __user *s, size_t length);
char *kgcc_strndup_user(const char *where, const char __user *s, long n);
__printf(3, 4) char *kgcc_kasprintf(const char *where, gfp_t flags, const char *format, ...);
__printf(3, 0) char *kgcc_kvasprintf(const char *where, gfp_t flags, const char *format,
				     va_list args);

struct kmem_cache_args;
struct kmem_cache *kgcc_cache_create(const char *where, const char *name, unsigned int size,
				     unsigned int align, slab_flags_t flags,
				     void (*constructor)(void *));
struct kmem_cache *kgcc_cache_create_usercopy(const char *where, const char *name,
					      unsigned int size, unsigned int align,
					      slab_flags_t flags, unsigned int useroffset,
					      unsigned int usersize,
					      void (*constructor)(void *));
struct kmem_cache *kgcc_cache_create_args(const char *where, const char *name,
					  unsigned int size, struct kmem_cache_args *args,
					  slab_flags_t flags);
void kgcc_cache_destroy(const char *where, struct kmem_cache *cache);
void *kgcc_cache_alloc(const char *where, struct kmem_cache *cache, struct list_lru *lru,
		       gfp_t flags, int node);
void kgcc_cache_free(const char *where, struct kmem_cache *cache, void *object);
/* From now on other code may allocate from the cache and free to it. */
void kgcc_cache_hand_out(struct kmem_cache *cache);

/* After and before calls that are not replaced: of vmalloc(), pages, per-CPU memory. */
void kgcc_note(const char *where, void *memory, size_t size);
void kgcc_note_whole_pages(const char *where, void *memory, size_t size);
void kgcc_note_pages(const char *where, struct page *page, unsigned int order);
void kgcc_note_percpu(const char *where, void __percpu *memory, size_t size);
void kgcc_forget(const void *memory);
void kgcc_forget_percpu(void __percpu *memory);
void kgcc_forget_pages(struct page *page, unsigned int order);

#endif
