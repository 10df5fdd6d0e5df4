/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations and frees of the whole kernel, by its own tracepoints: who calls need not
 * be instrumented.  Exported by evmon.ko for the monitors, GPL only.
 */
#ifndef EVMON_MEMORY_H
#define EVMON_MEMORY_H

#include <linux/list.h>
#include <linux/types.h>

struct kmem_cache;

/* All in any context; each may be NULL. */
struct memory_listener {
	/* An object of a slab, for @ip; @start may be NULL. */
	void (*born)(struct memory_listener *listener, unsigned long ip, const void *start,
		     size_t size, gfp_t flags);
	/* @cache is NULL for kfree(); @start may be NULL. */
	void (*died)(struct memory_listener *listener, unsigned long ip, const void *start,
		     const struct kmem_cache *cache);
	/* Pages. */
	void (*pages)(struct memory_listener *listener, gfp_t flags);
	struct list_head node;
};

int memory_listen(struct memory_listener *listener);
/* None of its calls is under way when this returns. */
void memory_ignore(struct memory_listener *listener);

/* The bytes of what died() has got; 0 if they are not known. */
size_t memory_size(const void *start, const struct kmem_cache *cache);

/* What the tracepoints themselves add to what the allocating task has, in born(), pages(). */
struct memory_depth {
	unsigned int preempt, rcu;
};
const struct memory_depth *memory_depth(void);

#endif /* EVMON_MEMORY_H */
