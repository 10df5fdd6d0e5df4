// SPDX-License-Identifier: GPL-2.0
/* Allocations and frees of the whole kernel. */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "listeners.h"
#include "memory.h"

static struct listeners listeners;

#define tell(callback, ...) \
	listeners_call(&listeners, struct memory_listener, callback, __VA_ARGS__)

static void on_kmalloc(void *data, unsigned long ip, const void *start, size_t asked,
		       size_t got, gfp_t flags, int node)
{
	tell(born, ip, start, asked, flags);
}

static void on_cache_alloc(void *data, unsigned long ip, const void *start,
			   struct kmem_cache *cache, gfp_t flags, int node)
{
	tell(born, ip, start, kmem_cache_size(cache), flags);
}

static void on_kfree(void *data, unsigned long ip, const void *start)
{
	tell(died, ip, start, NULL);
}

static void on_cache_free(void *data, unsigned long ip, const void *start,
			  const struct kmem_cache *cache)
{
	tell(died, ip, start, cache);
}

static void on_pages(void *data, struct page *page, unsigned int order, gfp_t flags,
		     int migratetype)
{
	tell(pages, flags);
}

static struct tracepoint_probe probes[] = {
	{ "kmalloc", on_kmalloc },
	{ "kmem_cache_alloc", on_cache_alloc },
	{ "kfree", on_kfree },
	{ "kmem_cache_free", on_cache_free },
	{ "mm_page_alloc", on_pages },
};

/* -- what kernels call probes with: preemption off, or on ----------------------------- */

static struct task_struct *measuring;
static struct memory_depth depth;

static void measure_born(struct memory_listener *listener, unsigned long ip,
			 const void *start, size_t size, gfp_t flags)
{
	if (measuring == current)
		depth = (struct memory_depth){
			.preempt = preempt_count() & PREEMPT_MASK,
			.rcu = rcu_preempt_depth(),
		};
}

static struct memory_listener measurer = { .born = measure_born };

/* An allocation of its own. */
static void measure(void)
{
	measuring = current;
	list_add_rcu(&measurer.node, &listeners.list);
	kfree(kmalloc(sizeof(long), GFP_KERNEL));
	list_del_rcu(&measurer.node);
	synchronize_rcu();
}

DEFINE_LISTENERS(listeners, probes, measure);

const struct memory_depth *memory_depth(void)
{
	return &depth;
}
EXPORT_SYMBOL_GPL(memory_depth);

/* -- listeners ------------------------------------------------------------------------ */

/* 0 for memory that is neither slab nor compound: it belongs to another tool, such as Kefence. */
size_t memory_size(const void *start, const struct kmem_cache *cache)
{
	struct page *page;

	if (cache)
		return kmem_cache_size((struct kmem_cache *)cache);
	if (ZERO_OR_NULL_PTR(start) || !virt_addr_valid(start))
		return 0;
	page = virt_to_head_page(start);
	if (PageSlab(page))
		return ksize(start);
	return PageHead(page) ? page_size(page) : 0;
}
EXPORT_SYMBOL_GPL(memory_size);

int memory_listen(struct memory_listener *listener)
{
	return listeners_add(&listeners, &listener->node);
}
EXPORT_SYMBOL_GPL(memory_listen);

void memory_ignore(struct memory_listener *listener)
{
	listeners_remove(&listeners, &listener->node);
}
EXPORT_SYMBOL_GPL(memory_ignore);
