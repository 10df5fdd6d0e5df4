/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allocator's functions of each kernel whose replacements differ in their arguments only.
 * Define the macros, then include this file:
 *
 *   STAND_IN(name, constant, parameters, arguments)
 *	for functions that have a size and flags; constant as in struct request
 *   STAND_IN_CACHE(name, parameters, arguments)
 *	for those that have a cache and flags
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)

STAND_IN(__kmalloc, false, (size_t size, gfp_t flags), (size, flags))
STAND_IN(__kmalloc_node, false, (size_t size, gfp_t flags, int node),
	 (size, flags, node))
STAND_IN(__kmalloc_node_track_caller, false,
	 (size_t size, gfp_t flags, int node, unsigned long caller),
	 (size, flags, node, caller))
STAND_IN(kvmalloc_node, false, (size_t size, gfp_t flags, int node),
	 (size, flags, node))
STAND_IN(kmalloc_trace, true, (struct kmem_cache *s, gfp_t flags, size_t size),
	 (s, flags, size))
STAND_IN(kmalloc_node_trace, true,
	 (struct kmem_cache *s, gfp_t flags, int node, size_t size),
	 (s, flags, node, size))
STAND_IN(kmalloc_large, true, (size_t size, gfp_t flags), (size, flags))
STAND_IN(kmalloc_large_node, true, (size_t size, gfp_t flags, int node),
	 (size, flags, node))
STAND_IN_CACHE(kmem_cache_alloc, (struct kmem_cache *s, gfp_t flags), (s, flags))
STAND_IN_CACHE(kmem_cache_alloc_lru,
	       (struct kmem_cache *s, struct list_lru *lru, gfp_t flags),
	       (s, lru, flags))
STAND_IN_CACHE(kmem_cache_alloc_node, (struct kmem_cache *s, gfp_t flags, int node),
	       (s, flags, node))

#else

/* Since 7.1 a size may come with a token. */
#ifndef PASS_TOKEN_PARAMS
#define DECL_TOKEN_PARAMS(size, token)		size_t size
#define PASS_TOKEN_PARAMS(size, token)		(size)
#define DECL_KMALLOC_PARAMS(size, b, token)	DECL_BUCKET_PARAMS(size, b)
#define PASS_KMALLOC_PARAMS(size, b, token)	PASS_BUCKET_PARAMS(size, b)
#define KVMALLOC_PARAMS		(DECL_BUCKET_PARAMS(size, b), gfp_t flags, int node)
#define KVMALLOC_ARGS		(PASS_BUCKET_PARAMS(size, b), flags, node)
#else
#define KVMALLOC_PARAMS		(DECL_KMALLOC_PARAMS(size, b, token),	\
				 unsigned long align, gfp_t flags, int node)
#define KVMALLOC_ARGS		(PASS_KMALLOC_PARAMS(size, b, token), align, flags, node)
#endif

STAND_IN(__kmalloc_noprof, false, (DECL_TOKEN_PARAMS(size, token), gfp_t flags),
	 (PASS_TOKEN_PARAMS(size, token), flags))
STAND_IN(__kmalloc_node_noprof, false,
	 (DECL_KMALLOC_PARAMS(size, b, token), gfp_t flags, int node),
	 (PASS_KMALLOC_PARAMS(size, b, token), flags, node))
STAND_IN(__kmalloc_node_track_caller_noprof, false,
	 (DECL_KMALLOC_PARAMS(size, b, token), gfp_t flags, int node, unsigned long caller),
	 (PASS_KMALLOC_PARAMS(size, b, token), flags, node, caller))
STAND_IN(__kvmalloc_node_noprof, false, KVMALLOC_PARAMS, KVMALLOC_ARGS)
STAND_IN(__kmalloc_cache_noprof, true,
	 (struct kmem_cache *s, gfp_t flags, size_t size), (s, flags, size))
STAND_IN(__kmalloc_cache_node_noprof, true,
	 (struct kmem_cache *s, gfp_t flags, int node, size_t size),
	 (s, flags, node, size))
STAND_IN(__kmalloc_large_noprof, true, (size_t size, gfp_t flags), (size, flags))
STAND_IN(__kmalloc_large_node_noprof, true, (size_t size, gfp_t flags, int node),
	 (size, flags, node))
STAND_IN_CACHE(kmem_cache_alloc_noprof, (struct kmem_cache *s, gfp_t flags), (s, flags))
STAND_IN_CACHE(kmem_cache_alloc_lru_noprof,
	       (struct kmem_cache *s, struct list_lru *lru, gfp_t flags),
	       (s, lru, flags))
STAND_IN_CACHE(kmem_cache_alloc_node_noprof,
	       (struct kmem_cache *s, gfp_t flags, int node), (s, flags, node))

#endif
