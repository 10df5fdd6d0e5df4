/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots for objects, in the direct map, between pages that fault.
 *
 * A chunk is 2 MiB, divided into slots of one class. A slot of class k is 2^k pages. Its first page
 * always faults, and so does the first page after it. An object lies in the last pages; unneeded
 * pages fault too, and in a free slot all do.
 *
 * A slot's page frames never change, and a page table entry is either empty or its original value.
 * So a CPU with a stale TLB may miss a fault, but never sees another page, and no TLB shootdown is
 * needed: everything works in any context, NMIs included.
 *
 * Free slots form a queue: the slot that was free for longest is used next.
 */
#ifndef KEFENCE_POOL_H
#define KEFENCE_POOL_H

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/stackdepot.h>
#include <linux/types.h>

/* 2 to 64 pages, the first of which faults. */
#define POOL_CLASS_MIN	1
#define POOL_CLASS_MAX	6
#define POOL_OBJECT_MAX	(((1UL << POOL_CLASS_MAX) - 1) << PAGE_SHIFT)

struct cache;
struct chunk;
struct client;
struct site;
struct task_struct;

enum slot_state {
	SLOT_FREE,
	SLOT_LIVE,
	SLOT_PENDING,		/* to be freed after a grace period */
};

/* An object's allocation or free: place, stack, process, time. */
struct slot_event {
	struct site *site;		/* its ->ip differs if its module was unloaded */
	unsigned long ip;
	depot_stack_handle_t stack;
	pid_t pid;
	unsigned long jiffies;
};

struct slot {
	struct slot *next;		/* in its class's queue, when free */
	struct chunk *chunk;
	unsigned long object;		/* the last object's address, when free */
	u32 size;
	int state;			/* enum slot_state */
	bool opened;			/* a fault opened pages in it or after it */
	bool leaked;			/* reported: its module was unloaded, or reloaded */
	struct client *client;
	struct cache *cache;		/* NULL: kmalloc() */
	struct slot_event born, died;
	struct rcu_head rcu;
	/* The task that overran the slot before this one, see fault.c. */
	const struct task_struct *runaway;
	unsigned long runaway_ip;
};

/* @budget in pages. -EINVAL: less than a chunk; -ENOMEM. */
int pool_init(unsigned long budget);
void pool_exit(void);

/* A free slot with room for @size bytes aligned to @align, or NULL. */
struct slot *pool_get(size_t size, gfp_t gfp);
void pool_put(struct slot *slot);

/* The slot that contains @addr, faulting pages included; NULL outside. */
struct slot *pool_slot_of(unsigned long addr);
/* The neighbouring slot in its chunk, or NULL. */
struct slot *pool_slot_before(const struct slot *slot);
struct slot *pool_slot_after(const struct slot *slot);

unsigned long pool_slot_start(const struct slot *slot);
unsigned long pool_slot_end(const struct slot *slot);
unsigned int pool_slot_pages(const struct slot *slot);

/* Makes pages from @addr up to @end fault, or accessible again. */
void pool_protect(const struct slot *slot, unsigned long addr, unsigned long end);
void pool_unprotect(const struct slot *slot, unsigned long addr,
		    unsigned long end, bool writable);
bool pool_is_open(const struct slot *slot, unsigned long addr, bool write);

/* The eighths of the slots for @size that are free; all, while the pool can grow. */
#define POOL_LEFT_ALL	8
unsigned int pool_left(size_t size);

/* Calls @fn for each slot, in any state, until it returns true. */
void pool_walk(bool (*fn)(struct slot *slot, void *data), void *data);

struct pool_stats {
	unsigned long budget;		/* pages */
	unsigned long pages;
	unsigned long slots[POOL_CLASS_MAX + 1];
	unsigned long free[POOL_CLASS_MAX + 1];
	unsigned long failed;		/* failed allocations of chunks */
};
void pool_stats(struct pool_stats *stats);

#endif /* KEFENCE_POOL_H */
