// SPDX-License-Identifier: GPL-2.0
#include "plants.h"

u8 other_table[13] __aligned(16) = { 1, 2, 3 };

u8 other_read(const u8 *p)
{
	return READ_ONCE(*p);
}

void other_write(u8 *p)
{
	WRITE_ONCE(*p, 1);
}

void other_use(void *p)
{
	OPTIMIZER_HIDE_VAR(p);
	sink = (unsigned long)p;
}

u8 other_sum(const struct window *window)
{
	u8 sum = 0;

	for (const u8 *p = window->start; p < window->end; p++)
		sum += READ_ONCE(*p);
	return sum;
}

void other_unref(void *p)
{
	kfree(p);
}

void *other_object(size_t size)
{
	return kzalloc(size, GFP_KERNEL);
}

void other_mutex_both(struct mutex *first, struct mutex *second)
{
	mutex_lock(first);
	mutex_lock(second);
	mutex_unlock(second);
	mutex_unlock(first);
}
