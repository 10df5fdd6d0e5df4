/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Memory of the shared buffer: first fit, with what is free in a list by address.
 * What is kept of it lies outside of the buffer, where compounds do not reach.
 */
#ifndef COSY_HEAP_H
#define COSY_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* What was ever taken ends before this. */
extern uintptr_t heap_top;

/* All that there is to give. */
void heap_add(void *from, size_t size);

/* At a multiple of @align, a power of two; NULL with ENOMEM. */
void *heap_get(size_t size, size_t align);
size_t heap_size(const void *p);
void heap_put(void *p);

#endif /* COSY_HEAP_H */
