/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The allocator of the shared buffer: first fit, with free blocks in a list by address.  Its
 * descriptors are outside of the buffer, where compounds cannot change them.
 */
#ifndef COSY_HEAP_H
#define COSY_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* The end of all memory that was ever allocated. */
extern uintptr_t heap_top;

/* Adds memory to allocate from. */
void heap_add(void *from, size_t size);

/* Allocates at a multiple of @align, a power of two; NULL with ENOMEM. */
void *heap_get(size_t size, size_t align);
size_t heap_size(const void *p);
void heap_put(void *p);

#endif /* COSY_HEAP_H */
