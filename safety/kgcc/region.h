/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_REGION_H
#define KGCC_REGION_H

#include "kgcc.h"

/*
 * Memory that is known by its addresses alone: variables of modules, what vmalloc()
 * and the page allocator gave to instrumented ones, variables of the kernel that
 * were seen.  Changed in any context but NMI, searched in any; memory that is missing
 * makes for objects that are not known.
 */
void kgcc_region_add(unsigned long start, unsigned long size, const char *name,
		     const char *where);
void kgcc_region_remove(unsigned long start, unsigned long end);
void kgcc_region_exit(void);

/* What all of them take. */
size_t kgcc_region_bytes(void);

/* The region that has an address; or else, the second, one that ends there. */
bool kgcc_region_of(unsigned long address, struct kgcc_object *object);
bool kgcc_region_find(unsigned long address, struct kgcc_object *object);
/* The kernel's name for it, and its size; makes it a region. */
bool kgcc_region_symbol(unsigned long address, struct kgcc_object *object);

#endif
