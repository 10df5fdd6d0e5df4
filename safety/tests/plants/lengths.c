// SPDX-License-Identifier: GPL-2.0
/* Overflowing sums, products and conversions: the allocation is too short. */
#include "plants.h"

void wrap_product(void)
{
	u32 n = 0x10000001 * off, size = 16 * n;
	u8 *p = kzalloc(size - 3, GFP_KERNEL);

	for (u32 i = 0; i < n && i < 16; i++)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

void wrap_sum(void)
{
	u8 length = 250 + off, total = length + 18;
	u8 *p = kzalloc(total, GFP_KERNEL);

	for (unsigned int i = 0; i < length && i < 16; i++)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

void wrap_difference(void)
{
	u8 *p = kzalloc(13, GFP_KERNEL);
	size_t length = 8 * off, header = 9;

	for (size_t i = 0; i < length - header && i < 14; i++)
		sink += READ_ONCE(p[i]);
	kfree(p);
}

void wrap_truncated(void)
{
	size_t n = 0x1000d * off;
	u16 length = n;
	u8 *p = kzalloc(length, GFP_KERNEL);

	for (size_t i = 0; i < n && i < 16; i++)
		WRITE_ONCE(p[i], i);
	kfree(p);
}

void wrap_negative(void)
{
	u32 *p = kzalloc(64, GFP_KERNEL);
	int at = -off;

	if (at < 16)
		sink = READ_ONCE(p[at]);
	kfree(p);
}

void wrap_count(void)
{
	u64 *p = kzalloc(24, GFP_KERNEL), n = (1ULL << 61) + 4 * off;

	for (u64 i = 0; i < n; i++) {
		sink += READ_ONCE(p[i]);
		if (i == 3)
			break;
	}
	kfree(p);
}

/* A received length includes its own header. */
void wrap_message(void)
{
	struct counted *counted = kzalloc(13, GFP_KERNEL);

	counted->count = 13 - 4 + off;
	for (u32 i = 0; i < counted->count; i++)
		sink += READ_ONCE(counted->data[i]);
	kfree(counted);
}

void wrap_shift(void)
{
	sink = 1U << (32 * off);
}

void wrap_index(void)
{
	struct row { u8 first[5], second[5]; } *row = kzalloc(sizeof(*row), GFP_KERNEL);
	u8 at = 4 + off;

	sink = READ_ONCE(row->first[at]);
	kfree(row);
}

void wrap_units(void)
{
	u32 *p = kzalloc(3 * off, GFP_KERNEL);

	WRITE_ONCE(p[1], 1);
	kfree(p);
}

void wrap_pointer_size(void)
{
	struct table *table = kzalloc(3 * sizeof(table), GFP_KERNEL);

	sink = READ_ONCE(table->after) + off;
	kfree(table);
}
