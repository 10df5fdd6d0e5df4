// SPDX-License-Identifier: GPL-2.0
/* The locks that each task holds. */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "held.h"

#define HOLDERS_BITS	10
#define HOLDERS		(1U << HOLDERS_BITS)
#define HOLDER_PROBES	16
#define PAGES_BITS	8

struct held_set {
	atomic_long_t lost;
	/* Number of held objects, and a per-page count to skip pages without any. */
	atomic_t count;
	atomic_t pages[1 << PAGES_BITS];
	struct holder holders[HOLDERS];
};

struct held_set *held_create(void)
{
	return kvzalloc(sizeof(struct held_set), GFP_KERNEL);
}
EXPORT_SYMBOL_GPL(held_create);

void held_destroy(struct held_set *set)
{
	kvfree(set);
}
EXPORT_SYMBOL_GPL(held_destroy);

/* The task's address, or a small number per CPU and interrupt level; 0 in an NMI. */
static unsigned long key_now(void)
{
	if (in_nmi())
		return 0;
	if (in_hardirq())
		return raw_smp_processor_id() * 2 + 1;
	if (in_serving_softirq())
		return raw_smp_processor_id() * 2 + 2;
	return (unsigned long)current;
}

static struct holder *holder_find(struct held_set *set, unsigned long key)
{
	unsigned int i, start = hash_long(key, HOLDERS_BITS);

	for (i = 0; key && i < HOLDER_PROBES; i++) {
		struct holder *holder = &set->holders[(start + i) % HOLDERS];

		if (READ_ONCE(holder->key) == key)
			return holder;
	}
	return NULL;
}

static struct holder *holder_add(struct held_set *set, unsigned long key)
{
	unsigned int i, start = hash_long(key, HOLDERS_BITS);

	for (i = 0; key && i < HOLDER_PROBES; i++) {
		struct holder *holder = &set->holders[(start + i) % HOLDERS];

		if (!READ_ONCE(holder->key) && !cmpxchg(&holder->key, 0, key)) {
			holder->depth = 0;
			return holder;
		}
	}
	return NULL;
}

struct holder *held_by_me(struct held_set *set)
{
	return holder_find(set, key_now());
}
EXPORT_SYMBOL_GPL(held_by_me);

struct holder *held_by(struct held_set *set, const struct task_struct *task)
{
	return holder_find(set, (unsigned long)task);
}
EXPORT_SYMBOL_GPL(held_by);

static atomic_t *held_page(struct held_set *set, const void *object)
{
	return &set->pages[hash_long((unsigned long)object >> PAGE_SHIFT, PAGES_BITS)];
}

static void count_add(struct held_set *set, const void *object, int n)
{
	atomic_add(n, held_page(set, object));
	atomic_add(n, &set->count);
}

bool held_any(const struct held_set *set)
{
	return atomic_read(&set->count);
}
EXPORT_SYMBOL_GPL(held_any);

/* Pops entries at the top that others released. Called by the holder only. */
static void holder_trim(struct holder *holder)
{
	while (holder->depth && !READ_ONCE(holder->locks[holder->depth - 1].object))
		holder->depth--;
}

bool held_add(struct held_set *set, struct evmon_site *site, const void *object)
{
	unsigned long key = key_now();
	struct holder *holder = holder_find(set, key) ?: holder_add(set, key);
	struct held_lock *lock;

	if (holder)
		holder_trim(holder);
	if (!holder || holder->depth == HELD_MAX) {
		atomic_long_inc(&set->lost);
		return false;
	}
	lock = &holder->locks[holder->depth];
	lock->where = evmon_here(site);
	lock->since = ktime_get_mono_fast_ns();
	lock->type = site->type;
	lock->gone = false;
	count_add(set, object, 1);
	WRITE_ONCE(lock->object, object);
	smp_store_release(&holder->depth, holder->depth + 1);
	return true;
}
EXPORT_SYMBOL_GPL(held_add);

static void holder_shrink(struct holder *holder, unsigned int i)
{
	for (; i + 1 < holder->depth; i++)
		holder->locks[i] = holder->locks[i + 1];
	holder->depth--;
	holder_trim(holder);
	if (!holder->depth)
		smp_store_release(&holder->key, 0);
}

static bool remove_mine(struct held_set *set, struct holder *holder, const void *object,
			struct held_lock *lock)
{
	unsigned int i = holder ? holder->depth : 0;

	while (i--) {
		if (holder->locks[i].object != object)
			continue;
		*lock = holder->locks[i];
		/* Another CPU may have removed it first. */
		if (cmpxchg(&holder->locks[i].object, object, NULL) == object)
			count_add(set, object, -1);
		holder_shrink(holder, i);
		return true;
	}
	return false;
}

/* Rare, and never called by the holder. */
static bool remove_others(struct held_set *set, const void *object, struct held_lock *lock)
{
	unsigned int i, j;

	for (i = 0; i < HOLDERS; i++) {
		struct holder *holder = &set->holders[i];

		if (!READ_ONCE(holder->key))
			continue;
		for (j = 0; j < min_t(u32, smp_load_acquire(&holder->depth), HELD_MAX); j++) {
			if (READ_ONCE(holder->locks[j].object) != object)
				continue;
			*lock = holder->locks[j];
			if (cmpxchg(&holder->locks[j].object, object, NULL) == object) {
				count_add(set, object, -1);
				return true;
			}
		}
	}
	return false;
}

enum held_by_whom held_remove(struct held_set *set, const void *object,
			      struct held_lock *lock)
{
	if (remove_mine(set, held_by_me(set), object, lock))
		return HELD_BY_ME;
	return remove_others(set, object, lock) ? HELD_BY_OTHER : HELD_BY_NONE;
}
EXPORT_SYMBOL_GPL(held_remove);

void held_forget(struct held_set *set, struct held_lock *lock)
{
	const void *object = xchg(&lock->object, NULL);

	if (object)
		count_add(set, object, -1);
}
EXPORT_SYMBOL_GPL(held_forget);

void held_clear(struct held_set *set, struct holder *holder)
{
	unsigned int i;

	for (i = 0; i < holder->depth; i++)
		held_forget(set, &holder->locks[i]);
	holder->depth = 0;
	smp_store_release(&holder->key, 0);
}
EXPORT_SYMBOL_GPL(held_clear);

void held_gone(struct held_lock *lock)
{
	WRITE_ONCE(lock->gone, true);
}
EXPORT_SYMBOL_GPL(held_gone);

bool held_is_locked(const struct held_lock *lock)
{
	/* The memory was freed: a lock at this address now is another one. */
	if (READ_ONCE(lock->gone))
		return false;
#ifndef CONFIG_PREEMPT_RT
	union {
		spinlock_t spin;
		struct mutex mutex;
		struct rw_semaphore rwsem;
	} copy;

	switch (lock->type) {
	case EVMON_SPIN_ACQUIRE:
	case EVMON_SPIN_ACQUIRE_IRQ:
		return !copy_from_kernel_nofault(&copy.spin, lock->object, sizeof(copy.spin)) &&
		       spin_is_locked(&copy.spin);
	case EVMON_MUTEX_ACQUIRE:
		return !copy_from_kernel_nofault(&copy.mutex, lock->object, sizeof(copy.mutex)) &&
		       mutex_is_locked(&copy.mutex);
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
		return !copy_from_kernel_nofault(&copy.rwsem, lock->object, sizeof(copy.rwsem)) &&
		       rwsem_is_locked(&copy.rwsem);
	}
#endif
	return true;
}
EXPORT_SYMBOL_GPL(held_is_locked);

void held_walk(struct held_set *set, void (*fn)(struct held_lock *lock, void *data),
	       void *data)
{
	unsigned int i, j;

	for (i = 0; i < HOLDERS; i++) {
		struct holder *holder = &set->holders[i];

		if (!READ_ONCE(holder->key))
			continue;
		for (j = 0; j < min_t(u32, smp_load_acquire(&holder->depth), HELD_MAX); j++)
			if (READ_ONCE(holder->locks[j].object))
				fn(&holder->locks[j], data);
	}
}
EXPORT_SYMBOL_GPL(held_walk);

struct within {
	const void *start, *end;
	void (*fn)(struct held_lock *lock, void *data);
	void *data;
};

static void call_within(struct held_lock *lock, void *data)
{
	const struct within *within = data;
	const void *object = READ_ONCE(lock->object);

	if (object >= within->start && object < within->end)
		within->fn(lock, within->data);
}

void held_walk_in(struct held_set *set, const void *start, size_t size,
		  void (*fn)(struct held_lock *lock, void *data), void *data)
{
	struct within within = { .start = start, .end = start + size, .fn = fn, .data = data };
	const void *page;

	if (!size)
		return;
	for (page = PTR_ALIGN_DOWN(start, PAGE_SIZE); page < within.end; page += PAGE_SIZE) {
		if (!atomic_read(held_page(set, page)))
			continue;
		held_walk(set, call_within, &within);
		break;
	}
}
EXPORT_SYMBOL_GPL(held_walk_in);
