/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_OBJECT_H
#define KGCC_OBJECT_H

#include <linux/mm.h>

#include "kgcc.h"

/* A witness for objects that never change. */
extern const unsigned long kgcc_always;

static inline bool kgcc_in_direct_map(unsigned long address)
{
	return address >= PAGE_OFFSET && address < (unsigned long)high_memory;
}

/* Finds the object that an address is in, or at the end of. Any context. */
void kgcc_find(unsigned long address, struct kgcc_object *object);

/* The first page of the slab that an address is in, or NULL. */
struct page *kgcc_slab_page(unsigned long address);

/*
 * If two objects are adjacent, the second's start is the first's end: finds the first one; false if
 * there is none.
 */
bool kgcc_find_before(unsigned long address, struct kgcc_object *object);

#endif
