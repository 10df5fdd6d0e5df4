/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before all else in every source file of an instrumented module
 * (module.mk: -include): the module's own operations on spinlocks, rwlocks, mutexes, rw-
 * semaphores, semaphores, reference counters, interrupts and parts that must not sleep
 * emit events, with the file, the line and what the source calls the object; so do calls
 * that may sleep, where none may. With EVMON_ATOMICS so do the usual operations on an atomic_t that
 * is a reference counter.
 *
 * Operations within inline functions of the headers below emit none, nor do conditional guards:
 * both acquisition and release are missing, so no report is false. On kernels with lockdep, which
 * does more, all of this is off.
 */
#ifndef EVMON_H
#define EVMON_H

#ifndef __ASSEMBLY__

#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "event.h"

/* printk.h defined its default because the file defines no pr_fmt of its own. */
#ifdef SAFETY_OWN_PR_FMT
#undef pr_fmt
#endif

#ifndef CONFIG_DEBUG_LOCK_ALLOC

#define EVMON_SITE(type_, name_, tried_, nested_)			\
	static struct evmon_site evmon_site_ = {			\
		.file = __FILE__, .name = (name_), .module = THIS_MODULE,\
		.line = __LINE__, .type = (type_), .tried = (tried_),	\
		.nested = (nested_),					\
	}
/* The end of a scope has no line number. */
#define EVMON_SITE_OF_FILE(type_, name_)				\
	static struct evmon_site evmon_site_ = {			\
		.file = __BASE_FILE__, .name = (name_), .module = THIS_MODULE,\
		.type = (type_),					\
	}

/* Call it only while evmon_on is set: it does not test it again. */
#define evmon_emit_now(type, object, name, value)			\
	evmon_emit_as(type, object, name, value, false, false)
#define evmon_emit_as(type, object, name, value, tried, nested) do {	\
	EVMON_SITE(type, name, tried, nested);				\
									\
	evmon_event(&evmon_site_, object, value);			\
} while (0)

/* Nanoseconds that the statement waited, at least 1. */
#define evmon_wait(statement) ({					\
	u64 evmon_start_ = ktime_get_mono_fast_ns();			\
									\
	statement;							\
	ktime_get_mono_fast_ns() - evmon_start_ + 1;			\
})

/* @try takes the lock if it is free, @take waits. */
#define evmon_take(type, object, name, try, take)			\
	evmon_take_as(type, object, name, try, take, false)
#define evmon_take_as(type, object, name, try, take, nested) do {	\
	if (evmon_is_on()) {						\
		EVMON_SITE(type, name, false, nested);			\
		u64 evmon_waited_ = 0;					\
									\
		if (!(try)) {						\
			evmon_waits(&evmon_site_, object);		\
			evmon_waited_ = evmon_wait(take);		\
		}							\
		evmon_event(&evmon_site_, object, evmon_waited_);	\
	} else {							\
		take;							\
	}								\
} while (0)

/* For operations that may give up waiting: @taken tests their result for success. */
#define evmon_take_or(type, object, name, take, taken) ({		\
	typeof(take) evmon_result_;					\
									\
	if (evmon_is_on()) {						\
		EVMON_SITE(type, name, false, false);			\
		u64 evmon_waited_;					\
									\
		evmon_waits(&evmon_site_, object);			\
		evmon_waited_ = evmon_wait(evmon_result_ = (take));	\
		if (taken(evmon_result_))				\
			evmon_event(&evmon_site_, object, evmon_waited_);\
	} else {							\
		evmon_result_ = (take);					\
	}								\
	evmon_result_;							\
})
/* For operations that do not wait. */
#define evmon_try(type, object, name, try, taken) ({			\
	typeof(try) evmon_result_ = (try);				\
									\
	if (evmon_is_on() && taken(evmon_result_))			\
		evmon_emit_as(type, object, name, 0, true, false);	\
	evmon_result_;							\
})
#define evmon_if_zero(result)	(!(result))
#define evmon_if_true(result)	(result)

/* The event comes before the release: the object may be freed after it. */
#define evmon_release(type, object, name, value, release) do {		\
	if (evmon_is_on())						\
		evmon_emit_now(type, object, name, value);		\
	release;							\
} while (0)

/* -- interrupts --------------------------------------------------------------- */

/* Functions capture the macros' original meaning before they are redefined. */
static __always_inline void evmon_irq_disable(void) { local_irq_disable(); }
static __always_inline void evmon_irq_enable(void) { local_irq_enable(); }
static __always_inline unsigned long evmon_irq_save(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}
static __always_inline void evmon_irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}

#define evmon_restored(flags)	(irqs_disabled_flags(flags) ? 0 : EVMON_ON_AGAIN)

#undef local_irq_disable
#undef local_irq_enable
#undef local_irq_save
#undef local_irq_restore
#define local_irq_disable() do {					\
	evmon_irq_disable();						\
	evmon_emit(EVMON_IRQ_OFF, NULL, NULL, 0);			\
} while (0)
#define local_irq_enable()						\
	evmon_release(EVMON_IRQ_ON, NULL, NULL, 0, evmon_irq_enable())
#define local_irq_save(flags) do {					\
	flags = evmon_irq_save();					\
	evmon_emit(EVMON_IRQ_OFF, NULL, NULL, 0);			\
} while (0)
#define local_irq_restore(flags)					\
	evmon_release(EVMON_IRQ_RESTORE, NULL, NULL, evmon_restored(flags),\
		      evmon_irq_restore(flags))

/* -- spinlocks ---------------------------------------------------------------- */

static __always_inline void evmon_spin_lock_init(spinlock_t *lock)
{
	spin_lock_init(lock);
}
static __always_inline unsigned long evmon_spin_lock_irqsave(spinlock_t *lock)
{
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	return flags;
}

#undef spin_lock_init
#undef spin_lock_irqsave
#undef spin_lock_irqsave_nested
#undef spin_lock_nested
#define spin_lock_init(lock) do {					\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_spin_lock_init(evmon_lock_);				\
	evmon_emit(EVMON_SPIN_INIT, evmon_lock_, #lock, 0);		\
} while (0)
#define evmon_spin_lock(lock, name, nested) do {			\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_take_as(EVMON_SPIN_ACQUIRE, evmon_lock_, name,		\
		      (spin_trylock)(evmon_lock_), (spin_lock)(evmon_lock_), nested);\
} while (0)
#define spin_lock(lock)	evmon_spin_lock(lock, #lock, false)
#define spin_lock_nested(lock, subclass) do {				\
	(void)(subclass);						\
	evmon_spin_lock(lock, #lock, true);				\
} while (0)
#define spin_lock_irq(lock) do {					\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_take(EVMON_SPIN_ACQUIRE_IRQ, evmon_lock_, #lock,		\
		   (spin_trylock_irq)(evmon_lock_), (spin_lock_irq)(evmon_lock_));\
} while (0)
/* Interrupts are off while it waits: the waiting counts as time with interrupts off. */
#define spin_lock_irqsave(lock, flags) do {				\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	if (evmon_is_on()) {						\
		EVMON_SITE(EVMON_SPIN_ACQUIRE_IRQ, #lock, false, false);	\
		u64 evmon_waited_ = 0;					\
									\
		flags = evmon_irq_save();				\
		if (!(spin_trylock)(evmon_lock_)) {			\
			evmon_waits(&evmon_site_, evmon_lock_);		\
			evmon_waited_ = evmon_wait((spin_lock)(evmon_lock_));\
		}							\
		evmon_event(&evmon_site_, evmon_lock_, evmon_waited_);	\
	} else {							\
		flags = evmon_spin_lock_irqsave(evmon_lock_);		\
	}								\
} while (0)
#define spin_lock_irqsave_nested(lock, flags, subclass)			\
	spin_lock_irqsave(lock, flags)
#define spin_trylock(lock) ({						\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_try(EVMON_SPIN_ACQUIRE, evmon_lock_, #lock,		\
		  (spin_trylock)(evmon_lock_), evmon_if_true);		\
})
#define spin_unlock(lock) do {						\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_release(EVMON_SPIN_RELEASE, evmon_lock_, #lock, 0,	\
		      (spin_unlock)(evmon_lock_));			\
} while (0)
#define spin_unlock_irq(lock) do {					\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_release(EVMON_SPIN_RELEASE_IRQ, evmon_lock_, #lock,	\
		      EVMON_ON_AGAIN | EVMON_REGARDLESS,		\
		      (spin_unlock_irq)(evmon_lock_));			\
} while (0)
#define spin_unlock_irqrestore(lock, flags) do {			\
	spinlock_t *evmon_lock_ = (lock);				\
									\
	evmon_release(EVMON_SPIN_RELEASE_IRQ, evmon_lock_, #lock,	\
		      evmon_restored(flags),				\
		      (spin_unlock_irqrestore)(evmon_lock_, flags));	\
} while (0)

/* -- rwlocks ------------------------------------------------------------------ */

static __always_inline void evmon_rwlock_init(rwlock_t *lock)
{
	rwlock_init(lock);
}
/* The parentheses prevent expansion: the trylocks are macros. */
static __always_inline int evmon_read_trylock(rwlock_t *lock) { return read_trylock(lock); }
static __always_inline int evmon_write_trylock(rwlock_t *lock) { return write_trylock(lock); }
static __always_inline void evmon_read_lock(rwlock_t *lock) { read_lock(lock); }
static __always_inline void evmon_write_lock(rwlock_t *lock) { write_lock(lock); }
static __always_inline void evmon_read_unlock(rwlock_t *lock) { read_unlock(lock); }
static __always_inline void evmon_write_unlock(rwlock_t *lock) { write_unlock(lock); }

#undef rwlock_init
#undef read_trylock
#undef write_trylock
#undef read_lock
#undef write_lock
#undef read_unlock
#undef write_unlock
#define rwlock_init(lock) do {						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_rwlock_init(evmon_lock_);					\
	evmon_emit(EVMON_RWLOCK_INIT, evmon_lock_, #lock, 0);		\
} while (0)
#define read_lock(lock) do {						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_take(EVMON_RWLOCK_READ, evmon_lock_, #lock,		\
		   evmon_read_trylock(evmon_lock_), evmon_read_lock(evmon_lock_));\
} while (0)
#define write_lock(lock) do {						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_take(EVMON_RWLOCK_WRITE, evmon_lock_, #lock,		\
		   evmon_write_trylock(evmon_lock_), evmon_write_lock(evmon_lock_));\
} while (0)
#define read_trylock(lock) ({						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_try(EVMON_RWLOCK_READ, evmon_lock_, #lock,		\
		  evmon_read_trylock(evmon_lock_), evmon_if_true);	\
})
#define write_trylock(lock) ({						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_try(EVMON_RWLOCK_WRITE, evmon_lock_, #lock,		\
		  evmon_write_trylock(evmon_lock_), evmon_if_true);	\
})
#define read_unlock(lock) do {						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_release(EVMON_RWLOCK_READ_RELEASE, evmon_lock_, #lock, 0,	\
		      evmon_read_unlock(evmon_lock_));			\
} while (0)
#define write_unlock(lock) do {						\
	rwlock_t *evmon_lock_ = (lock);					\
									\
	evmon_release(EVMON_RWLOCK_WRITE_RELEASE, evmon_lock_, #lock, 0,\
		      evmon_write_unlock(evmon_lock_));			\
} while (0)

/* On PREEMPT_RT these locks sleep, and do not change interrupts or softirqs. */
#ifndef CONFIG_PREEMPT_RT
#define spin_lock_bh(lock)			do { local_bh_disable(); spin_lock(lock); } while (0)
#define spin_unlock_bh(lock)			do { spin_unlock(lock); local_bh_enable(); } while (0)
#undef read_lock_irqsave
#undef write_lock_irqsave
#undef read_unlock_irqrestore
#undef write_unlock_irqrestore
#undef read_lock_irq
#undef write_lock_irq
#undef read_unlock_irq
#undef write_unlock_irq
#undef read_lock_bh
#undef write_lock_bh
#undef read_unlock_bh
#undef write_unlock_bh
#define read_lock_irqsave(lock, flags)		do { local_irq_save(flags); read_lock(lock); } while (0)
#define write_lock_irqsave(lock, flags)		do { local_irq_save(flags); write_lock(lock); } while (0)
#define read_unlock_irqrestore(lock, flags)	do { read_unlock(lock); local_irq_restore(flags); } while (0)
#define write_unlock_irqrestore(lock, flags)	do { write_unlock(lock); local_irq_restore(flags); } while (0)
#define read_lock_irq(lock)			do { local_irq_disable(); read_lock(lock); } while (0)
#define write_lock_irq(lock)			do { local_irq_disable(); write_lock(lock); } while (0)
#define read_unlock_irq(lock)			do { read_unlock(lock); local_irq_enable(); } while (0)
#define write_unlock_irq(lock)			do { write_unlock(lock); local_irq_enable(); } while (0)
#define read_lock_bh(lock)			do { local_bh_disable(); read_lock(lock); } while (0)
#define write_lock_bh(lock)			do { local_bh_disable(); write_lock(lock); } while (0)
#define read_unlock_bh(lock)			do { read_unlock(lock); local_bh_enable(); } while (0)
#define write_unlock_bh(lock)			do { write_unlock(lock); local_bh_enable(); } while (0)
#endif

/* -- parts that must not sleep ---------------------------------------------------- */

static __always_inline void evmon_preempt_disable(void) { preempt_disable(); }
static __always_inline void evmon_preempt_enable(void) { preempt_enable(); }

/* The object of the event of each kind of section. */
#define EVMON_RCU	((void *)1)
#define EVMON_BH	((void *)2)
#define EVMON_PREEMPT	((void *)3)

#undef preempt_disable
#undef preempt_enable
#define rcu_read_lock() do {						\
	(rcu_read_lock)();						\
	evmon_emit(EVMON_RCU_BEGIN, EVMON_RCU, "rcu_read_lock", 0);	\
} while (0)
#define rcu_read_unlock()						\
	evmon_release(EVMON_RCU_END, EVMON_RCU, "rcu_read_unlock",	\
		      !IS_ENABLED(CONFIG_PREEMPT_RCU) || rcu_preempt_depth(),\
		      (rcu_read_unlock)())
#define local_bh_disable() do {						\
	(local_bh_disable)();						\
	evmon_emit(EVMON_BH_BEGIN, EVMON_BH, "local_bh_disable", 0);	\
} while (0)
#define local_bh_enable()						\
	evmon_release(EVMON_BH_END, EVMON_BH, "local_bh_enable",	\
		      softirq_count(), (local_bh_enable)())
#define preempt_disable() do {						\
	evmon_preempt_disable();					\
	evmon_emit(EVMON_PREEMPT_BEGIN, EVMON_PREEMPT, "preempt_disable", 0);\
} while (0)
#define preempt_enable()						\
	evmon_release(EVMON_PREEMPT_END, EVMON_PREEMPT, "preempt_enable",\
		      !IS_ENABLED(CONFIG_PREEMPT_COUNT) || preempt_count() & PREEMPT_MASK,\
		      evmon_preempt_enable())

/* -- guards --------------------------------------------------------------------------- */

#ifdef DEFINE_GUARD

#define evmon_guard(class, type, object, name, ...) ({			\
	class_##class##_t evmon_guard_ = (class_##class##_constructor)(__VA_ARGS__);\
									\
	evmon_emit(type, object, name, 0);				\
	evmon_guard_;							\
})
#define evmon_guard_lock(class, type, lock, name) ({			\
	typeof(lock) evmon_lock_ = (lock);				\
									\
	evmon_guard(class, type, evmon_lock_, name, evmon_lock_);	\
})
#define EVMON_UNGUARD(class, type, object, value)			\
	static __always_inline void evmon_##class##_unguard(class_##class##_t *guard)\
	{								\
		EVMON_SITE_OF_FILE(type, #class);			\
									\
		if (evmon_is_on())					\
			evmon_event(&evmon_site_, object, value);	\
		class_##class##_destructor(guard);			\
	}
/* A guard is a pointer to its lock, or a structure that begins with that pointer. */
#define EVMON_UNGUARD_LOCK(class, type, value)				\
	EVMON_UNGUARD(class, type, *(void **)guard, value)

EVMON_UNGUARD_LOCK(mutex, EVMON_MUTEX_RELEASE, 0)
EVMON_UNGUARD_LOCK(rwsem_read, EVMON_RWSEM_READ_RELEASE, 0)
EVMON_UNGUARD_LOCK(rwsem_write, EVMON_RWSEM_WRITE_RELEASE, 0)
EVMON_UNGUARD_LOCK(spinlock, EVMON_SPIN_RELEASE, 0)
EVMON_UNGUARD_LOCK(spinlock_irq, EVMON_SPIN_RELEASE_IRQ, EVMON_ON_AGAIN | EVMON_REGARDLESS)
EVMON_UNGUARD_LOCK(spinlock_irqsave, EVMON_SPIN_RELEASE_IRQ, evmon_restored(guard->flags))
EVMON_UNGUARD(rcu, EVMON_RCU_END, EVMON_RCU, 1)
EVMON_UNGUARD(preempt, EVMON_PREEMPT_END, EVMON_PREEMPT, 1)
EVMON_UNGUARD(irq, EVMON_IRQ_ON, NULL, 0)
EVMON_UNGUARD(irqsave, EVMON_IRQ_RESTORE, NULL, evmon_restored(guard->flags))

#undef class_mutex_constructor
#undef class_mutex_destructor
#define class_mutex_constructor(lock)	evmon_guard_lock(mutex, EVMON_MUTEX_ACQUIRE, lock, #lock)
#define class_mutex_destructor		evmon_mutex_unguard
#undef class_rwsem_read_constructor
#undef class_rwsem_read_destructor
#define class_rwsem_read_constructor(lock)	evmon_guard_lock(rwsem_read, EVMON_RWSEM_READ, lock, #lock)
#define class_rwsem_read_destructor		evmon_rwsem_read_unguard
#undef class_rwsem_write_constructor
#undef class_rwsem_write_destructor
#define class_rwsem_write_constructor(lock)	evmon_guard_lock(rwsem_write, EVMON_RWSEM_WRITE, lock, #lock)
#define class_rwsem_write_destructor		evmon_rwsem_write_unguard
#undef class_spinlock_constructor
#undef class_spinlock_destructor
#define class_spinlock_constructor(lock)	evmon_guard_lock(spinlock, EVMON_SPIN_ACQUIRE, lock, #lock)
#define class_spinlock_destructor		evmon_spinlock_unguard
#undef class_spinlock_irq_constructor
#undef class_spinlock_irq_destructor
#define class_spinlock_irq_constructor(lock)	evmon_guard_lock(spinlock_irq, EVMON_SPIN_ACQUIRE_IRQ, lock, #lock)
#define class_spinlock_irq_destructor		evmon_spinlock_irq_unguard
#undef class_spinlock_irqsave_constructor
#undef class_spinlock_irqsave_destructor
#define class_spinlock_irqsave_constructor(lock)	evmon_guard_lock(spinlock_irqsave, EVMON_SPIN_ACQUIRE_IRQ, lock, #lock)
#define class_spinlock_irqsave_destructor		evmon_spinlock_irqsave_unguard
#undef class_rcu_constructor
#undef class_rcu_destructor
#define class_rcu_constructor()		evmon_guard(rcu, EVMON_RCU_BEGIN, EVMON_RCU, "rcu")
#define class_rcu_destructor		evmon_rcu_unguard
#undef class_preempt_constructor
#undef class_preempt_destructor
#define class_preempt_constructor()		evmon_guard(preempt, EVMON_PREEMPT_BEGIN, EVMON_PREEMPT, "preempt")
#define class_preempt_destructor		evmon_preempt_unguard
#undef class_irq_constructor
#undef class_irq_destructor
#define class_irq_constructor()		evmon_guard(irq, EVMON_IRQ_OFF, NULL, "irq")
#define class_irq_destructor		evmon_irq_unguard
#undef class_irqsave_constructor
#undef class_irqsave_destructor
#define class_irqsave_constructor()		evmon_guard(irqsave, EVMON_IRQ_OFF, NULL, "irqsave")
#define class_irqsave_destructor		evmon_irqsave_unguard

#endif /* DEFINE_GUARD */

/* -- calls that may sleep, where none may ------------------------------------------ */

#define evmon_may_sleep(name)						\
	(evmon_is_on() && (preempt_count() || irqs_disabled() || rcu_preempt_depth()) &&\
	 !pagefault_disabled() ?					\
	 ({ evmon_emit_now(EVMON_MAY_SLEEP, NULL, name, 0); 0; }) : 0)
#define evmon_sleeper(function, ...)					\
	(evmon_may_sleep(#function), (function)(__VA_ARGS__))

/* Macros that wait emit an event themselves: wait_event(), get_user(). */
#undef might_sleep
#undef might_fault
#undef cond_resched
#undef flush_workqueue
#define might_sleep()	do { evmon_may_sleep("might_sleep"); might_resched(); } while (0)
#define might_fault()	((void)evmon_may_sleep("might_fault"))
#define cond_resched()	(evmon_may_sleep("cond_resched"), _cond_resched())

#define copy_from_user(...)	evmon_sleeper(copy_from_user, __VA_ARGS__)
#define copy_to_user(...)	evmon_sleeper(copy_to_user, __VA_ARGS__)
#define clear_user(...)	evmon_sleeper(clear_user, __VA_ARGS__)
#define strncpy_from_user(...)	evmon_sleeper(strncpy_from_user, __VA_ARGS__)
#define msleep(...)	evmon_sleeper(msleep, __VA_ARGS__)
#define msleep_interruptible(...)	evmon_sleeper(msleep_interruptible, __VA_ARGS__)
#define usleep_range(...)	evmon_sleeper(usleep_range, __VA_ARGS__)
#define wait_for_completion(...)	evmon_sleeper(wait_for_completion, __VA_ARGS__)
#define wait_for_completion_timeout(...)\
	evmon_sleeper(wait_for_completion_timeout, __VA_ARGS__)
#define wait_for_completion_interruptible(...)\
	evmon_sleeper(wait_for_completion_interruptible, __VA_ARGS__)
#define wait_for_completion_killable(...)\
	evmon_sleeper(wait_for_completion_killable, __VA_ARGS__)
#define schedule_timeout_interruptible(...)\
	evmon_sleeper(schedule_timeout_interruptible, __VA_ARGS__)
#define schedule_timeout_uninterruptible(...)\
	evmon_sleeper(schedule_timeout_uninterruptible, __VA_ARGS__)
#define synchronize_rcu()	evmon_sleeper(synchronize_rcu)
#define synchronize_srcu(...)	evmon_sleeper(synchronize_srcu, __VA_ARGS__)
#define flush_work(...)	evmon_sleeper(flush_work, __VA_ARGS__)
#define flush_delayed_work(...)	evmon_sleeper(flush_delayed_work, __VA_ARGS__)
#define flush_workqueue(wq)	(evmon_may_sleep("flush_workqueue"), __flush_workqueue(wq))
#define cancel_work_sync(...)	evmon_sleeper(cancel_work_sync, __VA_ARGS__)
#define cancel_delayed_work_sync(...)\
	evmon_sleeper(cancel_delayed_work_sync, __VA_ARGS__)
#define kthread_stop(...)	evmon_sleeper(kthread_stop, __VA_ARGS__)

/* -- mutexes ------------------------------------------------------------------ */

static __always_inline void evmon_mutex_init(struct mutex *lock)
{
	mutex_init(lock);
}

#undef mutex_init
#undef mutex_lock_nested
#undef mutex_lock_interruptible_nested
#undef mutex_lock_killable_nested
#define mutex_init(lock) do {						\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_mutex_init(evmon_lock_);					\
	evmon_emit(EVMON_MUTEX_INIT, evmon_lock_, #lock, 0);		\
} while (0)
#define evmon_mutex_lock(lock, name, nested) do {			\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_take_as(EVMON_MUTEX_ACQUIRE, evmon_lock_, name,		\
		      (mutex_trylock)(evmon_lock_), (mutex_lock)(evmon_lock_), nested);\
} while (0)
#define mutex_lock(lock)	evmon_mutex_lock(lock, #lock, false)
#define mutex_lock_nested(lock, subclass) do {				\
	(void)(subclass);						\
	evmon_mutex_lock(lock, #lock, true);				\
} while (0)
#define mutex_lock_interruptible(lock) ({				\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_take_or(EVMON_MUTEX_ACQUIRE, evmon_lock_, #lock,		\
		      (mutex_lock_interruptible)(evmon_lock_), evmon_if_zero);\
})
#define mutex_lock_interruptible_nested(lock, subclass)			\
	mutex_lock_interruptible(lock)
#define mutex_lock_killable(lock) ({					\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_take_or(EVMON_MUTEX_ACQUIRE, evmon_lock_, #lock,		\
		      (mutex_lock_killable)(evmon_lock_), evmon_if_zero);\
})
#define mutex_lock_killable_nested(lock, subclass)			\
	mutex_lock_killable(lock)
#define mutex_trylock(lock) ({						\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_try(EVMON_MUTEX_ACQUIRE, evmon_lock_, #lock,		\
		  (mutex_trylock)(evmon_lock_), evmon_if_true);		\
})
#define mutex_unlock(lock) do {						\
	struct mutex *evmon_lock_ = (lock);				\
									\
	evmon_release(EVMON_MUTEX_RELEASE, evmon_lock_, #lock, 0,	\
		      (mutex_unlock)(evmon_lock_));			\
} while (0)

/* -- rw-semaphores ------------------------------------------------------------ */

static __always_inline void evmon_init_rwsem(struct rw_semaphore *sem)
{
	init_rwsem(sem);
}

#undef init_rwsem
#undef down_read_nested
#undef down_write_nested
#define init_rwsem(sem) do {						\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_init_rwsem(evmon_sem_);					\
	evmon_emit(EVMON_RWSEM_INIT, evmon_sem_, #sem, 0);		\
} while (0)
#define down_read(sem) do {						\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_take(EVMON_RWSEM_READ, evmon_sem_, #sem,			\
		   (down_read_trylock)(evmon_sem_), (down_read)(evmon_sem_));\
} while (0)
#define down_read_nested(sem, subclass)	down_read(sem)
#define evmon_down_write(sem, name, nested) do {			\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_take_as(EVMON_RWSEM_WRITE, evmon_sem_, name,		\
		      (down_write_trylock)(evmon_sem_), (down_write)(evmon_sem_), nested);\
} while (0)
#define down_write(sem)	evmon_down_write(sem, #sem, false)
#define down_write_nested(sem, subclass) do {				\
	(void)(subclass);						\
	evmon_down_write(sem, #sem, true);				\
} while (0)
#define down_read_trylock(sem) ({					\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_try(EVMON_RWSEM_READ, evmon_sem_, #sem,			\
		  (down_read_trylock)(evmon_sem_), evmon_if_true);	\
})
#define down_write_trylock(sem) ({					\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_try(EVMON_RWSEM_WRITE, evmon_sem_, #sem,			\
		  (down_write_trylock)(evmon_sem_), evmon_if_true);	\
})
#define down_read_killable(sem) ({					\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_take_or(EVMON_RWSEM_READ, evmon_sem_, #sem,		\
		      (down_read_killable)(evmon_sem_), evmon_if_zero);	\
})
#define down_write_killable(sem) ({					\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_take_or(EVMON_RWSEM_WRITE, evmon_sem_, #sem,		\
		      (down_write_killable)(evmon_sem_), evmon_if_zero);\
})
#define up_read(sem) do {						\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_release(EVMON_RWSEM_READ_RELEASE, evmon_sem_, #sem, 0,	\
		      (up_read)(evmon_sem_));				\
} while (0)
#define up_write(sem) do {						\
	struct rw_semaphore *evmon_sem_ = (sem);			\
									\
	evmon_release(EVMON_RWSEM_WRITE_RELEASE, evmon_sem_, #sem, 0,	\
		      (up_write)(evmon_sem_));				\
} while (0)

/* -- semaphores --------------------------------------------------------------- */

#define sema_init(sem, count) do {					\
	struct semaphore *evmon_sem_ = (sem);				\
	int evmon_count_ = (count);					\
									\
	(sema_init)(evmon_sem_, evmon_count_);				\
	evmon_emit(EVMON_SEM_INIT, evmon_sem_, #sem, evmon_count_);	\
} while (0)
/* down_trylock() returns 0 if the semaphore was taken. */
#define down(sem) do {							\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_take(EVMON_SEM_DOWN, evmon_sem_, #sem,			\
		   !(down_trylock)(evmon_sem_), (down)(evmon_sem_));	\
} while (0)
#define down_interruptible(sem) ({					\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_take_or(EVMON_SEM_DOWN, evmon_sem_, #sem,			\
		      (down_interruptible)(evmon_sem_), evmon_if_zero);	\
})
#define down_killable(sem) ({						\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_take_or(EVMON_SEM_DOWN, evmon_sem_, #sem,			\
		      (down_killable)(evmon_sem_), evmon_if_zero);	\
})
#define down_timeout(sem, jiffies_) ({					\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_take_or(EVMON_SEM_DOWN, evmon_sem_, #sem,			\
		      (down_timeout)(evmon_sem_, jiffies_), evmon_if_zero);\
})
#define down_trylock(sem) ({						\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_try(EVMON_SEM_DOWN, evmon_sem_, #sem,			\
		  (down_trylock)(evmon_sem_), evmon_if_zero);		\
})
#define up(sem) do {							\
	struct semaphore *evmon_sem_ = (sem);				\
									\
	evmon_release(EVMON_SEM_UP, evmon_sem_, #sem, 0, (up)(evmon_sem_));\
} while (0)

/* -- reference counters ------------------------------------------------------- */

/* Operations that return the value before, the one that decides. */
#define refcount_set(r, n) do {						\
	refcount_t *evmon_r_ = (r);					\
	int evmon_n_ = (n);						\
									\
	(refcount_set)(evmon_r_, evmon_n_);				\
	evmon_emit(EVMON_REF_INIT, evmon_r_, #r, evmon_n_);		\
} while (0)
#define refcount_inc(r) do {						\
	refcount_t *evmon_r_ = (r);					\
	int evmon_was_;							\
									\
	__refcount_inc(evmon_r_, &evmon_was_);				\
	evmon_emit(EVMON_REF_INC, evmon_r_, #r, evmon_was_);		\
} while (0)
#define refcount_inc_not_zero(r) ({					\
	refcount_t *evmon_r_ = (r);					\
	int evmon_was_;							\
	bool evmon_done_ = __refcount_inc_not_zero(evmon_r_, &evmon_was_);\
									\
	if (evmon_done_)						\
		evmon_emit(EVMON_REF_INC, evmon_r_, #r, evmon_was_);	\
	evmon_done_;							\
})
#define refcount_dec(r) do {						\
	refcount_t *evmon_r_ = (r);					\
	int evmon_was_;							\
									\
	__refcount_dec(evmon_r_, &evmon_was_);				\
	evmon_emit(EVMON_REF_DEC, evmon_r_, #r, evmon_was_);		\
} while (0)
#define refcount_dec_and_test(r) ({					\
	refcount_t *evmon_r_ = (r);					\
	int evmon_was_;							\
	bool evmon_zero_ = __refcount_dec_and_test(evmon_r_, &evmon_was_);\
									\
	evmon_emit(EVMON_REF_DEC, evmon_r_, #r, evmon_was_);		\
	evmon_zero_;							\
})

#define kref_init(k) do {						\
	struct kref *evmon_k_ = (k);					\
									\
	(kref_init)(evmon_k_);						\
	evmon_emit(EVMON_REF_INIT, &evmon_k_->refcount, #k, 1);		\
} while (0)
#define kref_get(k) do {						\
	struct kref *evmon_k_ = (k);					\
	int evmon_was_;							\
									\
	__refcount_inc(&evmon_k_->refcount, &evmon_was_);		\
	evmon_emit(EVMON_REF_INC, &evmon_k_->refcount, #k, evmon_was_);	\
} while (0)
#define kref_get_unless_zero(k) ({					\
	struct kref *evmon_k_ = (k);					\
	int evmon_was_;							\
	bool evmon_done_ = __refcount_inc_not_zero(&evmon_k_->refcount,	\
						   &evmon_was_);	\
									\
	if (evmon_done_)						\
		evmon_emit(EVMON_REF_INC, &evmon_k_->refcount, #k, evmon_was_);\
	evmon_done_;							\
})
#define kref_put(k, release) ({						\
	struct kref *evmon_k_ = (k);					\
	int evmon_was_;							\
	bool evmon_zero_ = __refcount_dec_and_test(&evmon_k_->refcount,	\
						   &evmon_was_);	\
									\
	evmon_emit(EVMON_REF_DEC, &evmon_k_->refcount, #k, evmon_was_);	\
	if (evmon_zero_)						\
		release(evmon_k_);					\
	(int)evmon_zero_;						\
})

#ifdef EVMON_ATOMICS
#define atomic_inc(v) do {						\
	atomic_t *evmon_v_ = (v);					\
	int evmon_was_ = atomic_fetch_inc(evmon_v_);			\
									\
	evmon_emit(EVMON_REF_INC, evmon_v_, #v, evmon_was_);		\
} while (0)
#define atomic_dec(v) do {						\
	atomic_t *evmon_v_ = (v);					\
	int evmon_was_ = atomic_fetch_dec(evmon_v_);			\
									\
	evmon_emit(EVMON_REF_DEC, evmon_v_, #v, evmon_was_);		\
} while (0)
#define atomic_dec_and_test(v) ({					\
	atomic_t *evmon_v_ = (v);					\
	int evmon_was_ = atomic_fetch_dec(evmon_v_);			\
									\
	evmon_emit(EVMON_REF_DEC, evmon_v_, #v, evmon_was_);		\
	evmon_was_ == 1;						\
})
#define atomic_inc_not_zero(v) ({					\
	atomic_t *evmon_v_ = (v);					\
	int evmon_was_ = atomic_fetch_add_unless(evmon_v_, 1, 0);	\
									\
	if (evmon_was_)							\
		evmon_emit(EVMON_REF_INC, evmon_v_, #v, evmon_was_);	\
	evmon_was_ != 0;						\
})
#endif /* EVMON_ATOMICS */

/* -- functions that take a lock when a counter reaches zero --------------------- */

#define atomic_dec_and_mutex_lock(v, lock) ({				\
	struct mutex *evmon_lock_ = (lock);				\
	bool evmon_zero_ = (atomic_dec_and_mutex_lock)(v, evmon_lock_);	\
									\
	if (evmon_zero_)						\
		evmon_emit(EVMON_MUTEX_ACQUIRE, evmon_lock_, #lock, 0);	\
	evmon_zero_;							\
})

/* Unless the counter reaches zero, its previous value is unknown: at least 2. */
#define evmon_dec_and_lock(r, type, lock, name, call) ({		\
	refcount_t *evmon_r_ = (r);					\
	unsigned int evmon_was_ = max(refcount_read(evmon_r_), 2U);	\
	bool evmon_zero_ = (call);					\
									\
	evmon_emit(EVMON_REF_DEC, evmon_r_, #r, evmon_zero_ ? 1 : evmon_was_);\
	if (evmon_zero_)						\
		evmon_emit(type, lock, name, 0);			\
	evmon_zero_;							\
})
#define refcount_dec_and_mutex_lock(r, lock)				\
	evmon_dec_and_lock(r, EVMON_MUTEX_ACQUIRE, lock, #lock,		\
			   (refcount_dec_and_mutex_lock)(evmon_r_, lock))
#define refcount_dec_and_lock(r, lock)					\
	evmon_dec_and_lock(r, EVMON_SPIN_ACQUIRE, lock, #lock,		\
			   (refcount_dec_and_lock)(evmon_r_, lock))
#define refcount_dec_and_lock_irqsave(r, lock, flags)			\
	evmon_dec_and_lock(r, EVMON_SPIN_ACQUIRE_IRQ, lock, #lock,	\
			   (refcount_dec_and_lock_irqsave)(evmon_r_, lock, flags))
#define kref_put_mutex(k, release, lock) ({				\
	struct kref *evmon_k_ = (k);					\
	bool evmon_last_ = refcount_dec_and_mutex_lock(&evmon_k_->refcount, lock);\
									\
	if (evmon_last_)						\
		release(evmon_k_);					\
	(int)evmon_last_;						\
})
#define kref_put_lock(k, release, lock) ({				\
	struct kref *evmon_k_ = (k);					\
	bool evmon_last_ = refcount_dec_and_lock(&evmon_k_->refcount, lock);\
									\
	if (evmon_last_)						\
		release(evmon_k_);					\
	(int)evmon_last_;						\
})

#endif /* !CONFIG_DEBUG_LOCK_ALLOC */
#endif /* !__ASSEMBLY__ */
#endif /* EVMON_H */
