// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements heap.h: a first-fit allocator, whose descriptors of blocks are ordinary memory, out
 * of reach of compounds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/lock.h"
#include "heap.h"

/* A block, free or in use; all blocks of the buffer are listed in order. */
struct block {
	struct block *next, *before;
	uintptr_t from;
	size_t size;
	bool taken;
};

uintptr_t heap_top;
static struct block *blocks;

static struct block *insert(struct block *before, uintptr_t from, size_t size)
{
	struct block *block = malloc(sizeof(*block));

	if (!block)
		return NULL;
	*block = (struct block){ .before = before, .from = from, .size = size };
	block->next = before ? before->next : blocks;
	if (before)
		before->next = block;
	else
		blocks = block;
	if (block->next)
		block->next->before = block;
	return block;
}

/* Divides @block in two.  Returns false if there is no memory. */
static bool split(struct block *block, size_t size)
{
	if (size == block->size)
		return true;
	if (!insert(block, block->from + size, block->size - size))
		return false;
	block->size = size;
	return true;
}

/* Joins @block and the next one, if both are free. */
static void join(struct block *block)
{
	struct block *next = block ? block->next : NULL;

	if (!next || block->taken || next->taken)
		return;
	block->size += next->size;
	block->next = next->next;
	if (block->next)
		block->next->before = block;
	free(next);
}

void heap_add(void *from, size_t size)
{
	insert(NULL, (uintptr_t)from, size);
}

static struct block *take_block(size_t size, size_t align)
{
	struct block *block;

	for (block = blocks; block; block = block->next) {
		size_t skip = -block->from & (align - 1);

		if (block->taken || block->size < size || block->size - size < skip)
			continue;
		if (skip) {
			if (!split(block, skip))
				return NULL;
			block = block->next;
		}
		if (!split(block, size))
			return NULL;
		block->taken = true;
		if (heap_top < block->from + size)
			heap_top = block->from + size;
		return block;
	}
	return NULL;
}

void *heap_get(size_t size, size_t align)
{
	struct block *block = NULL;

	if (size <= SIZE_MAX - 15) {
		size = size ? (size + 15) & ~(size_t)15 : 16;
		lock_take(LOCK_HEAP);
		block = take_block(size, align < 16 ? 16 : align);
		lock_give(LOCK_HEAP);
	}
	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	return (void *)block->from;
}

static struct block *find(const void *p)
{
	struct block *block = blocks;

	while (block && (block->from != (uintptr_t)p || !block->taken))
		block = block->next;
	if (!block)
		abort();
	return block;
}

size_t heap_size(const void *p)
{
	size_t size;

	lock_take(LOCK_HEAP);
	size = find(p)->size;
	lock_give(LOCK_HEAP);
	return size;
}

void heap_put(void *p)
{
	struct block *block;

	lock_take(LOCK_HEAP);
	block = find(p);
	block->taken = false;
	join(block);
	join(block->before);
	lock_give(LOCK_HEAP);
}
