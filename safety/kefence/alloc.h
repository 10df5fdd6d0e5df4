/* SPDX-License-Identifier: GPL-2.0 */
/* What stands in for the allocator's functions. */
#ifndef KEFENCE_ALLOC_H
#define KEFENCE_ALLOC_H

#include <linux/mm.h>

#include "compat.h"
#include "object.h"
#include "watch.h"

/*
 * kefence_NAME() is what instrumented modules call instead of NAME(), as symbols.h
 * has it: of the same type, and exported.
 */
#define EXPORT_STAND_IN(name)		\
	extern typeof(name) kefence_##name;	\
	EXPORT_SYMBOL_GPL(kefence_##name)

/* A guarded object for the caller at @ip, or NULL: the kernel has to serve it. */
void *alloc_guarded(const struct request *request, unsigned long ip);

/*
 * Ends a guarded object, or reports that @object is neither one nor other memory that
 * can be freed.  Returns false if the kernel is still to free it.
 */
bool alloc_free_guarded(const void *object, unsigned long ip);

/* Not the kernel's image, nor the vmalloc() space. */
static inline bool alloc_in_direct_map(const void *object)
{
	return virt_addr_valid(object) && (unsigned long)object < __START_KERNEL_map;
}

/*
 * The value of the expression @real unless a guarded object can be had; to be used
 * in a stand-in itself, as the place is where that returns to.
 */
#define alloc_guarded_or(request_, real) ({				\
	const struct request *r_ = (request_);				\
	void *object_ = alloc_guarded(r_, _RET_IP_) ?: (real);		\
	watch_alloc(IS_ERR(object_) ? NULL : object_, r_->size, _RET_IP_); \
	object_;							\
})

#endif /* KEFENCE_ALLOC_H */
