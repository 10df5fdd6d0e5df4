/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM's memory: its stack and its heap, in a window of the arena.
 *
 * The heap is contiguous, and grows and shrinks at its end. Granules that it gives up stay mapped
 * until the script idles, because a busy script needs them again.
 */
#ifndef SYSCRIPT_LUAJIT_MEMORY_H
#define SYSCRIPT_LUAJIT_MEMORY_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "arena.h"

/**
 * struct memory - see above; counts are granules
 * @limit: the most granules of the heap: VM_HEAP_MAX
 * @used: granules of the heap in use
 * @mapped: granules of the heap that are mapped, at least @used
 * @stack:  is the stack mapped?
 * @elsewhere: the stack if it is outside of the window, or NULL
 */
struct memory {
	struct arena_window window;
	unsigned int limit, used, mapped;
	bool stack;
	char *elsewhere;
};

/* All except memory_grow() and memory_shrink() may sleep. They return 0 or -ENOMEM. */
int memory_map_stack(struct memory *memory);

/* Maps the stack and the heap's first granule; @limit is in bytes. */
int memory_open(struct memory *memory, u64 limit);
void memory_close(struct memory *memory);

/* Maps the stack again, if memory_trim() has unmapped it. */
static inline int memory_make_ready(struct memory *memory)
{
	return likely(memory->stack) ? 0 : memory_map_stack(memory);
}

/* Unmaps the stack, and granules that the heap does not use. */
void memory_trim(struct memory *memory);

/* The lowest address of the stack. */
char *memory_stack(const struct memory *memory);

/*
 * Grows the heap by @size bytes, whole granules. Returns their address; NULL if they are beyond
 * the limit; or ERR_PTR(-EAGAIN) if memory_map_more() has to map them first.
 */
void *memory_grow(struct memory *memory, unsigned long size);
void memory_shrink(struct memory *memory, unsigned long size);
int memory_map_more(struct memory *memory, unsigned long size);

#endif /* SYSCRIPT_LUAJIT_MEMORY_H */
