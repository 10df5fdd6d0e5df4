/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults with locks, counters, interrupts and memory on request: write a fault's name to
 * /sys/kernel/debug/planted_locks. "sound" makes the usual operations right, other names that begin
 * so those of one kind.
 */
#ifndef PLANTED_LOCKS_H
#define PLANTED_LOCKS_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

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

/* @c is new for each fault, @a and @b are the module's. */
extern struct thing *a, *b, *c;
extern struct mutex static_mutex;
extern spinlock_t static_spin;
extern rwlock_t static_rwlock;

/* NULL: out of memory. */
struct thing *thing_create(void);

/* A kref's release function that does nothing. */
void released(struct kref *kref);

/* contexts.c: call @fn elsewhere, and wait until it has returned. */
void in_kthread(void (*fn)(void));
void in_hardirq_here(void (*fn)(void));
void in_softirq_here(void (*fn)(void));
/* The caller spins meanwhile: on another CPU or, if there is none, in an interrupt. */
void elsewhere_begin(void (*fn)(void));
void elsewhere_end(void);

#define FAULT(name)	void name(void);
#include "faults.def"
#undef FAULT

#endif /* PLANTED_LOCKS_H */
