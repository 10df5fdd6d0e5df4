// SPDX-License-Identifier: GPL-2.0
/*
 * Faults with locks, counters and interrupts on request: write a fault's name to
 * /sys/kernel/debug/planted_locks. "sound" runs all of them done right.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/semaphore.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#ifdef EVMON_H
#define event(object)	log_event(object, EVMON_USER + 7)
#else
#define event(object)	((void)(object))
#endif

struct thing {
	spinlock_t spin;
	struct mutex mutex;
	struct rw_semaphore rwsem;
	struct semaphore sem;
	rwlock_t rwlock;
	struct mutex never;		/* initialised */
	refcount_t refcount;
	struct kref kref;
	atomic_t count;
};

static struct thing *thing_create(void);

static struct dentry *file;
static struct thing *a, *b, *c;
static DEFINE_MUTEX(static_mutex);
static DEFINE_SPINLOCK(static_spin);
static DEFINE_RWLOCK(static_rwlock);

/* -- others' hands ------------------------------------------------------------ */

static void (*elsewhere_fn)(void);

static void in_work(struct work_struct *work)
{
	elsewhere_fn();
}
static DECLARE_WORK(work, in_work);

static void in_kthread(void (*fn)(void))
{
	elsewhere_fn = fn;
	schedule_work(&work);
	flush_work(&work);
}

static void in_irq_work(struct irq_work *irq_work)
{
	elsewhere_fn();
}
static struct irq_work irq_work = IRQ_WORK_INIT_HARD(in_irq_work);

static void in_hardirq_here(void (*fn)(void))
{
	elsewhere_fn = fn;
	irq_work_queue(&irq_work);
	irq_work_sync(&irq_work);
}

static void in_tasklet(struct tasklet_struct *tasklet)
{
	elsewhere_fn();
}
static DECLARE_TASKLET(tasklet, in_tasklet);

static void in_softirq_here(void (*fn)(void))
{
	elsewhere_fn = fn;
	tasklet_schedule(&tasklet);
	tasklet_unlock_wait(&tasklet);
	while (test_bit(TASKLET_STATE_SCHED, &tasklet.state))
		msleep(1);
}

/* -- faults ------------------------------------------------------------------- */

static void released(struct kref *kref)
{
}

static void sound(void)
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

static bool unlocked;

static void unlock_spin(void)
{
	preempt_disable();
	spin_unlock(&c->spin);
	smp_store_release(&unlocked, true);
}

/* On another CPU, or, if there is none, in an interrupt: this CPU spins meanwhile. */
static void spin_other(void)
{
	unsigned int cpu;

	unlocked = false;
	elsewhere_fn = unlock_spin;
	spin_lock(&c->spin);
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (cpu < nr_cpu_ids)
		schedule_work_on(cpu, &work);
	else
		irq_work_queue(&irq_work);
	while (!smp_load_acquire(&unlocked))
		cpu_relax();
	preempt_enable();
	flush_work(&work);
	irq_work_sync(&irq_work);
}

static void spin_then_mutex(void)
{
	spin_lock(&c->spin);
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	spin_unlock(&c->spin);
}

/* Hides it from the kernel's own check. */
static void spin_sleep(void)
{
	spin_lock(&c->spin);
	preempt_enable();
	msleep(5);
	preempt_disable();
	spin_unlock(&c->spin);
}

static void spin_order(void)
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

static void spin_helper(void)
{
	lock_both(&static_spin, &c->spin);
	lock_both(&c->spin, &static_spin);
}

/* Takes two locks of one class in both orders. */
static void spin_instances(void)
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

static void mutex_instances(void)
{
	mutex_both(&a->mutex, &c->mutex);
	mutex_both(&c->mutex, &a->mutex);
}

/* In the order of addresses, or as declared by a nesting subclass. */
static void sound_instances(void)
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

static void rwlock_order(void)
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

static void rwlock_hardirq(void)
{
	write_lock(&static_rwlock);
	write_unlock(&static_rwlock);
	in_hardirq_here(read_rwlock);
}

/* Readers interrupt readers. */
static void sound_rwlock(void)
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

static void spin_then_alloc(void)
{
	void *p;

	spin_lock(&c->spin);
	p = kmalloc(100, GFP_KERNEL);
	spin_unlock(&c->spin);
	kfree(p);
}

static void spin_then_copy(void)
{
	char letter;

	spin_lock(&c->spin);
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	spin_unlock(&c->spin);
}

static void irq_then_copy(void)
{
	char letter;

	local_irq_disable();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	local_irq_enable();
}

static void irq_then_alloc(void)
{
	void *p;

	local_irq_disable();
	p = kmalloc(100, GFP_KERNEL);
	local_irq_enable();
	kfree(p);
}

static void preempt_then_alloc(void)
{
	void *p;

	preempt_disable();
	p = kmalloc(100, GFP_KERNEL);
	preempt_enable();
	kfree(p);
}

static void rcu_then_alloc(void)
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

static void softirq_alloc(void)
{
	in_softirq_here(alloc_here);
}

static void spin_then_pages(void)
{
	struct page *page;

	spin_lock(&c->spin);
	page = alloc_pages(GFP_KERNEL, 0);
	spin_unlock(&c->spin);
	if (page)
		__free_pages(page, 0);
}

static void preempt_then_copy(void)
{
	char letter;

	preempt_disable();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	preempt_enable();
}

static void rcu_then_copy(void)
{
	char letter;

	rcu_read_lock();
	if (copy_from_user(&letter, NULL, 1))
		letter = 0;
	rcu_read_unlock();
}

static void rcu_then_mutex(void)
{
	rcu_read_lock();
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	rcu_read_unlock();
}

static void preempt_then_mutex(void)
{
	preempt_disable();
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	preempt_enable();
}

/* The conditions are true already: no call sleeps. */
static void spin_then_wait_event(void)
{
	static DECLARE_WAIT_QUEUE_HEAD(queue);

	spin_lock(&c->spin);
	wait_event(queue, true);
	spin_unlock(&c->spin);
}

static void spin_then_get_user(void)
{
	char letter;

	spin_lock(&c->spin);
	if (get_user(letter, (char __user *)NULL))
		letter = 0;
	spin_unlock(&c->spin);
}

static void spin_then_cancel(void)
{
	static struct delayed_work later;

	INIT_DELAYED_WORK(&later, in_work);
	spin_lock(&c->spin);
	cancel_delayed_work_sync(&later);
	spin_unlock(&c->spin);
}

static void spin_then_resched(void)
{
	spin_lock(&c->spin);
	cond_resched();
	spin_unlock(&c->spin);
}

/* With page faults disabled it fails instead of sleeping. */
static void sound_inatomic(void)
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

static void sound_atomic(void)
{
	void *p;

	spin_lock(&c->spin);
	p = kmalloc(100, GFP_ATOMIC);
	spin_unlock(&c->spin);
	kfree(p);
}

static void take_mutex(void)
{
	mutex_lock(&static_mutex);
	mutex_unlock(&static_mutex);
}

static void mutex_softirq(void)
{
	in_softirq_here(take_mutex);
}

/* No other code allocates the memory before the release. */
static void spin_freed(void)
{
	struct thing *thing = thing_create();

	spin_lock(&thing->spin);
	kfree(thing);
	spin_unlock(&thing->spin);
}

static void mutex_freed(void)
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

static void mutex_freed_by_other(void)
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
static void mutex_freed_kept(void)
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
static void sound_freed(void)
{
	struct thing *thing = thing_create();

	mutex_lock(&thing->mutex);
	mutex_unlock(&thing->mutex);
	down(&thing->sem);
	kfree(thing);
}

/* Would hang for ever; the test kills it. */
static void mutex_again(void)
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
static void spin_again(void)
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

static void mutex_deadlock(void)
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

static void mutex_uninitialised(void)
{
	mutex_lock(&c->never);
	mutex_unlock(&c->never);
}

/* Hides it from the kernel's own check; its count stays right. */
static void rcu_slept(void)
{
	rcu_read_lock();
	(rcu_read_unlock)();
	msleep(5);
	(rcu_read_lock)();
	rcu_read_unlock();
}

static void bh_slept(void)
{
	local_bh_disable();
	(local_bh_enable)();
	msleep(5);
	(local_bh_disable)();
	local_bh_enable();
}

static void rcu_kept(void)
{
	rcu_read_lock();
	(rcu_read_unlock)();
}

static void preempt_kept(void)
{
	preempt_disable();
	preempt_enable_notrace();
}

/* Taken with bottom halves off, released without enabling them. */
static void bh_mismatch(void)
{
	spin_lock_bh(&c->spin);
	spin_unlock(&c->spin);
	(local_bh_enable)();
}

/* Hides it from the kernel's own check. */
static void spin_kept(void)
{
	spin_lock(&c->spin);
	preempt_enable_notrace();
}

/* Like an inline function in a kernel header: emits no event. */
static void sound_released(void)
{
	mutex_lock(&c->mutex);
	(mutex_unlock)(&c->mutex);
	down_write(&c->rwsem);
	(up_write)(&c->rwsem);
	spin_lock(&c->spin);
	(spin_unlock)(&c->spin);
}

#ifdef DEFINE_GUARD
static void guard_order(void)
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

static void guard_then_alloc(void)
{
	guard(spinlock_irqsave)(&c->spin);
	kfree(kmalloc(100, GFP_KERNEL));
}

static void sound_guards(void)
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

static void sound_parts(void)
{
	rcu_read_lock();
	local_bh_disable();
	preempt_disable();
	preempt_enable();
	local_bh_enable();
	rcu_read_unlock();
	msleep(1);
}

/* A trylock never waits. */
static void try_spin(void)
{
	if (spin_trylock(&static_spin))
		spin_unlock(&static_spin);
}

static void sound_tried(void)
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
static void mutex_order_tried(void)
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

static void spin_hardirq(void)
{
	take_spin();
	in_hardirq_here(take_spin);
}

static void spin_softirq(void)
{
	take_spin();
	in_softirq_here(take_spin);
}

static void unlock_mutex(void)
{
	mutex_unlock(&c->mutex);
}

static void mutex_other(void)
{
	mutex_lock(&c->mutex);
	in_kthread(unlock_mutex);
}

static void mutex_twice(void)
{
	mutex_lock(&c->mutex);
	mutex_unlock(&c->mutex);
	mutex_unlock(&c->mutex);
}

static void mutex_order(void)
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
static void mutex_circle(void)
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

static void mutex_long(void)
{
	mutex_lock(&c->mutex);
	msleep(60);
	mutex_unlock(&c->mutex);
}

static void mutex_kept(void)
{
	mutex_lock(&c->mutex);
}

static void mutex_kept_by_kthread(void)
{
	in_kthread(mutex_kept);
}

static int keep_mutex(void *unused)
{
	mutex_lock(&c->mutex);
	return 0;
}

static void mutex_kept_by_task(void)
{
	struct task_struct *task = kthread_run(keep_mutex, NULL, "planted");

	if (!IS_ERR(task))
		msleep(50);
}

static void up_rwsem(void)
{
	up_write(&c->rwsem);
}

static void rwsem_other(void)
{
	down_write(&c->rwsem);
	in_kthread(up_rwsem);
}

static void sem_twice(void)
{
	down(&c->sem);
	up(&c->sem);
	up(&c->sem);
	down(&c->sem);
}

static void count_inc(void)
{
	atomic_inc(&c->count);
}

static void count_dec(void)
{
	if (atomic_dec_and_test(&c->count))
		event(c);
}

static void ref_taken_at_zero(void)
{
	atomic_set(&c->count, 1);
	count_dec();
	count_inc();
}

static void ref_dropped_at_zero(void)
{
	atomic_set(&c->count, 1);
	count_dec();
	count_dec();
}

static void ref_leak(void)
{
	kref_init(&c->kref);
	kref_get(&c->kref);
	kref_get(&c->kref);
	kref_put(&c->kref, released);
}

/* The kernel itself complains, too. */
static void refcount_at_zero(void)
{
	refcount_set(&c->refcount, 1);
	if (refcount_dec_and_test(&c->refcount))
		refcount_inc(&c->refcount);
}

static void busy_for_40ms(void)
{
	u64 end = ktime_get_ns() + 40 * NSEC_PER_MSEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static void irq_long(void)
{
	local_irq_disable();
	busy_for_40ms();
	local_irq_enable();
}

static void irq_long_spin(void)
{
	unsigned long flags;

	spin_lock_irqsave(&c->spin, flags);
	busy_for_40ms();
	spin_unlock_irqrestore(&c->spin, flags);
}

static void irq_forgotten(void)
{
	local_irq_disable();
	raw_local_irq_enable();
	msleep(5);
}

static void irq_inside(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin_lock_irq(&c->spin);
	spin_unlock_irq(&c->spin);
	local_irq_restore(flags);
}

static void unlock_a(struct kref *ref)
{
	mutex_unlock(&a->mutex);
}

/* Functions that take a mutex if a counter drops to zero, which only the third call does. */
static void sound_drop(void)
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
static void sound_unshared(void)
{
	struct thing *thing = thing_create();

	if (!thing)
		return;
	kref_init(&thing->kref);
	kref_get(&thing->kref);
	refcount_set(&thing->refcount, 1);
	kfree(thing);
}

static void *leaked;

static noinline void alloc_leak(void)
{
	/* Stored after the call: otherwise the call would be the last statement, a jump. */
	WRITE_ONCE(leaked, kmalloc(123, GFP_KERNEL));
}

static noinline void vmalloc_leak(void)
{
	WRITE_ONCE(leaked, vmalloc(12345));
}

static noinline void pages_leak(void)
{
	WRITE_ONCE(leaked, alloc_pages(GFP_KERNEL, 1));
}

static noinline void page_leak(void)
{
	WRITE_ONCE(leaked, (void *)get_zeroed_page(GFP_KERNEL));
}

static noinline void percpu_leak(void)
{
	WRITE_ONCE(leaked, (void *)(__force unsigned long)__alloc_percpu(24, 8));
}

static noinline void skb_leak(void)
{
	WRITE_ONCE(leaked, alloc_skb(777, GFP_KERNEL));
}

static noinline void clone_leak(void)
{
	struct sk_buff *skb = alloc_skb(777, GFP_KERNEL);

	if (skb)
		WRITE_ONCE(leaked, skb_clone(skb, GFP_KERNEL));
	kfree_skb(skb);
}

static noinline void sound_memory(void)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1);
	void __percpu *percpu = __alloc_percpu(24, 8);
	struct sk_buff *skb = alloc_skb(777, GFP_KERNEL);

	vfree(vmalloc(12345));
	kvfree(kvmalloc(100000, GFP_KERNEL));
	if (page)
		__free_pages(page, 1);
	free_page(get_zeroed_page(GFP_KERNEL));
	free_percpu(percpu);
	kfree_skb(skb_clone(skb, GFP_KERNEL));
	kfree_skb(skb);
	consume_skb(alloc_skb(777, GFP_KERNEL));
}

static size_t no_bytes;

/* Bulk frees happen long after; objects of zero bytes are never freed. */
static noinline void sound_alloc(void)
{
	size_t none = READ_ONCE(no_bytes);
	struct later { long data; struct rcu_head rcu; } *later;
	void *many[] = { kmalloc(100, GFP_KERNEL), kmalloc(200, GFP_KERNEL) };

	if (many[0] && many[1])
		kfree_bulk(ARRAY_SIZE(many), many);
	later = kmalloc(sizeof(*later), GFP_KERNEL);
	kfree_rcu(later, rcu);
	kvfree_rcu_mightsleep(kmalloc(300, GFP_KERNEL));
	kvfree(kvmalloc(none, GFP_KERNEL));
	kfree(kmalloc(none, GFP_KERNEL));
}

static void alloc_twice(void)
{
	void *p = kmalloc(120, GFP_KERNEL), *q = kmalloc(120, GFP_KERNEL);

	kfree(p);
	kfree(q);
	kfree(p);
}

#define FAULT(name) { #name, name }
static const struct { const char *name; void (*fn)(void); } faults[] = {
	FAULT(sound), FAULT(sound_drop), FAULT(spin_other), FAULT(spin_then_mutex),
	FAULT(spin_sleep), FAULT(spin_order), FAULT(spin_hardirq),
	FAULT(spin_softirq), FAULT(mutex_other), FAULT(mutex_twice),
	FAULT(mutex_order), FAULT(mutex_circle), FAULT(mutex_long),
	FAULT(mutex_kept), FAULT(rwsem_other), FAULT(sem_twice),
	FAULT(ref_taken_at_zero), FAULT(ref_dropped_at_zero), FAULT(ref_leak),
	FAULT(refcount_at_zero), FAULT(irq_long), FAULT(irq_long_spin),
	FAULT(irq_forgotten), FAULT(irq_inside), FAULT(alloc_leak), FAULT(alloc_twice),
	FAULT(sound_alloc), FAULT(sound_unshared), FAULT(sound_tried),
	FAULT(mutex_order_tried), FAULT(spin_helper), FAULT(spin_instances),
	FAULT(mutex_instances), FAULT(sound_instances), FAULT(rwlock_order),
	FAULT(rwlock_hardirq), FAULT(sound_rwlock), FAULT(spin_then_alloc),
	FAULT(spin_then_copy), FAULT(irq_then_copy), FAULT(sound_atomic), FAULT(mutex_softirq),
	FAULT(spin_freed), FAULT(mutex_uninitialised), FAULT(rcu_slept), FAULT(bh_slept),
	FAULT(rcu_kept), FAULT(preempt_kept), FAULT(sound_parts), FAULT(mutex_kept_by_kthread),
	FAULT(mutex_kept_by_task), FAULT(vmalloc_leak), FAULT(pages_leak), FAULT(page_leak),
	FAULT(percpu_leak), FAULT(skb_leak), FAULT(clone_leak), FAULT(sound_memory),
	FAULT(irq_then_alloc),
	FAULT(preempt_then_alloc), FAULT(rcu_then_alloc), FAULT(softirq_alloc),
	FAULT(spin_then_pages), FAULT(preempt_then_copy), FAULT(rcu_then_copy),
	FAULT(rcu_then_mutex), FAULT(preempt_then_mutex), FAULT(spin_then_wait_event),
	FAULT(spin_then_get_user), FAULT(spin_then_cancel), FAULT(spin_then_resched),
	FAULT(sound_inatomic), FAULT(mutex_freed), FAULT(mutex_freed_by_other),
	FAULT(mutex_freed_kept),
	FAULT(sound_freed), FAULT(mutex_again), FAULT(spin_again), FAULT(mutex_deadlock),
	FAULT(bh_mismatch), FAULT(spin_kept), FAULT(sound_released),
#ifdef DEFINE_GUARD
	FAULT(guard_order), FAULT(guard_then_alloc), FAULT(sound_guards),
#endif
};

/* -- the file ----------------------------------------------------------------- */

static struct thing *thing_create(void)
{
	struct thing *thing = kzalloc(sizeof(*thing), GFP_KERNEL);

	if (!thing)
		return NULL;
	spin_lock_init(&thing->spin);
	mutex_init(&thing->mutex);
	init_rwsem(&thing->rwsem);
	sema_init(&thing->sem, 1);
	rwlock_init(&thing->rwlock);
	return thing;
}

static int run(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, name))
			continue;
		/* A new object for each: state of the last one must not affect it. */
		c = thing_create();
		if (!c)
			return -ENOMEM;
		faults[i].fn();
		return 0;
	}
	return -ENOENT;
}

/* "NAME" or "NAME COUNT". */
static ssize_t planted_write(struct file *f, const char __user *from, size_t len,
			     loff_t *pos)
{
	char text[64], name[32];
	int times = 1, err = 0;

	if (len >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';
	sscanf(text, "%31s %d", name, &times);
	while (times-- > 0 && !err)
		err = run(name);
	return err ?: len;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.write = planted_write,
};

static int __init planted_init(void)
{
	a = thing_create();
	b = thing_create();
	if (!a || !b)
		return -ENOMEM;
	file = debugfs_create_file("planted_locks", 0200, NULL, NULL, &fops);
	return 0;
}

static void __exit planted_exit(void)
{
	debugfs_remove(file);
	kfree(a);
	kfree(b);
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults with locks to order, for the tests of the safety kit");
