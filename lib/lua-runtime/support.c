// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Implements support.h: memory, errors and text without a C library. */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "../../core/syscalls_nr.h"
#include "../../include/uapi/syscript_image.h"
#include "../../include/uapi/syscript_image_batch.h"
#include "support.h"

/* -- The engine ---------------------------------------------------------------- */

/* For the tables of <ctype.h>, which would take 3 KiB in each arena; without side effects. */
#undef tolower
#undef toupper
#define tolower(c)	((c) + (((unsigned int)(c) - 'A' < 26) << 5))
#define toupper(c)	((c) - (((unsigned int)(c) - 'a' < 26) << 5))

#define ENGINE(number)	((long (*)(long, long))(number))
/*
 * Calls function @number, compiled or in the same form, with @func twice and the other arguments,
 * and catches errors.
 */
#define TRY(number, func, nargs, nresults, L) \
	((long (*)(long, void *, long, long, struct lua_State *))IMAGE_CALL_TRY) \
	((long)(number), func, nargs, nresults, L)

struct tried {
	void (*f)(struct lua_State *, void *);
	struct lua_State *L;
	void *ud;
};

static long try_it(struct tried *tried)
{
	tried->f(tried->L, tried->ud);
	return 0;
}

static void runtime_try(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud)
{
	struct tried tried = { f, L, ud };

	ENGINE(IMAGE_CALL_TRY)((long)try_it, (long)&tried);
}

static void runtime_throw(void)
{
	ENGINE(IMAGE_CALL_THROW)(1, 0);
}

static inline void runtime_depends(unsigned int on)
{
	runtime->depends |= on;
}

static long runtime_syscall(long nr, const long args[6])
{
	runtime_depends(RUNTIME_ON_PROCESS);
	return ENGINE(IMAGE_CALL_SYSCALL)(nr, (long)args);
}

/* A batch whose result is the same in every process. */
static long runtime_batch_alike(long op, void *batch)
{
	return ENGINE(IMAGE_CALL_BATCH)(op, (long)batch);
}

static long runtime_batch(long op, void *batch)
{
	runtime_depends(RUNTIME_ON_PROCESS);
	return runtime_batch_alike(op, batch);
}

/* -- Memory ---------------------------------------------------------------------- */

/*
 * A buddy allocator: blocks of BLOCK << order bytes, aligned to their size.  Lua passes the size
 * of a block that it frees, so blocks in use need no header.  Freed small blocks are kept in
 * lists by size, and merged only when memory runs out.
 *
 * The arena has memory only where it was requested. The heap begins as blocks without memory, one
 * for each bit of its size, in decreasing sizes. Memory for a block is requested from its end
 * backwards, and first for the smallest block that suffices, so that large blocks stay available.
 */
#define BLOCK	((unsigned long)RUNTIME_BLOCK)
#define ORDERS	26
#define SMALL_ORDERS	4

struct block {
	struct block *next, **link;
};

/* The heap grows by at least this many bytes if possible, and by an eighth of its size. */
#define HEAP_STEP	(4UL << 10)

static HOT struct {
	char *from;
	unsigned long has, size;	/* bytes of the heap that have memory, and all */
	unsigned long rest[ORDERS];	/* bytes without memory in an order's first block */
	unsigned char *order;	/* 1 + order of the free block that begins at this unit; 0: none */
	struct block *small[SMALL_ORDERS], *free[ORDERS];
	unsigned long arena, arena_size;
	uint64_t memory[2];		/* bytes in use, and the most so far */
	struct output *output;
	unsigned long output_has;	/* bytes of the output's text that have memory */
	bool refused;			/* more memory was refused */
} heap;

/* Requests memory for @n bytes at @from in the arena. */
static bool runtime_use(void *from, unsigned long n)
{
	struct image_batch_use use = { (unsigned long)from, n };

	heap.refused = runtime_batch_alike(IMAGE_BATCH_USE, &use) < 0;
	if (heap.refused)
		runtime_depends(RUNTIME_ON_PROCESS);
	return !heap.refused;
}

static void block_add(unsigned long at, unsigned int order)
{
	struct block *block = (struct block *)(heap.from + at);

	block->next = heap.free[order];
	block->link = &heap.free[order];
	if (block->next)
		block->next->link = &block->next;
	heap.free[order] = block;
	heap.order[at / BLOCK] = order + 1;
}

static void block_remove(struct block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	heap.order[((char *)block - heap.from) / BLOCK] = 0;
}

static void block_merge(unsigned long at, unsigned int order)
{
	for (; order < ORDERS - 1; order++) {
		unsigned long buddy = at ^ BLOCK << order;

		/* The heap's first blocks have no memory, and neither may their part of the map. */
		if (buddy + (BLOCK << order) > heap.size ||
		    heap.order[buddy / BLOCK] != order + 1)
			break;
		block_remove((struct block *)(heap.from + buddy));
		at &= ~(BLOCK << order);
	}
	block_add(at, order);
}

static void block_put(unsigned long at, unsigned int order)
{
	struct block *block = (struct block *)(heap.from + at);

	heap.memory[0] -= BLOCK << order;
	if (order >= SMALL_ORDERS)
		return block_merge(at, order);
	block->next = heap.small[order];
	heap.small[order] = block;
}

/* Frees the small blocks in lists.  False if there are none. */
static __attribute__((noinline)) bool block_merge_small(void)
{
	struct block *block;
	unsigned int order;
	bool any = false;

	for (order = 0; order < SMALL_ORDERS; order++) {
		while ((block = heap.small[order])) {
			heap.small[order] = block->next;
			block_merge((char *)block - heap.from, order);
			any = true;
		}
	}
	return any;
}

static unsigned int order_of(unsigned long size)
{
	static const unsigned char small[] = { 0, 0, 1, 2, 2, 3, 3, 3, 3 };
	unsigned int order = 4;

	if (size <= BLOCK << 3)
		return small[(size + BLOCK - 1) / BLOCK];
	while (order < ORDERS && BLOCK << order < size)
		order++;
	return order;
}

/* Requests memory for the map of free blocks in the first block of @order. */
static bool map_grow(unsigned long at, unsigned int order)
{
	if (!runtime_use(heap.order + at / BLOCK, 1UL << order))
		return false;
	if (runtime->heap_map > (unsigned long)heap.order + at / BLOCK)
		runtime->heap_map = (unsigned long)heap.order + at / BLOCK;
	return true;
}

/* Requests memory for the last @size bytes without memory of the first block of @order. */
static bool heap_take(unsigned int order, unsigned long size)
{
	unsigned long block = BLOCK << order, from = heap.size & ~(2 * block - 1);
	unsigned long at = from + heap.rest[order] - size;

	if (heap.rest[order] == block && !map_grow(from, order))
		return false;
	if (!runtime_use(heap.from + at, size))
		return false;
	heap.rest[order] -= size;
	heap.has += size;
	if (runtime->heap_low > at)
		runtime->heap_low = at;
	block_merge(at, order_of(size));
	return true;
}

/* The smallest of the first blocks, of order @from or more, that has room for a block of @order. */
static unsigned int find_rest(unsigned int from, unsigned int order)
{
	while (from < ORDERS && heap.rest[from] < BLOCK << order)
		from++;
	return from;
}

/* Requests memory for a block of @order. False: there is none. */
static __attribute__((noinline)) bool heap_grow(unsigned int order)
{
	unsigned int step = order_of(HEAP_STEP), block = find_rest(order < step ? step : order, order);
	unsigned long least = BLOCK << order, size = HEAP_STEP, last;

	heap.refused = false;
	if (block == ORDERS)
		block = find_rest(order, order);
	if (block == ORDERS)
		return false;
	while (size < least || size * 8 < heap.has)
		size *= 2;
	do {
		last = heap.rest[block] & -heap.rest[block];
		if (last > size)
			last = size;
		if (!heap_take(block, last))
			return false;
	} while (last < least);
	return true;
}

static __attribute__((noinline)) void *block_split(unsigned int order)
{
	struct block *block;
	unsigned int has = order;

	while (has < ORDERS && !heap.free[has])
		has++;
	if (has >= ORDERS)
		return block_merge_small() || heap_grow(order) ? block_split(order) : NULL;
	block = heap.free[has];
	block_remove(block);
	while (has-- > order)
		block_add((char *)block - heap.from + (BLOCK << has), has);
	return block;
}

static void *block_get(unsigned int order)
{
	struct block *block = order < SMALL_ORDERS ? heap.small[order] : NULL;

	if (block)
		heap.small[order] = block->next;
	else
		block = block_split(order);
	if (!block)
		return NULL;
	heap.memory[0] += BLOCK << order;
	if (heap.memory[1] < heap.memory[0])
		heap.memory[1] = heap.memory[0];
	return block;
}

static void runtime_heap(struct runtime_call *call)
{
	unsigned long n = RUNTIME_BLOCKS(call->heap_size);
	unsigned int order;

	memset(&heap, 0, sizeof(heap));
	heap.from = call->heap;
	heap.size = n * BLOCK;
	heap.order = (unsigned char *)call->heap + heap.size;
	heap.arena = call->arena;
	heap.arena_size = call->arena_size;
	heap.output = &call->output;
	call->memory = heap.memory;
	call->heap_low = heap.size;
	call->heap_map = (unsigned long)heap.order + n;
	for (order = 0; order < ORDERS; order++)
		heap.rest[order] = heap.size & BLOCK << order;
}

/* Prints, and requests memory for the output's text if it has too little. */
static void runtime_print(const char *text, unsigned long n)
{
	struct output *output = heap.output;
	unsigned long end = output->len + n;

	/* If the output is cut off, a text that says so is appended. */
	if (end > OUTPUT_LEN - sizeof(OUTPUT_CUT))
		end = OUTPUT_LEN;
	if (end > heap.output_has) {
		runtime_depends(RUNTIME_ON_PROCESS);
		if (!runtime_use(output->text + heap.output_has, end - heap.output_has))
			return;
		heap.output_has = end;
	}
	output_write(output, text, n);
}

/*
 * The hash part of a table has 2^n nodes of 40 bytes, which is 5/8 of a block.  The rest of
 * such a block is free; the block is freed as two, its first half and the eighth after that.
 */
static bool is_cut(size_t size, unsigned int order)
{
	return order >= SMALL_ORDERS && size <= (BLOCK << order) / 8 * 5;
}

static void block_cut(unsigned long at, unsigned int order)
{
	block_put(at + (BLOCK << order) / 4 * 3, order - 2);
	block_put(at + (BLOCK << order) / 8 * 5, order - 3);
}

/* Returns a block of @order for @size bytes. */
static void *size_get(size_t size, unsigned int order)
{
	char *block = block_get(order);

	if (is_cut(size, order) && block)
		block_cut(block - heap.from, order);
	return block;
}

static void size_put(unsigned long at, size_t size, unsigned int order)
{
	if (is_cut(size, order)) {
		order--;
		block_put(at + (BLOCK << order), order - 2);
	}
	block_put(at, order);
}

/* Shrinks the block for @old_size bytes to one for @new_size; it has all parts of that one. */
static void size_shrink(unsigned long at, size_t old_size, unsigned int old, size_t new_size,
			unsigned int new)
{
	bool cut = is_cut(old_size, old);

	for (; old > new; cut = false) {
		old--;
		block_put(at + (BLOCK << old), cut ? old - 2 : old);
	}
	if (!cut && is_cut(new_size, new))
		block_cut(at, new);
}

static void *runtime_alloc(void *unused, void *p, size_t old_size, size_t new_size)
{
	unsigned int old = order_of(old_size), new = order_of(new_size);
	unsigned long at = (char *)p - heap.from;
	void *moved;

	(void)unused;
	if (!p)
		return new_size ? size_get(new_size, new) : NULL;
	if (!new_size) {
		size_put(at, old_size, old);
		return NULL;
	}
	if (new < old || (new == old && is_cut(old_size, old) <= is_cut(new_size, new))) {
		size_shrink(at, old_size, old, new_size, new);
		return p;
	}
	moved = size_get(new_size, new);
	if (moved) {
		memcpy(moved, p, old_size < new_size ? old_size : new_size);
		size_put(at, old_size, old);
	}
	return moved;
}

/* Size of the block for @size bytes. */
static size_t size_of_block(size_t size)
{
	unsigned int order = order_of(size);

	return is_cut(size, order) ? (BLOCK << order) / 8 * 5 : BLOCK << order;
}

/*
 * For memory that is copied for other scripts, see lua_snapshot.c: zeroed, so that no word has part
 * of an old address.
 */
static void *runtime_alloc_zeroed(void *unused, void *p, size_t old_size, size_t new_size)
{
	char *block = runtime_alloc(unused, p, old_size, new_size);

	if (block && old_size < new_size)
		memset(block + old_size, 0, size_of_block(new_size) - old_size);
	return block;
}

/* Number of free bytes in the heap. */
static unsigned long runtime_spare(void)
{
	return heap.size - heap.memory[0];
}

static bool runtime_is_short(void)
{
	return runtime_spare() < heap.size / 16;
}

static int runtime_in_arena(unsigned long address, unsigned long n)
{
	unsigned long offset = address - heap.arena;

	return offset <= heap.arena_size && n <= heap.arena_size - offset;
}
