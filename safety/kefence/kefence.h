/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before all else in every source file of an instrumented module (module.mk: -include):
 * the linker sees a call of kfree() as kefence_kfree(), and so on for all of symbols.h. Types and
 * prototypes stay the kernel's; calls from the kernel's inline functions and macros, and pointers
 * to these functions, are redirected as well.
 */
#ifndef KEFENCE_H
#define KEFENCE_H

#include "symbols.h"

#define KEFENCE_PRAGMA(text)	_Pragma(#text)
#define KEFENCE_REDIRECT(name)	KEFENCE_PRAGMA(redefine_extname name kefence_##name)
KEFENCE_SYMBOLS(KEFENCE_REDIRECT)

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>

/* printk.h defined its default because the file defines no pr_fmt of its own. */
#ifdef SAFETY_OWN_PR_FMT
#undef pr_fmt
#endif

/* Headers with length checks declare these functions under another name. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
void *kefence_kmemdup_noprof(const void *source, size_t len, gfp_t flags);
#define kmemdup_noprof	kefence_kmemdup_noprof
#else
void *kefence_kmemdup(const void *source, size_t len, gfp_t flags);
#define kmemdup		kefence_kmemdup
#endif

/*
 * An object ends exactly at a page's end. If its size is a constant, or an array's, the size is a
 * multiple of its type's alignment, so the object is aligned. That fails for a structure with a
 * variable tail: "sizeof(*header) + length" needs alignment more than exactness. Such a size is
 * recognised by its spelling, and marked by a bit that no GFP flag uses.
 */
#define KEFENCE_GFP_STRUCT	((__force gfp_t)(1U << 31))
#define kefence_hint(spelling)						\
	(__builtin_strstr(spelling, "sizeof") ||			\
	 __builtin_strstr(spelling, "struct_size") ||			\
	 __builtin_strstr(spelling, "obj_size") ? KEFENCE_GFP_STRUCT : 0)

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#undef kmalloc
#undef kzalloc
#define kmalloc(size, flags)						\
	alloc_hooks(kmalloc_noprof(size, (flags) | kefence_hint(#size)))
#define kzalloc(size, flags)						\
	alloc_hooks(kzalloc_noprof(size, (flags) | kefence_hint(#size)))
#undef kvmalloc
#undef kvzalloc
#define kvmalloc(size, flags)						\
	kvmalloc_node(size, (flags) | kefence_hint(#size), NUMA_NO_NODE)
#define kvzalloc(size, flags)						\
	kvmalloc_node(size, (flags) | __GFP_ZERO | kefence_hint(#size),	\
		      NUMA_NO_NODE)
#else
#define kmalloc(size, flags)	kmalloc(size, (flags) | kefence_hint(#size))
#define kzalloc(size, flags)	kzalloc(size, (flags) | kefence_hint(#size))
#define kvmalloc(size, flags)	kvmalloc(size, (flags) | kefence_hint(#size))
#define kvzalloc(size, flags)	kvzalloc(size, (flags) | kefence_hint(#size))
#endif

#endif /* KEFENCE_H */
