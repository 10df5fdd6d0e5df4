// SPDX-License-Identifier: GPL-2.0
/* Counters that are used at zero, or never get there. */
#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "planted_locks.h"

static void count_inc(void)
{
	atomic_inc(&c->count);
}

static void count_dec(void)
{
	if (atomic_dec_and_test(&c->count))
		event(c);
}

void ref_taken_at_zero(void)
{
	atomic_set(&c->count, 1);
	count_dec();
	count_inc();
}

void ref_dropped_at_zero(void)
{
	atomic_set(&c->count, 1);
	count_dec();
	count_dec();
}

void ref_leak(void)
{
	kref_init(&c->kref);
	kref_get(&c->kref);
	kref_get(&c->kref);
	kref_put(&c->kref, released);
}

/* The kernel itself complains, too. */
void refcount_at_zero(void)
{
	refcount_set(&c->refcount, 1);
	if (refcount_dec_and_test(&c->refcount))
		refcount_inc(&c->refcount);
}

static void unlock_a(struct kref *ref)
{
	mutex_unlock(&a->mutex);
}

/* Functions that take a mutex if a counter drops to zero, which only the third call does. */
void sound_drop(void)
{
	int i;

	kref_init(&c->kref);
	kref_get(&c->kref);
	kref_put_mutex(&c->kref, unlock_a, &a->mutex);
	kref_put_mutex(&c->kref, unlock_a, &a->mutex);
	refcount_set(&c->refcount, 2);
	atomic_set(&c->count, 2);
	for (i = 0; i < 2; i++) {
		if (refcount_dec_and_mutex_lock(&c->refcount, &a->mutex))
			mutex_unlock(&a->mutex);
		if (atomic_dec_and_mutex_lock(&c->count, &a->mutex))
			mutex_unlock(&a->mutex);
	}
}

/* It fails before others see the object, and frees it directly. */
void sound_unshared(void)
{
	struct thing *thing = thing_create();

	if (!thing)
		return;
	kref_init(&thing->kref);
	kref_get(&thing->kref);
	refcount_set(&thing->refcount, 1);
	kfree(thing);
}
