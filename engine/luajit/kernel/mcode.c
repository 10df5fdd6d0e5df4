// SPDX-License-Identifier: GPL-2.0
/*
 * Implements mcode.h: a bitmap of pages in the module's text, and a second mapping through which
 * they are written.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "arena.h"
#include "mcode.h"
#include "../vm.h"

#define INT3		0xcc

/* Number of bytes of code that share an entry of @lines. */
#define LINE_GRAIN	64
#define LINES_PAGE	(PAGE_SIZE / LINE_GRAIN)

extern char syscript_mcode[];		/* in mcode_room.S */

static struct arena_window alias;
static DEFINE_RAW_SPINLOCK(taken_lock);
static DECLARE_BITMAP(taken, MCODE_PAGES);
static unsigned int taken_count;
static siphash_key_t places_key __ro_after_init;
/* The script line of each piece of code; 0 if unknown. */
static u16 lines[MCODE_PAGES * LINES_PAGE];

long port_mcode_delta __ro_after_init;

static void *address_of(unsigned int page)
{
	return (void *)(alias.start + ((unsigned long)page << PAGE_SHIFT));
}

static unsigned int index_of(const void *p)
{
	return ((unsigned long)p - alias.start) >> PAGE_SHIFT;
}

static struct page *page_at(unsigned int index)
{
	return vmalloc_to_page(syscript_mcode + ((unsigned long)index << PAGE_SHIFT));
}

static void mcode_map(unsigned int index, unsigned int n, bool writable)
{
	for (; n; index++, n--)
		arena_alias(&alias, index, page_at(index), writable);
}

static void mcode_unmap(unsigned int index, unsigned int n)
{
	for (; n; index++, n--)
		arena_alias(&alias, index, NULL, false);
}

/* Overwrites old code, so that it cannot run, or be read by the next owner. */
static void mcode_erase(unsigned int index, unsigned int n)
{
	mcode_map(index, n, true);
	memset(address_of(index), INT3, (unsigned long)n << PAGE_SHIFT);
	memset(&lines[index * LINES_PAGE], 0, n * LINES_PAGE * sizeof(*lines));
	mcode_unmap(index, n);
}

void mcode_writable(void *p, unsigned long size, bool writable)
{
	mcode_map(index_of(p), size >> PAGE_SHIFT, writable);
}

/*
 * Searches from a random position, so that code is not at the same address again. On PREEMPT_RT
 * the kernel's random numbers are not available to callers that may not sleep.
 */
static unsigned int mcode_find(unsigned int n)
{
	static u64 times;
	unsigned int from = siphash_1u64(times++, &places_key) % MCODE_PAGES;
	unsigned int index;

	lockdep_assert_held(&taken_lock);

	index = bitmap_find_next_zero_area(taken, MCODE_PAGES, from, n, 0);
	if (index >= MCODE_PAGES)
		index = bitmap_find_next_zero_area(taken, MCODE_PAGES, 0, n, 0);
	return index;
}

void *mcode_get(unsigned long *owned, unsigned long size)
{
	unsigned int index, n = size >> PAGE_SHIFT;

	raw_spin_lock(&taken_lock);
	index = mcode_find(n);
	if (index < MCODE_PAGES) {
		bitmap_set(taken, index, n);
		taken_count += n;
	}
	raw_spin_unlock(&taken_lock);
	if (index >= MCODE_PAGES)
		return NULL;
	bitmap_set(owned, index, n);
	mcode_map(index, n, true);
	return address_of(index);
}

static void put(unsigned int index, unsigned int n)
{
	mcode_erase(index, n);
	raw_spin_lock(&taken_lock);
	bitmap_clear(taken, index, n);
	taken_count -= n;
	raw_spin_unlock(&taken_lock);
}

void mcode_put(unsigned long *owned, void *p, unsigned long size)
{
	bitmap_clear(owned, index_of(p), size >> PAGE_SHIFT);
	put(index_of(p), size >> PAGE_SHIFT);
}

void mcode_put_all(unsigned long *owned)
{
	unsigned int index, end = 0;

	while ((index = find_next_bit(owned, MCODE_PAGES, end)) < MCODE_PAGES) {
		end = find_next_zero_bit(owned, MCODE_PAGES, index);
		put(index, end - index);
	}
}

void mcode_note_line(const void *p, unsigned long size, unsigned int line)
{
	unsigned long at = ((unsigned long)p - alias.start) / LINE_GRAIN;
	unsigned long end = ((unsigned long)p + size - 1 - alias.start) / LINE_GRAIN;

	for (; at <= end; at++)
		WRITE_ONCE(lines[at], min(line, (unsigned int)U16_MAX));
}

/* Calls back for the lines of pages from @index to @end. */
static void each_line(unsigned int index, unsigned int end, engine_code_fn *add, void *arg)
{
	const unsigned long room = (unsigned long)syscript_mcode, last = end * LINES_PAGE;
	unsigned long at, from = index * LINES_PAGE;

	for (at = from; at < last; from = at) {
		u16 line = READ_ONCE(lines[at]);

		while (++at < last && READ_ONCE(lines[at]) == line)
			;
		add(arg, room + from * LINE_GRAIN, room + at * LINE_GRAIN, line);
	}
}

void mcode_each(const unsigned long *owned, engine_code_fn *add, void *arg)
{
	unsigned int index, end = 0;

	while ((index = find_next_bit(owned, MCODE_PAGES, end)) < MCODE_PAGES) {
		end = find_next_zero_bit(owned, MCODE_PAGES, index);
		each_line(index, end, add, arg);
	}
}

bool mcode_scarce(void)
{
	return READ_ONCE(taken_count) > MCODE_PAGES / 2;
}

int mcode_init(void)
{
	int ret;

	ret = arena_open(&alias, DIV_ROUND_UP(MCODE_PAGES << PAGE_SHIFT, ARENA_GRANULE));
	if (ret)
		return ret;
	ret = arena_tables(&alias);
	if (ret) {
		arena_close(&alias);
		return ret;
	}
	get_random_bytes(&places_key, sizeof(places_key));
	port_mcode_delta = (unsigned long)syscript_mcode - alias.start;
	mcode_erase(0, MCODE_PAGES);
	return 0;
}

void mcode_exit(void)
{
	mcode_unmap(0, MCODE_PAGES);
	arena_close(&alias);
}
