/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_SLAB_H
#define KGCC_SLAB_H

#include "kgcc.h"

/* A slab slot that an address lies in. */
struct kgcc_slot {
	struct kmem_cache *cache;
	unsigned long start;		/* of the slot */
	const unsigned long *witness;	/* in struct page: the slab's cache */
};

/* Learns the kernel's slab layout; if that fails, slabs are unknown memory. */
int kgcc_slab_init(void);

/* page: the first page of the slab that address lies in. */
bool kgcc_slab_slot(struct page *page, unsigned long address, struct kgcc_slot *slot);
bool kgcc_slab_find(struct page *page, unsigned long address, struct kgcc_object *object);

#endif
