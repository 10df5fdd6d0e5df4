// SPDX-License-Identifier: GPL-2.0
/* Sleeps, or may sleep, in atomic context; contexts that are left in another state. */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "planted_locks.h"

void spin_then_mutex(void)
{
	spin_lock(&c->spin);
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	spin_unlock(&c->spin);
}

/* Hides it from the kernel's own check. */
void spin_sleep(void)
{
	spin_lock(&c->spin);
	preempt_enable();
	msleep(5);
	preempt_disable();
	spin_unlock(&c->spin);
}

void spin_then_alloc(void)
{
	void *p;

	spin_lock(&c->spin);
	p = kmalloc(100, GFP_KERNEL);
	spin_unlock(&c->spin);
	kfree(p);
}

void spin_then_copy(void)
{
	char letter;

	spin_lock(&c->spin);
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	spin_unlock(&c->spin);
}

void irq_then_copy(void)
{
	char letter;

	local_irq_disable();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	local_irq_enable();
}

void irq_then_alloc(void)
{
	void *p;

	local_irq_disable();
	p = kmalloc(100, GFP_KERNEL);
	local_irq_enable();
	kfree(p);
}

void preempt_then_alloc(void)
{
	void *p;

	preempt_disable();
	p = kmalloc(100, GFP_KERNEL);
	preempt_enable();
	kfree(p);
}

void rcu_then_alloc(void)
{
	void *p;

	rcu_read_lock();
	p = kmalloc(100, GFP_KERNEL);
	rcu_read_unlock();
	kfree(p);
}

static void alloc_here(void)
{
	void *p = kmalloc(100, GFP_KERNEL);

	kfree(p);
}

void softirq_alloc(void)
{
	in_softirq_here(alloc_here);
}

void spin_then_pages(void)
{
	struct page *page;

	spin_lock(&c->spin);
	page = alloc_pages(GFP_KERNEL, 0);
	spin_unlock(&c->spin);
	if (page)
		__free_pages(page, 0);
}

void preempt_then_copy(void)
{
	char letter;

	preempt_disable();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	preempt_enable();
}

void rcu_then_copy(void)
{
	char letter;

	rcu_read_lock();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	rcu_read_unlock();
}

void rcu_then_mutex(void)
{
	rcu_read_lock();
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	rcu_read_unlock();
}

void preempt_then_mutex(void)
{
	preempt_disable();
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	preempt_enable();
}

/* The conditions are true already: no call sleeps. */
void spin_then_wait_event(void)
{
	static DECLARE_WAIT_QUEUE_HEAD(queue);

	spin_lock(&c->spin);
	wait_event(queue, true);
	spin_unlock(&c->spin);
}

void spin_then_get_user(void)
{
	char letter;

	spin_lock(&c->spin);
	if (get_user(letter, (char __user *)NULL))
		letter = 0;
	spin_unlock(&c->spin);
}

static void never_queued(struct work_struct *work)
{
}

void spin_then_cancel(void)
{
	static struct delayed_work later;

	INIT_DELAYED_WORK(&later, never_queued);
	spin_lock(&c->spin);
	cancel_delayed_work_sync(&later);
	spin_unlock(&c->spin);
}

void spin_then_resched(void)
{
	spin_lock(&c->spin);
	cond_resched();
	spin_unlock(&c->spin);
}

/* With page faults disabled it fails instead of sleeping. */
void sound_inatomic(void)
{
	char letter;

	spin_lock(&c->spin);
	pagefault_disable();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	pagefault_enable();
	spin_unlock(&c->spin);
	rcu_read_lock();
	kfree(kmalloc(100, GFP_NOWAIT));
	rcu_read_unlock();
}

void sound_atomic(void)
{
	void *p;

	spin_lock(&c->spin);
	p = kmalloc(100, GFP_ATOMIC);
	spin_unlock(&c->spin);
	kfree(p);
}

/* Hides it from the kernel's own check; its count stays right. */
void rcu_slept(void)
{
	rcu_read_lock();
	(rcu_read_unlock)();
	msleep(5);
	(rcu_read_lock)();
	rcu_read_unlock();
}

void bh_slept(void)
{
	local_bh_disable();
	(local_bh_enable)();
	msleep(5);
	(local_bh_disable)();
	local_bh_enable();
}

void rcu_kept(void)
{
	rcu_read_lock();
	(rcu_read_unlock)();
}

void preempt_kept(void)
{
	preempt_disable();
	preempt_enable_notrace();
}

/* Taken with bottom halves off, released without enabling them. */
void bh_mismatch(void)
{
	spin_lock_bh(&c->spin);
	spin_unlock(&c->spin);
	(local_bh_enable)();
}

/* Hides it from the kernel's own check. */
void spin_kept(void)
{
	spin_lock(&c->spin);
	preempt_enable_notrace();
}

void sound_parts(void)
{
	rcu_read_lock();
	local_bh_disable();
	preempt_disable();
	preempt_enable();
	local_bh_enable();
	rcu_read_unlock();
	msleep(1);
}

static void busy_for_40ms(void)
{
	u64 end = ktime_get_ns() + 40 * NSEC_PER_MSEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

void irq_long(void)
{
	local_irq_disable();
	busy_for_40ms();
	local_irq_enable();
}

void irq_long_spin(void)
{
	unsigned long flags;

	spin_lock_irqsave(&c->spin, flags);
	busy_for_40ms();
	spin_unlock_irqrestore(&c->spin, flags);
}

void irq_forgotten(void)
{
	local_irq_disable();
	raw_local_irq_enable();
	msleep(5);
}

void irq_inside(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin_lock_irq(&c->spin);
	spin_unlock_irq(&c->spin);
	local_irq_restore(flags);
}
