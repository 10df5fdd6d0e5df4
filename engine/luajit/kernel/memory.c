// SPDX-License-Identifier: GPL-2.0
/*
 * Implements memory.h: maps granules of the arena as the heap grows, and frees them when the
 * script idles.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kconfig.h>
#include <linux/vmalloc.h>

#include "memory.h"
#include "../vm.h"

/* The window: the stack, an unmapped granule, the heap. */
#define STACK_GRANULES	(VM_STACK_SIZE >> ARENA_GRANULE_SHIFT)
#define HEAP		(STACK_GRANULES + 1)

/*
 * With KASAN, kernel functions write to the shadow of the stack that they are called on, and the
 * arena's shadow is read-only. So then stacks are allocated by vmalloc(), and stay allocated.
 */
#define ELSEWHERE	IS_ENABLED(CONFIG_KASAN)

char *memory_stack(const struct memory *memory)
{
	return ELSEWHERE ? memory->elsewhere : arena_address(&memory->window, 0);
}

static int allocate_stack(struct memory *memory)
{
	if (!memory->elsewhere)
		memory->elsewhere = __vmalloc(VM_STACK_SIZE,
					      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return memory->elsewhere ? 0 : -ENOMEM;
}

int memory_map_stack(struct memory *memory)
{
	int ret = ELSEWHERE ? allocate_stack(memory) :
		  arena_map(&memory->window, 0, STACK_GRANULES, 0);

	memory->stack = !ret;
	return ret;
}

int memory_open(struct memory *memory, u64 limit)
{
	int ret;

	memory->limit = VM_HEAP_MAX(limit) >> ARENA_GRANULE_SHIFT;
	memory->used = 0;
	memory->mapped = 0;
	memory->stack = false;
	memory->elsewhere = NULL;
	ret = arena_open(&memory->window, HEAP + memory->limit);
	if (ret)
		return ret;
	ret = memory_map_stack(memory);
	if (!ret)
		ret = memory_map_more(memory, ARENA_GRANULE);
	if (ret)
		memory_close(memory);
	return ret;
}

void memory_close(struct memory *memory)
{
	vfree(memory->elsewhere);
	arena_close(&memory->window);
}

void memory_trim(struct memory *memory)
{
	unsigned int surplus = memory->mapped - memory->used;

	if (memory->stack && !ELSEWHERE)
		arena_unmap(&memory->window, 0, STACK_GRANULES);
	memory->stack = false;
	if (surplus)
		arena_unmap(&memory->window, HEAP + memory->used, surplus);
	memory->mapped = memory->used;
}

void *memory_grow(struct memory *memory, unsigned long size)
{
	unsigned int first = memory->used, n = size >> ARENA_GRANULE_SHIFT;

	if (size & (ARENA_GRANULE - 1) || n > memory->limit - first)
		return NULL;
	if (n > memory->mapped - first)
		return ERR_PTR(-EAGAIN);
	memory->used += n;
	return arena_address(&memory->window, HEAP + first);
}

void memory_shrink(struct memory *memory, unsigned long size)
{
	memory->used -= size >> ARENA_GRANULE_SHIFT;
}

int memory_map_more(struct memory *memory, unsigned long size)
{
	unsigned int wanted = memory->used + (size >> ARENA_GRANULE_SHIFT);
	unsigned int mapped = memory->mapped;
	int ret;

	if (wanted <= mapped)
		return 0;
	ret = arena_map(&memory->window, HEAP + mapped, wanted - mapped, __GFP_ZERO);
	if (!ret)
		memory->mapped = wanted;
	return ret;
}
