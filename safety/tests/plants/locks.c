// SPDX-License-Identifier: GPL-2.0
/* Lock order; release by the wrong task; locks left held; uninitialised locks. */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "plants.h"

static struct locks *a, *b, *c;

/* -- two orders ------------------------------------------------------------------ */

/* Two lock classes: each set is initialised on its own line. */
#define TWO_LOCKS							\
	LOCKS_OF(a);							\
	LOCKS_OF(b)

void abba_spin(void)
{
	TWO_LOCKS;
	spin_lock(&a->spin);
	spin_lock(&b->spin);
	spin_unlock(&b->spin);
	spin_unlock(&a->spin);

	spin_lock(&b->spin);
	spin_lock(&a->spin);
	spin_unlock(&a->spin);
	spin_unlock(&b->spin);
}

void abba_mutex(void)
{
	TWO_LOCKS;
	mutex_lock(&a->mutex);
	mutex_lock(&b->mutex);
	mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);

	mutex_lock(&b->mutex);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	mutex_unlock(&b->mutex);
}

void abba_rwlock(void)
{
	TWO_LOCKS;
	write_lock(&a->rwlock);
	read_lock(&b->rwlock);
	read_unlock(&b->rwlock);
	write_unlock(&a->rwlock);

	write_lock(&b->rwlock);
	read_lock(&a->rwlock);
	read_unlock(&a->rwlock);
	write_unlock(&b->rwlock);
}

void abba_rwlock_spin(void)
{
	TWO_LOCKS;
	write_lock(&a->rwlock);
	spin_lock(&b->spin);
	spin_unlock(&b->spin);
	write_unlock(&a->rwlock);

	spin_lock(&b->spin);
	read_lock(&a->rwlock);
	read_unlock(&a->rwlock);
	spin_unlock(&b->spin);
}

void abba_rwsem(void)
{
	TWO_LOCKS;
	down_write(&a->rwsem);
	down_read(&b->rwsem);
	up_read(&b->rwsem);
	up_write(&a->rwsem);

	down_write(&b->rwsem);
	down_read(&a->rwsem);
	up_read(&a->rwsem);
	up_write(&b->rwsem);
}

void abba_mutex_rwsem(void)
{
	LOCKS_OF(a);
	mutex_lock(&a->mutex);
	down_read(&a->rwsem);
	up_read(&a->rwsem);
	mutex_unlock(&a->mutex);

	down_write(&a->rwsem);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	up_write(&a->rwsem);
}

void abba_semaphore(void)
{
	TWO_LOCKS;
	down(&a->sem);
	down(&b->sem);
	up(&b->sem);
	up(&a->sem);

	down(&b->sem);
	down(&a->sem);
	up(&a->sem);
	up(&b->sem);
}

void abba_three(void)
{
	TWO_LOCKS;
	LOCKS_OF(c);
	mutex_lock(&a->mutex);
	mutex_lock(&b->mutex);
	mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);

	mutex_lock(&b->mutex);
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	mutex_unlock(&b->mutex);

	mutex_lock(&c->mutex);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	mutex_unlock(&c->mutex);
}

static noinline void spin_both(spinlock_t *first, spinlock_t *second)
{
	spin_lock(first);
	spin_lock(second);
	spin_unlock(second);
	spin_unlock(first);
}

void abba_helper_spin(void)
{
	TWO_LOCKS;
	spin_both(&a->spin, &b->spin);
	spin_both(&b->spin, &a->spin);
}

void abba_helper_mutex(void)
{
	TWO_LOCKS;
	other_mutex_both(&a->mutex, &b->mutex);
	other_mutex_both(&b->mutex, &a->mutex);
}

/* Of one class: initialised in one line. */
static struct locks *locks_create(void)
{
	struct locks *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	spin_lock_init(&l->spin);
	mutex_init(&l->mutex);
	init_rwsem(&l->rwsem);
	return l;
}

void abba_class_spin(void)
{
	a = locks_create();
	b = locks_create();
	spin_both(&a->spin, &b->spin);
	spin_both(&b->spin, &a->spin);
}

void abba_class_mutex(void)
{
	a = locks_create();
	b = locks_create();
	other_mutex_both(&a->mutex, &b->mutex);
	other_mutex_both(&b->mutex, &a->mutex);
}

void abba_class_rwsem(void)
{
	a = locks_create();
	b = locks_create();
	down_write(&a->rwsem);
	down_write(&b->rwsem);
	up_write(&b->rwsem);
	up_write(&a->rwsem);
	down_write(&b->rwsem);
	down_write(&a->rwsem);
	up_write(&a->rwsem);
	up_write(&b->rwsem);
}

void abba_tried(void)
{
	TWO_LOCKS;
	if (!mutex_trylock(&a->mutex))
		return;
	mutex_lock(&b->mutex);
	mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);

	mutex_lock(&b->mutex);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	mutex_unlock(&b->mutex);
}

void abba_interruptible(void)
{
	TWO_LOCKS;
	mutex_lock(&a->mutex);
	if (!mutex_lock_interruptible(&b->mutex))
		mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);

	mutex_lock(&b->mutex);
	if (!mutex_lock_killable(&a->mutex))
		mutex_unlock(&a->mutex);
	mutex_unlock(&b->mutex);
}

static void take_b_then_a(void)
{
	mutex_lock(&b->mutex);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	mutex_unlock(&b->mutex);
}

void abba_tasks(void)
{
	TWO_LOCKS;
	mutex_lock(&a->mutex);
	mutex_lock(&b->mutex);
	mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);
	in_work_of(take_b_then_a);
}

/* A task waits for work that needs a lock the task holds; a trylock prevents a real hang. */
static void take_mutex(void)
{
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
}

static void work_takes_mutex(struct work_struct *work)
{
	take_mutex();
}

void abba_work(void)
{
	static DECLARE_WORK(work, work_takes_mutex);

	LOCKS_OF(a);
	schedule_work(&work);
	flush_work(&work);
	mutex_lock(&a->mutex);
	flush_work(&work);
	mutex_unlock(&a->mutex);
}

/* -- released wrongly ------------------------------------------------------------ */

void release_twice_mutex(void)
{
	LOCKS_OF(a);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	mutex_unlock(&a->mutex);
}

void release_twice_rwsem(void)
{
	LOCKS_OF(a);
	down_write(&a->rwsem);
	up_write(&a->rwsem);
	up_write(&a->rwsem);
}

void release_twice_semaphore(void)
{
	LOCKS_OF(a);
	down(&a->sem);
	up(&a->sem);
	up(&a->sem);
}

void release_untaken_spin(void)
{
	LOCKS_OF(a);
	spin_lock(&a->spin);
	spin_unlock(&a->spin);
	spin_unlock(&a->spin);
	preempt_disable_notrace();
}

static void release_mutex(void)
{
	mutex_unlock(&a->mutex);
}

void release_mutex_by_other(void)
{
	LOCKS_OF(a);
	mutex_lock(&a->mutex);
	in_work_of(release_mutex);
}

static void release_rwsem(void)
{
	up_write(&a->rwsem);
}

void release_rwsem_by_other(void)
{
	LOCKS_OF(a);
	down_write(&a->rwsem);
	in_work_of(release_rwsem);
}

static void release_spin(void)
{
	spin_unlock(&a->spin);
	preempt_disable_notrace();
}

void release_spin_by_other(void)
{
	LOCKS_OF(a);
	spin_lock(&a->spin);
	/* Preemption is enabled first, so that only the lock forbids waiting for the other task. */
	preempt_enable_notrace();
	in_work_of(release_spin);
}

void release_wrong_spin(void)
{
	TWO_LOCKS;
	spin_lock(&a->spin);
	spin_unlock(&b->spin);
}

void release_wrong_mutex(void)
{
	TWO_LOCKS;
	mutex_lock(&a->mutex);
	mutex_unlock(&b->mutex);
}

void release_read_as_write(void)
{
	LOCKS_OF(a);
	read_lock(&a->rwlock);
	write_unlock(&a->rwlock);
}

/* -- kept ------------------------------------------------------------------------ */

void kept_mutex(void)
{
	LOCKS_OF(a);
	mutex_lock(&a->mutex);
}

void kept_rwsem(void)
{
	LOCKS_OF(a);
	down_read(&a->rwsem);
}

void kept_semaphore(void)
{
	LOCKS_OF(a);
	down(&a->sem);
}

void kept_spin(void)
{
	LOCKS_OF(a);
	spin_lock(&a->spin);
}

void kept_rwlock(void)
{
	LOCKS_OF(a);
	read_lock(&a->rwlock);
}

static int fails(void)
{
	return off ? -EIO : 0;
}

static int kept_on_error_of(void)
{
	int err;

	mutex_lock(&a->mutex);
	err = fails();
	if (err)
		return err;
	mutex_unlock(&a->mutex);
	return 0;
}

void kept_on_error(void)
{
	LOCKS_OF(a);
	sink = kept_on_error_of();
}

static int keep_mutex(void *unused)
{
	mutex_lock(&a->mutex);
	return 0;
}

void kept_by_thread(void)
{
	LOCKS_OF(a);
	if (!IS_ERR(kthread_run(keep_mutex, NULL, "plants")))
		msleep(50);
}

static void work_keeps(void)
{
	mutex_lock(&a->mutex);
}

void kept_by_work(void)
{
	LOCKS_OF(a);
	in_work_of(work_keeps);
}

void kept_freed_spin(void)
{
	LOCKS_OF(a);
	spin_lock(&a->spin);
	kfree(a);
	preempt_enable_notrace();
}

void kept_freed_mutex(void)
{
	LOCKS_OF(a);
	mutex_lock(&a->mutex);
	kfree(a);
}

/* -- never made ------------------------------------------------------------------ */

void unmade_mutex(void)
{
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	mutex_lock(&a->mutex);
	mutex_unlock(&a->mutex);
	kfree(a);
}

void unmade_rwsem(void)
{
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	down_read(&a->rwsem);
	up_read(&a->rwsem);
	kfree(a);
}

void unmade_spin(void)
{
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	spin_lock(&a->spin);
	spin_unlock(&a->spin);
	kfree(a);
}
