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

/* 1, hidden from the compiler: each fault depends on it. */
extern long off;
extern volatile u64 sink;
/* The writer's buffer, to copy to and from. */
extern char __user *user;

#define PLANT(name, kind, wrong, tools) void name(void);
#include "plants.def"
#undef PLANT

/* A heap object, and a statement that uses it. */
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

/* A heap object, and a statement that uses it after it was freed. */
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

/* 16 bytes, the last three of which are padding. */
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

/* other.c: functions of another file, opaque to the compiler. */
u8 other_read(const u8 *p);
void other_write(u8 *p);
void other_use(void *p);
u8 other_sum(const struct window *window);
void other_unref(void *p);
void *other_object(size_t size);
void other_mutex_both(struct mutex *first, struct mutex *second);
extern u8 other_table[13];

/*
 * main.c: a cache that is never merged, so that bad frees affect no other cache; its objects have
 * 189 bytes in slots of 192.
 */
#define OWN_SIZE 189
struct kmem_cache *own_cache(void);
void *own_object(void);

/* main.c: runs a function in another context and waits for it. */
void in_work_of(void (*fn)(void));
void in_softirq_of(void (*fn)(void));
void in_hardirq_of(void (*fn)(void));
void in_timer_of(void (*fn)(void));

/* Each plant's own locks. */
struct locks {
	spinlock_t spin;
	struct mutex mutex;
	struct rw_semaphore rwsem;
	struct semaphore sem;
	rwlock_t rwlock;
};

/* Initialised in each plant's own line, so that no two plants share a class. */
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
