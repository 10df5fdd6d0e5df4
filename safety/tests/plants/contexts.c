// SPDX-License-Identifier: GPL-2.0
/* Sleeping in atomic context; locks shared with interrupts; unbalanced sections. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "plants.h"

static struct locks *a, *b;
static struct completion done;
static DEFINE_MUTEX(mutex);

static void nothing(struct work_struct *unused)
{
}
static DECLARE_WORK(work, nothing);

/* -- under a spinlock ------------------------------------------------------------ */

/* Statements that are macros may contain commas. */
#define UNDER(name, take, release, ...)					\
	void name(void)							\
	{								\
		LOCKS_OF(a);						\
		take;							\
		__VA_ARGS__;						\
		release;						\
		kfree(a);						\
	}
#define SPIN(name, ...)							\
	UNDER(name, spin_lock(&a->spin), spin_unlock(&a->spin), __VA_ARGS__)
#define SPIN_IRQ(name, ...)						\
	UNDER(name, spin_lock_irq(&a->spin), spin_unlock_irq(&a->spin), __VA_ARGS__)

SPIN(sleep_spin, msleep(5))
SPIN(sleep_spin_alloc, kfree(kmalloc(100, GFP_KERNEL)))
SPIN(sleep_spin_string, kfree(kstrdup("a string", GFP_KERNEL)))
SPIN(sleep_spin_vmalloc, vfree(vmalloc(5000)))
SPIN(sleep_spin_page, free_page(__get_free_page(GFP_KERNEL)))
SPIN(sleep_spin_mutex, mutex_lock(&mutex); mutex_unlock(&mutex))
SPIN(sleep_spin_rwsem, down_read(&a->rwsem); up_read(&a->rwsem))
SPIN(sleep_spin_semaphore, down(&a->sem); up(&a->sem))
SPIN(sleep_spin_from_user, u8 byte; if (copy_from_user(&byte, user, off)) sink = 1)
SPIN(sleep_spin_to_user, u8 byte = 0; if (copy_to_user(user, &byte, off)) sink = 1)
SPIN(sleep_spin_put_user, if (put_user(1, user)) sink = 1)
SPIN(sleep_spin_wait, init_completion(&done); complete(&done); wait_for_completion(&done))
SPIN(sleep_spin_flush, flush_work(&work))
SPIN(sleep_spin_cancel, cancel_work_sync(&work))
SPIN(sleep_spin_might, might_sleep())
SPIN(sleep_spin_resched, cond_resched())
SPIN(sleep_spin_schedule, schedule_timeout_uninterruptible(1))
SPIN(sleep_spin_range, usleep_range(1000, 2000))
UNDER(sleep_rwlock, read_lock(&a->rwlock), read_unlock(&a->rwlock),
      kfree(kmalloc(100, GFP_KERNEL)))
UNDER(sleep_bh_lock, spin_lock_bh(&a->spin), spin_unlock_bh(&a->spin),
      kfree(kmalloc(100, GFP_KERNEL)))
SPIN_IRQ(sleep_irq_lock, kfree(kmalloc(100, GFP_KERNEL)))
UNDER(sleep_irqs_off, local_irq_disable(), local_irq_enable(),
      kfree(kmalloc(100, GFP_KERNEL)))
UNDER(sleep_irqs_off_copy, local_irq_disable(), local_irq_enable(),
      u8 byte; if (copy_from_user(&byte, user, off)) sink = 1)
UNDER(sleep_rcu, rcu_read_lock(), rcu_read_unlock(), msleep(5))
UNDER(sleep_rcu_alloc, rcu_read_lock(), rcu_read_unlock(), kfree(kmalloc(100, GFP_KERNEL)))
UNDER(sleep_rcu_mutex, rcu_read_lock(), rcu_read_unlock(),
      mutex_lock(&mutex); mutex_unlock(&mutex))
UNDER(sleep_bh, local_bh_disable(), local_bh_enable(), msleep(5))
UNDER(sleep_preempt, preempt_disable(), preempt_enable(), msleep(5))
UNDER(sleep_preempt_alloc, preempt_disable(), preempt_enable(), kfree(kmalloc(100, GFP_KERNEL)))

static void take_mutex(void)
{
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
}

static void allocate(void)
{
	kfree(kmalloc(100, GFP_KERNEL));
}

void sleep_timer_mutex(void)
{
	in_timer_of(take_mutex);
}

void sleep_softirq_alloc(void)
{
	in_softirq_of(allocate);
}

void sleep_hardirq_alloc(void)
{
	in_hardirq_of(allocate);
}

void sleep_hardirq_mutex(void)
{
	in_hardirq_of(take_mutex);
}

/* Two calls deep. */
static noinline void by_helper(struct locks *l)
{
	down_write(&l->rwsem);
	up_write(&l->rwsem);
}

SPIN(sleep_spin_helper, by_helper(a))

/* -- locks of interrupts --------------------------------------------------------- */

static void take_spin(void)
{
	spin_lock(&a->spin);
	spin_unlock(&a->spin);
}

static void read_rwlock(void)
{
	read_lock(&a->rwlock);
	read_unlock(&a->rwlock);
}

void irq_spin_hardirq(void)
{
	LOCKS_OF(a);
	take_spin();
	in_hardirq_of(take_spin);
}

void irq_spin_softirq(void)
{
	LOCKS_OF(a);
	take_spin();
	in_softirq_of(take_spin);
}

void irq_spin_timer(void)
{
	LOCKS_OF(a);
	take_spin();
	in_timer_of(take_spin);
}

void irq_after(void)
{
	LOCKS_OF(a);
	in_hardirq_of(take_spin);
	take_spin();
}

void irq_bh_in_hardirq(void)
{
	LOCKS_OF(a);
	spin_lock_bh(&a->spin);
	spin_unlock_bh(&a->spin);
	in_hardirq_of(take_spin);
}

void irq_rwlock(void)
{
	LOCKS_OF(a);
	write_lock(&a->rwlock);
	write_unlock(&a->rwlock);
	in_hardirq_of(read_rwlock);
}

/* b is taken with interrupts on, and also under a, which interrupts take. */
void irq_through_other(void)
{
	LOCKS_OF(a);
	LOCKS_OF(b);
	in_hardirq_of(take_spin);
	spin_lock(&b->spin);
	spin_unlock(&b->spin);
	spin_lock_irq(&a->spin);
	spin_lock(&b->spin);
	spin_unlock(&b->spin);
	spin_unlock_irq(&a->spin);
}

void irq_on_inside(void)
{
	unsigned long flags;

	LOCKS_OF(a);
	local_irq_save(flags);
	spin_lock_irq(&a->spin);
	spin_unlock_irq(&a->spin);
	local_irq_restore(flags);
}

void irq_long(void)
{
	u64 end = ktime_get_ns() + 300 * NSEC_PER_MSEC;

	local_irq_disable();
	while (ktime_get_ns() < end)
		cpu_relax();
	local_irq_enable();
}

void irq_kept(void)
{
	local_irq_disable();
	sink = off;
}

void irq_slept(void)
{
	local_irq_disable();
	msleep(5);
	local_irq_enable();
}

void irq_bh_on(void)
{
	local_irq_disable();
	local_bh_disable();
	local_bh_enable();
	local_irq_enable();
}

/* -- sections -------------------------------------------------------------------- */

void section_rcu_kept(void)
{
	rcu_read_lock();
	sink = off;
}

void section_bh_kept(void)
{
	local_bh_disable();
	sink = off;
}

void section_preempt_kept(void)
{
	preempt_disable();
	sink = off;
}

void section_rcu_ended_twice(void)
{
	rcu_read_lock();
	rcu_read_unlock();
	rcu_read_unlock();
}

/* Correct the count behind the tools' backs. */
void section_preempt_ended_twice(void)
{
	preempt_disable();
	preempt_enable();
	preempt_enable();
	preempt_disable_notrace();
}

void section_rcu_on_error(void)
{
	rcu_read_lock();
	if (off)
		return;
	rcu_read_unlock();
}

struct guarded {
	u64 value;
};

void section_rcu_missing(void)
{
	static struct guarded __rcu *guarded;
	struct guarded *p;

	p = rcu_dereference(guarded);
	if (p)
		sink = p->value;
}
