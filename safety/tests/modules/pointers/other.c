// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/slab.h>

#include "pointers.h"

u32 other_table[10];
/* A variable in a section that the linker discards. */
__ADDRESSABLE(other_table)
const u8 other_constants[7] = { 1, 2, 3, 4, 5, 6, 7 };

u32 other_read(const u32 *p)
{
	return READ_ONCE(*p);
}

void other_write(u32 *p, u32 value)
{
	WRITE_ONCE(*p, value);
}

u32 *other_move(u32 *p, long by)
{
	return p + by;
}

void other_store(struct window *window, u32 *p)
{
	window->start = p;
}

u32 other_sum(const struct window *window)
{
	u32 sum = 0;

	for (const u32 *p = window->start; p < window->end; p++)
		sum += READ_ONCE(*p);
	return sum;
}

u64 other_value(const struct item *item)
{
	return READ_ONCE(item->value);
}

void other_fill(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		WRITE_ONCE(text[i], i);
}

char other_byte(const char *text, size_t at)
{
	return READ_ONCE(text[at]);
}

u64 other_values(const struct list_head *head)
{
	const struct item *item;
	u64 sum = 0;

	list_for_each_entry(item, head, link)
		sum += READ_ONCE(item->value);
	return sum;
}

void other_unref(u32 *p, long last)
{
	if (last)
		kfree(p);
}

u32 other_number(unsigned long number)
{
	return READ_ONCE(*(u32 *)number);
}
