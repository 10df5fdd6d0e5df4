// SPDX-License-Identifier: GPL-2.0
/* Reference counters. */
#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/refcount.h>

#include "plants.h"

/* Not freed by the last drop: the fault is in the counter, not in the memory. */
struct counters {
	refcount_t refcount;
	struct kref kref;
	atomic_t count;
};

static struct counters *made(void)
{
	struct counters *c = kzalloc(sizeof(*c), GFP_KERNEL);

	refcount_set(&c->refcount, 1);
	kref_init(&c->kref);
	atomic_set(&c->count, 1);
	return c;
}

static void released(struct kref *kref)
{
}

void count_inc_at_zero(void)
{
	struct counters *c = made();

	if (refcount_dec_and_test(&c->refcount))
		refcount_inc(&c->refcount);
}

void count_dec_at_zero(void)
{
	struct counters *c = made();

	if (refcount_dec_and_test(&c->refcount))
		refcount_dec(&c->refcount);
}

void count_dropped_twice(void)
{
	struct counters *c = made();

	if (refcount_dec_and_test(&c->refcount))
		sink = refcount_dec_and_test(&c->refcount);
}

void count_kref_at_zero(void)
{
	struct counters *c = made();

	kref_put(&c->kref, released);
	kref_get(&c->kref);
}

void count_kref_twice(void)
{
	struct counters *c = made();

	kref_put(&c->kref, released);
	kref_put(&c->kref, released);
}

void count_atomic_at_zero(void)
{
	struct counters *c = made();

	if (atomic_dec_and_test(&c->count))
		atomic_inc(&c->count);
}

void count_atomic_twice(void)
{
	struct counters *c = made();

	if (atomic_dec_and_test(&c->count))
		sink = atomic_dec_and_test(&c->count);
}

void count_leak(void)
{
	struct counters *c = made();

	refcount_inc(&c->refcount);
	if (refcount_dec_and_test(&c->refcount))
		kfree(c);
}

void count_kref_leak(void)
{
	struct counters *c = made();

	kref_get(&c->kref);
	kref_put(&c->kref, released);
}

void count_last_kept(void)
{
	struct counters *c = made();

	if (atomic_inc_not_zero(&c->count))
		sink = 1;
	if (atomic_dec_and_test(&c->count))
		kfree(c);
}

void count_saturated(void)
{
	struct counters *c = made();

	refcount_set(&c->refcount, INT_MAX);
	refcount_inc(&c->refcount);
}

void count_unmade(void)
{
	struct counters *c = kzalloc(sizeof(*c), GFP_KERNEL);

	kref_get(&c->kref);
	kfree(c);
}
