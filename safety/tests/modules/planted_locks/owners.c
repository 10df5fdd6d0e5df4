// SPDX-License-Identifier: GPL-2.0
/* Locks that the wrong task releases, or that are kept, freed, or taken twice. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "planted_locks.h"

static bool unlocked;

static void unlock_spin(void)
{
	preempt_disable();
	spin_unlock(&c->spin);
	smp_store_release(&unlocked, true);
}

void spin_other(void)
{
	unlocked = false;
	spin_lock(&c->spin);
	elsewhere_begin(unlock_spin);
	while (!smp_load_acquire(&unlocked))
		cpu_relax();
	preempt_enable();
	elsewhere_end();
}

/* No other code allocates the memory before the release. */
void spin_freed(void)
{
	struct thing *thing = thing_create();

	spin_lock(&thing->spin);
	kfree(thing);
	spin_unlock(&thing->spin);
}

void mutex_freed(void)
{
	struct thing *thing = thing_create();

	mutex_lock(&thing->mutex);
	kfree(thing);
	mutex_unlock(&thing->mutex);
}

/* No other object of this cache is allocated before the release. */
static struct kmem_cache *cache;
static struct thing *of_cache;

static void construct(void *object)
{
	memset(object, 0, sizeof(struct thing));
}

static void free_it(void)
{
	kmem_cache_free(cache, of_cache);
}

void mutex_freed_by_other(void)
{
	cache = kmem_cache_create("planted_things", sizeof(struct thing), 0, 0, construct);
	of_cache = cache ? kmem_cache_alloc(cache, GFP_KERNEL) : NULL;
	if (of_cache) {
		mutex_init(&of_cache->mutex);
		mutex_lock(&of_cache->mutex);
		in_kthread(free_it);
		mutex_unlock(&of_cache->mutex);
	}
	kmem_cache_destroy(cache);
}

/*
 * One report only, though the task returns holding it. The constructor moves the free pointer away.
 */
void mutex_freed_kept(void)
{
	cache = kmem_cache_create("planted_kept", sizeof(struct thing), 0, 0, construct);
	of_cache = cache ? kmem_cache_alloc(cache, GFP_KERNEL) : NULL;
	if (of_cache) {
		mutex_init(&of_cache->mutex);
		mutex_lock(&of_cache->mutex);
		kmem_cache_free(cache, of_cache);
	}
	kmem_cache_destroy(cache);
}

/* The task that waited for it may free it. */
void sound_freed(void)
{
	struct thing *thing = thing_create();

	mutex_lock(&thing->mutex);
	mutex_unlock(&thing->mutex);
	down(&thing->sem);
	kfree(thing);
}

/* Would hang for ever; the test kills it. */
void mutex_again(void)
{
	mutex_lock(&c->mutex);
	if (!mutex_lock_killable(&c->mutex))
		mutex_unlock(&c->mutex);
	mutex_unlock(&c->mutex);
}

static void release_late(struct timer_list *timer)
{
	arch_spin_unlock(&c->spin.rlock.raw_lock);
}
static DEFINE_TIMER(releasing, release_late);

/* Would hang for ever; the test releases it. */
void spin_again(void)
{
	spin_lock(&c->spin);
	mod_timer(&releasing, jiffies + 2);
	spin_lock(&c->spin);
	spin_unlock(&c->spin);
	spin_unlock(&c->spin);
}

/* Two tasks that wait for each other, until they are killed. */
static struct completion first_has, second_has;

static int second_waits(void *unused)
{
	allow_signal(SIGKILL);
	mutex_lock(&static_mutex);
	complete(&second_has);
	wait_for_completion(&first_has);
	if (!mutex_lock_killable(&c->mutex))
		mutex_unlock(&c->mutex);
	mutex_unlock(&static_mutex);
	return 0;
}

void mutex_deadlock(void)
{
	struct task_struct *task;

	init_completion(&first_has);
	init_completion(&second_has);
	task = kthread_run(second_waits, NULL, "planted");
	if (IS_ERR(task))
		return;
	get_task_struct(task);
	mutex_lock(&c->mutex);
	complete(&first_has);
	wait_for_completion(&second_has);
	if (!mutex_lock_killable(&static_mutex))
		mutex_unlock(&static_mutex);
	mutex_unlock(&c->mutex);
	send_sig(SIGKILL, task, 1);
	kthread_stop(task);
	put_task_struct(task);
}

void mutex_uninitialised(void)
{
	mutex_lock(&c->never);
	mutex_unlock(&c->never);
}

/* Like an inline function in a kernel header: emits no event. */
void sound_released(void)
{
	mutex_lock(&c->mutex);
	(mutex_unlock)(&c->mutex);
	down_write(&c->rwsem);
	(up_write)(&c->rwsem);
	spin_lock(&c->spin);
	(spin_unlock)(&c->spin);
}

static void unlock_mutex(void)
{
	mutex_unlock(&c->mutex);
}

void mutex_other(void)
{
	mutex_lock(&c->mutex);
	in_kthread(unlock_mutex);
}

void mutex_twice(void)
{
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	mutex_unlock(&c->mutex);
}

void mutex_long(void)
{
	mutex_lock(&c->mutex);
	msleep(60);
	mutex_unlock(&c->mutex);
}

void mutex_kept(void)
{
	mutex_lock(&c->mutex);
}

void mutex_kept_by_kthread(void)
{
	in_kthread(mutex_kept);
}

static int keep_mutex(void *unused)
{
	mutex_lock(&c->mutex);
	return 0;
}

void mutex_kept_by_task(void)
{
	struct task_struct *task = kthread_run(keep_mutex, NULL, "planted");

	if (!IS_ERR(task))
		msleep(50);
}

static void up_rwsem(void)
{
	up_write(&c->rwsem);
}

void rwsem_other(void)
{
	down_write(&c->rwsem);
	in_kthread(up_rwsem);
}

void sem_twice(void)
{
	down(&c->sem);
	up(&c->sem);
	up(&c->sem);
	down(&c->sem);
}
