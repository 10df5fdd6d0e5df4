// SPDX-License-Identifier: GPL-2.0
/* The usual operations on locks and counters, all right. */
#include <linux/irqflags.h>
#include <linux/slab.h>

#include "planted_locks.h"

void sound(void)
{
	unsigned long flags;
	int i;

	for (i = 0; i < 3; i++) {
		spin_lock(&a->spin);
		spin_lock(&b->spin);
		spin_unlock(&b->spin);
		spin_unlock(&a->spin);
		spin_lock_irqsave(&b->spin, flags);
		spin_unlock_irqrestore(&b->spin, flags);
		spin_lock_bh(&b->spin);
		spin_unlock_bh(&b->spin);
		if (spin_trylock(&static_spin))
			spin_unlock(&static_spin);

		mutex_lock(&a->mutex);
		mutex_lock_nested(&b->mutex, 1);
		down_write(&a->rwsem);
		down(&a->sem);
		up(&a->sem);
		up_write(&a->rwsem);
		/* Not in the order in which they were taken. */
		mutex_unlock(&a->mutex);
		mutex_unlock(&b->mutex);
		if (!mutex_lock_interruptible(&static_mutex))
			mutex_unlock(&static_mutex);
		if (mutex_trylock(&static_mutex))
			mutex_unlock(&static_mutex);
		down_read(&a->rwsem);
		down_read(&b->rwsem);
		up_read(&a->rwsem);
		up_read(&b->rwsem);

		refcount_set(&a->refcount, 1);
		refcount_inc(&a->refcount);
		if (refcount_inc_not_zero(&a->refcount))
			refcount_dec(&a->refcount);
		if (!refcount_dec_and_test(&a->refcount))
			refcount_dec_and_test(&a->refcount);
		kref_init(&a->kref);
		kref_get(&a->kref);
		kref_put(&a->kref, released);
		kref_put(&a->kref, released);

		local_irq_save(flags);
		spin_lock_irq(&b->spin);
		spin_unlock(&b->spin);
		local_irq_restore(flags);
		local_irq_disable();
		local_irq_enable();
		kfree(kmalloc(100, GFP_KERNEL));
		event(a);
	}
}
