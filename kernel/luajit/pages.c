// SPDX-License-Identifier: GPL-2.0
/*
 * See pages.h.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "pages.h"
#include "vm.h"

#define STACKS_KEPT	16
#define INT3		0xcc

static char heap[PAGES_HEAP << PAGE_SHIFT] __aligned(PAGE_SIZE);
static DECLARE_BITMAP(heap_map, PAGES_HEAP);
static DECLARE_BITMAP(mcode_map, PAGES_MCODE);

/*
 * Machine code runs in mcode.S's section and is written through a second
 * mapping of its pages, writable and not executable.
 */
extern char syscript_mcode[];

struct pages pages_heap = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(pages_heap.lock),
	.base = heap,
	.n = PAGES_HEAP,
	.map = heap_map,
	.fill = -1,
};

struct pages pages_mcode = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(pages_mcode.lock),
	.n = PAGES_MCODE,
	.map = mcode_map,
	.fill = INT3,
};

long port_mcode_delta __ro_after_init;

void *pages_get(struct pages *pages, unsigned long *owned, unsigned long size)
{
	unsigned long i, n = size >> PAGE_SHIFT;

	raw_spin_lock(&pages->lock);
	i = bitmap_find_next_zero_area(pages->map, pages->n, 0, n, 0);
	if (i < pages->n) {
		bitmap_set(pages->map, i, n);
		pages->used += n;
	}
	raw_spin_unlock(&pages->lock);
	if (i >= pages->n)
		return NULL;
	bitmap_set(owned, i, n);
	return pages->base + (i << PAGE_SHIFT);
}

static void put(struct pages *pages, unsigned long i, unsigned long n)
{
	if (pages->fill >= 0)
		memset(pages->base + (i << PAGE_SHIFT), pages->fill,
		       n << PAGE_SHIFT);
	raw_spin_lock(&pages->lock);
	bitmap_clear(pages->map, i, n);
	pages->used -= n;
	raw_spin_unlock(&pages->lock);
}

void pages_put(struct pages *pages, unsigned long *owned, void *p,
	       unsigned long size)
{
	unsigned long i = ((char *)p - pages->base) >> PAGE_SHIFT;

	bitmap_clear(owned, i, size >> PAGE_SHIFT);
	put(pages, i, size >> PAGE_SHIFT);
}

void pages_put_all(struct pages *pages, unsigned long *owned)
{
	unsigned long i, end = 0;

	while ((i = find_next_bit(owned, pages->n, end)) < pages->n) {
		end = find_next_zero_bit(owned, pages->n, i);
		put(pages, i, end - i);
	}
}

bool pages_scarce(const struct pages *pages)
{
	return READ_ONCE(pages->used) > pages->n / 2;
}

/* A stack costs more to map than a small script to compile: keep some. */
static void *stacks[STACKS_KEPT];

void *stack_get(void)
{
	unsigned int i;
	void *stack;

	for (i = 0; i < STACKS_KEPT; i++) {
		if (!READ_ONCE(stacks[i]))
			continue;
		stack = xchg(&stacks[i], NULL);
		if (stack)
			return stack;
	}
	return __vmalloc(VM_STACK_SIZE, GFP_KERNEL | __GFP_NOWARN);
}

void stack_put(void *stack)
{
	unsigned int i;

	for (i = 0; i < STACKS_KEPT; i++)
		if (!READ_ONCE(stacks[i]) && !cmpxchg(&stacks[i], NULL, stack))
			return;
	vfree(stack);
}

static void *map_writable(void *p, unsigned long n)
{
	struct page **pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	void *alias = NULL;
	unsigned long i;

	if (!pages)
		return NULL;
	for (i = 0; i < n; i++)
		pages[i] = vmalloc_to_page(p + (i << PAGE_SHIFT));
	alias = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return alias;
}

int pages_init(void)
{
	pages_mcode.base = map_writable(syscript_mcode, PAGES_MCODE);
	if (!pages_mcode.base)
		return -ENOMEM;
	port_mcode_delta = syscript_mcode - pages_mcode.base;
	memset(pages_mcode.base, INT3, PAGES_MCODE << PAGE_SHIFT);
	return 0;
}

void pages_exit(void)
{
	unsigned int i;

	for (i = 0; i < STACKS_KEPT; i++)
		vfree(stacks[i]);
	vunmap(pages_mcode.base);
}
