/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PLANTS_H
#define PLANTS_H

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/* 1, which compilers do not know: what is wrong is so by it. */
extern long off;
extern volatile u64 sink;
/* The writer's buffer: what is copied to and from. */
extern char __user *user;

#define PLANT(name, kind, wrong, tools) void name(void);
#include "plants.def"
#undef PLANT

/* An object on the heap, and what is done with it. */
#define HEAP(name, type, count, statement)				\
	void name(void)							\
	{								\
		type *p = kzalloc(sizeof(type) * (count), GFP_KERNEL);	\
									\
		if (!p)							\
			return;						\
		statement;						\
		kfree(p);						\
	}

/* The same, done when it is freed. */
#define FREED(name, type, count, statement)				\
	void name(void)							\
	{								\
		type *p = kzalloc(sizeof(type) * (count), GFP_KERNEL);	\
									\
		if (!p)							\
			return;						\
		kfree(p);						\
		statement;						\
	}

/* 16 bytes, of which the last three are the compiler's. */
struct record {
	u64 key;
	u32 flags;
	u8 tail;
};

struct table {
	u32 count;
	char name[20];
	u32 after;
};

struct counted {
	u32 count;
	u8 data[];
};

struct item {
	struct list_head link;
	u64 value;
};

struct window {
	u8 *start, *end;
};

/* other.c: another file's functions, which compilers do not see into. */
u8 other_read(const u8 *p);
void other_write(u8 *p);
void other_use(void *p);
u8 other_sum(const struct window *window);
void other_unref(void *p);
void *other_object(size_t size);
void other_mutex_both(struct mutex *first, struct mutex *second);
extern u8 other_table[13];

/*
 * main.c: a cache whose slots no other one has, so that what is freed wrongly comes to
 * nobody else; its objects have 189 bytes in slots of 192.
 */
#define OWN_SIZE 189
struct kmem_cache *own_cache(void);
void *own_object(void);

/* main.c: a function in another context, until its end. */
void in_work_of(void (*fn)(void));
void in_softirq_of(void (*fn)(void));
void in_hardirq_of(void (*fn)(void));
void in_timer_of(void (*fn)(void));

/* What locks are in, each plant's its own. */
struct locks {
	spinlock_t spin;
	struct mutex mutex;
	struct rw_semaphore rwsem;
	struct semaphore sem;
	rwlock_t rwlock;
};

/* Initialised in each plant's own line, so that no class is shared with another plant. */
#define LOCKS_OF(l)							\
	do {								\
		l = kzalloc(sizeof(*l), GFP_KERNEL);			\
		if (!l)							\
			return;						\
		spin_lock_init(&l->spin);				\
		mutex_init(&l->mutex);					\
		init_rwsem(&l->rwsem);					\
		sema_init(&l->sem, 1);					\
		rwlock_init(&l->rwlock);				\
	} while (0)

#endif
