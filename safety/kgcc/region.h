/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_REGION_H
#define KGCC_REGION_H

#include "kgcc.h"

/*
 * Memory known only by address: variables of modules, vmalloc() memory and pages given to
 * instrumented modules, and kernel variables once seen. Changed in any context except NMI, searched
 * in any; if an allocation fails, the object stays unknown.
 */
void kgcc_region_add(unsigned long start, unsigned long size, const char *name,
		     const char *where);
void kgcc_region_remove(unsigned long start, unsigned long end);
void kgcc_region_exit(void);

/* Bytes that all regions take. */
size_t kgcc_region_bytes(void);

/* The region that contains an address; the second: the one that ends there. */
bool kgcc_region_of(unsigned long address, struct kgcc_object *object);
bool kgcc_region_find(unsigned long address, struct kgcc_object *object);
/* The kernel's symbol for an address, and its size; makes it a region. */
bool kgcc_region_symbol(unsigned long address, struct kgcc_object *object);

#endif
