/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations and frees of the whole kernel, by its own tracepoints: callers need no
 * instrumentation. Exported by evmon.ko for the monitors, GPL only.
 */
#ifndef EVMON_MEMORY_H
#define EVMON_MEMORY_H

#include <linux/list.h>
#include <linux/types.h>

struct kmem_cache;

/* Callbacks run in any context; each may be NULL. */
struct memory_listener {
	/* A slab object was allocated by the caller @ip; @start may be NULL. */
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
/* On return no callback is under way. */
void memory_ignore(struct memory_listener *listener);

/* The size in bytes of the object passed to died(); 0 if unknown. */
size_t memory_size(const void *start, const struct kmem_cache *cache);

/* The nesting that the tracepoints themselves add to the allocating task's, in born(), pages(). */
struct memory_depth {
	unsigned int preempt, rcu;
};
const struct memory_depth *memory_depth(void);

#endif /* EVMON_MEMORY_H */
