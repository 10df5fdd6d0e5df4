/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allocator's functions that Kefence replaces: those that modules link to, under the names of
 * all kernels from 6.1 on. Names that a kernel lacks do no harm. This is the only list: kefence.h
 * redirects by it, alloc.c implements it, and safety/tests/test_symbols.py compares it with the
 * kernels' exports.
 */
#ifndef KEFENCE_SYMBOLS_H
#define KEFENCE_SYMBOLS_H

#define KEFENCE_SYMBOLS(X)			\
	/* sizes known only at run time */	\
	X(__kmalloc)				\
	X(__kmalloc_noprof)			\
	X(__kmalloc_node)			\
	X(__kmalloc_node_noprof)		\
	X(__kmalloc_node_track_caller)		\
	X(__kmalloc_node_track_caller_noprof)	\
	X(kvmalloc_node)			\
	X(__kvmalloc_node_noprof)		\
	/* constant sizes */			\
	X(kmalloc_trace)			\
	X(__kmalloc_cache_noprof)		\
	X(kmalloc_node_trace)			\
	X(__kmalloc_cache_node_noprof)		\
	X(kmalloc_large)			\
	X(__kmalloc_large_noprof)		\
	X(kmalloc_large_node)			\
	X(__kmalloc_large_node_noprof)		\
	/* change the size of an existing object */	\
	X(krealloc)				\
	X(krealloc_noprof)			\
	X(krealloc_node_align_noprof)		\
	X(kvrealloc)				\
	X(kvrealloc_noprof)			\
	X(kvrealloc_node_align_noprof)		\
	X(ksize)				\
	/* the end */				\
	X(kfree)				\
	X(kfree_const)				\
	X(kfree_sensitive)			\
	X(kvfree)				\
	X(kvfree_atomic)			\
	X(kvfree_sensitive)			\
	X(kvfree_call_rcu)			\
	X(kvfree_rcu_barrier)			\
	X(kvfree_rcu_barrier_on_cache)		\
	/* caches */				\
	X(kmem_cache_create)			\
	X(kmem_cache_create_usercopy)		\
	X(__kmem_cache_create_args)		\
	X(kmem_cache_destroy)			\
	X(kmem_cache_alloc)			\
	X(kmem_cache_alloc_noprof)		\
	X(kmem_cache_alloc_lru)			\
	X(kmem_cache_alloc_lru_noprof)		\
	X(kmem_cache_alloc_node)		\
	X(kmem_cache_alloc_node_noprof)		\
	X(kmem_cache_alloc_bulk)		\
	X(kmem_cache_alloc_bulk_noprof)		\
	X(kmem_cache_free)			\
	X(kmem_cache_free_bulk)			\
	X(kmem_cache_charge)			\
	/* copies */				\
	X(kstrdup)				\
	X(kstrdup_const)			\
	X(kstrndup)				\
	X(kmemdup)				\
	X(kmemdup_noprof)			\
	X(kmemdup_array)			\
	X(kmemdup_nul)				\
	X(kvmemdup)				\
	X(memdup_user)				\
	X(memdup_user_nul)			\
	X(vmemdup_user)				\
	X(strndup_user)				\
	X(kasprintf)				\
	X(kvasprintf)				\
	X(kvasprintf_const)

#endif /* KEFENCE_SYMBOLS_H */
