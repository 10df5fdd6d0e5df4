/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_SLAB_H
#define KGCC_SLAB_H

#include "kgcc.h"

/* The slot of a slab that an address lies in. */
struct kgcc_slot {
	struct kmem_cache *cache;
	unsigned long start;		/* of the slot */
	const unsigned long *witness;	/* in the page: which cache it belongs to */
};

/* Learns how this kernel lays out slabs; without, they are unknown memory. */
int kgcc_slab_init(void);

/* page: the first one of a slab that address lies in. */
bool kgcc_slab_slot(struct page *page, unsigned long address, struct kgcc_slot *slot);
bool kgcc_slab_find(struct page *page, unsigned long address, struct kgcc_object *object);

#endif
