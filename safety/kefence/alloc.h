/* SPDX-License-Identifier: GPL-2.0 */
/* Replacements of the allocator's functions. */
#ifndef KEFENCE_ALLOC_H
#define KEFENCE_ALLOC_H

#include <linux/mm.h>

#include "compat.h"
#include "object.h"
#include "watch.h"

/*
 * Instrumented modules call kefence_NAME() instead of NAME(), for each NAME in symbols.h: the same
 * type, and exported.
 */
#define EXPORT_STAND_IN(name)		\
	extern typeof(name) kefence_##name;	\
	EXPORT_SYMBOL_GPL(kefence_##name)

/* A guarded object for the caller at @ip; NULL: the kernel must allocate it. */
void *alloc_guarded(const struct request *request, unsigned long ip);

/*
 * Frees a guarded object, or reports that @object is neither one nor other freeable memory.
 * Returns false if the kernel must free it.
 */
bool alloc_free_guarded(const void *object, unsigned long ip);

/* The object is neither in the kernel image nor in vmalloc() space. */
static inline bool alloc_in_direct_map(const void *object)
{
	return virt_addr_valid(object) && (unsigned long)object < __START_KERNEL_map;
}

/*
 * A guarded object, or else the value of the expression @real. Use it directly in a replacement
 * function: its return address identifies the place.
 */
#define alloc_guarded_or(request_, real) ({				\
	const struct request *r_ = (request_);				\
	void *object_ = alloc_guarded(r_, _RET_IP_) ?: (real);		\
	watch_alloc(IS_ERR(object_) ? NULL : object_, r_->size, _RET_IP_); \
	object_;							\
})

#endif /* KEFENCE_ALLOC_H */
