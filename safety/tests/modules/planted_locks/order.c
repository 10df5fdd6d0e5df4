// SPDX-License-Identifier: GPL-2.0
/* Locks that are taken in two orders, or where an interrupt takes them. */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "planted_locks.h"

void spin_order(void)
{
	spin_lock(&static_spin);
	spin_lock(&c->spin);
	spin_unlock(&c->spin);
	spin_unlock(&static_spin);

	spin_lock(&c->spin);
	spin_lock(&static_spin);
	spin_unlock(&static_spin);
	spin_unlock(&c->spin);
}

/* Each place takes a different lock from call to call. */
static void lock_both(spinlock_t *x, spinlock_t *y)
{
	spin_lock(x);
	spin_lock(y);
	spin_unlock(y);
	spin_unlock(x);
}

void spin_helper(void)
{
	lock_both(&static_spin, &c->spin);
	lock_both(&c->spin, &static_spin);
}

/* Takes two locks of one class in both orders. */
void spin_instances(void)
{
	lock_both(&a->spin, &c->spin);
	lock_both(&c->spin, &a->spin);
}

static void mutex_both(struct mutex *x, struct mutex *y)
{
	mutex_lock(x);
	mutex_lock(y);
	mutex_unlock(y);
	mutex_unlock(x);
}

void mutex_instances(void)
{
	mutex_both(&a->mutex, &c->mutex);
	mutex_both(&c->mutex, &a->mutex);
}

/* In the order of addresses, or as declared by a nesting subclass. */
void sound_instances(void)
{
	struct thing *low = min(a, c), *high = max(a, c);

	lock_both(&low->spin, &high->spin);
	lock_both(&low->spin, &high->spin);
	mutex_both(&low->mutex, &high->mutex);
	mutex_lock(&high->mutex);
	mutex_lock_nested(&low->mutex, 1);
	mutex_unlock(&low->mutex);
	mutex_unlock(&high->mutex);
}

void rwlock_order(void)
{
	write_lock(&static_rwlock);
	read_lock(&c->rwlock);
	read_unlock(&c->rwlock);
	write_unlock(&static_rwlock);

	write_lock(&c->rwlock);
	read_lock(&static_rwlock);
	read_unlock(&static_rwlock);
	write_unlock(&c->rwlock);
}

static void read_rwlock(void)
{
	read_lock(&static_rwlock);
	read_unlock(&static_rwlock);
}

void rwlock_hardirq(void)
{
	write_lock(&static_rwlock);
	write_unlock(&static_rwlock);
	in_hardirq_here(read_rwlock);
}

/* Readers interrupt readers. */
void sound_rwlock(void)
{
	unsigned long flags;

	read_rwlock();
	in_hardirq_here(read_rwlock);
	write_lock_irqsave(&static_rwlock, flags);
	write_unlock_irqrestore(&static_rwlock, flags);
	write_lock_irq(&static_rwlock);
	write_unlock_irq(&static_rwlock);
	read_lock_bh(&a->rwlock);
	read_unlock_bh(&a->rwlock);
}

static void take_mutex(void)
{
	mutex_lock(&static_mutex);
	mutex_unlock(&static_mutex);
}

void mutex_softirq(void)
{
	in_softirq_here(take_mutex);
}

#ifdef DEFINE_GUARD
void guard_order(void)
{
	{
		guard(mutex)(&static_mutex);
		guard(mutex)(&c->mutex);
	}
	{
		guard(mutex)(&c->mutex);
		guard(mutex)(&static_mutex);
	}
}

void guard_then_alloc(void)
{
	guard(spinlock_irqsave)(&c->spin);
	kfree(kmalloc(100, GFP_KERNEL));
}

void sound_guards(void)
{
	scoped_guard(mutex, &static_mutex) {
		guard(rwsem_write)(&b->rwsem);
	}
	scoped_guard(rwsem_read, &a->rwsem) {
		guard(rwsem_read)(&b->rwsem);
	}
	scoped_guard(spinlock_irq, &a->spin) {
		guard(rcu)();
	}
	scoped_guard(spinlock, &a->spin) {
		guard(preempt)();
	}
	guard(irqsave)();
}
#endif

/* A trylock never waits. */
static void try_spin(void)
{
	if (spin_trylock(&static_spin))
		spin_unlock(&static_spin);
}

void sound_tried(void)
{
	spin_lock(&static_spin);
	spin_lock(&c->spin);
	spin_unlock(&c->spin);
	spin_unlock(&static_spin);
	in_hardirq_here(try_spin);
	in_softirq_here(try_spin);

	mutex_lock(&static_mutex);
	mutex_lock(&c->mutex);
	down_write(&c->rwsem);
	down(&c->sem);
	up(&c->sem);
	up_write(&c->rwsem);
	mutex_unlock(&c->mutex);
	mutex_unlock(&static_mutex);

	down(&c->sem);
	if (down_read_trylock(&c->rwsem))
		up_read(&c->rwsem);
	if (down_write_trylock(&c->rwsem))
		up_write(&c->rwsem);
	if (mutex_trylock(&c->mutex))
		mutex_unlock(&c->mutex);
	up(&c->sem);

	spin_lock(&c->spin);
	try_spin();
	if (mutex_trylock(&static_mutex))
		mutex_unlock(&static_mutex);
	if (!down_trylock(&c->sem))
		up(&c->sem);
	spin_unlock(&c->spin);
}

/* A lock taken by trylock is held like any other. */
void mutex_order_tried(void)
{
	if (mutex_trylock(&static_mutex)) {
		mutex_lock(&c->mutex);
		mutex_unlock(&c->mutex);
		mutex_unlock(&static_mutex);
	}

	mutex_lock(&c->mutex);
	mutex_lock(&static_mutex);
	mutex_unlock(&static_mutex);
	mutex_unlock(&c->mutex);
}

static void take_spin(void)
{
	spin_lock(&static_spin);
	spin_unlock(&static_spin);
}

void spin_hardirq(void)
{
	take_spin();
	in_hardirq_here(take_spin);
}

void spin_softirq(void)
{
	take_spin();
	in_softirq_here(take_spin);
}

void mutex_order(void)
{
	mutex_lock(&static_mutex);
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	mutex_unlock(&static_mutex);

	mutex_lock(&c->mutex);
	mutex_lock(&static_mutex);
	mutex_unlock(&static_mutex);
	mutex_unlock(&c->mutex);
}

/* Three locks in a cycle; no two are taken in both orders. */
void mutex_circle(void)
{
	mutex_lock(&static_mutex);
	down_read(&c->rwsem);
	up_read(&c->rwsem);
	mutex_unlock(&static_mutex);

	down_write(&c->rwsem);
	down(&c->sem);
	up(&c->sem);
	up_write(&c->rwsem);

	down(&c->sem);
	mutex_lock(&static_mutex);
	mutex_unlock(&static_mutex);
	up(&c->sem);
}
