// SPDX-License-Identifier: GPL-2.0
/*
 * A tree of disjoint ranges, changed under a lock and searched without one: a latch tree is two
 * trees, of which one is consistent at any time.
 */
#include <linux/atomic.h>
#include <linux/kallsyms.h>
#include <linux/rbtree_latch.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "region.h"

struct region {
	struct latch_tree_node node;
	unsigned long start, end;
	unsigned long alive;		/* unique number, 0: removed */
	const char *where;
	struct rcu_head rcu;
	char name[];
};

/* The range to search for: finds a region that overlaps it. */
struct span {
	unsigned long start, end;
};

static struct latch_tree_root regions;
static DEFINE_SPINLOCK(regions_lock);
static atomic64_t number;
static atomic_long_t bytes;		/* that regions take */

static __always_inline bool starts_before(struct latch_tree_node *a, struct latch_tree_node *b)
{
	return container_of(a, struct region, node)->start <
	       container_of(b, struct region, node)->start;
}

static __always_inline int compare(void *key, struct latch_tree_node *node)
{
	const struct region *region = container_of(node, struct region, node);
	const struct span *span = key;

	if (span->end <= region->start)
		return -1;
	return span->start >= region->end;
}

static const struct latch_tree_ops operations = { .less = starts_before, .comp = compare };

/* Finds a region that overlaps the range; call it under RCU. */
static struct region *find_any(unsigned long start, unsigned long end)
{
	struct span span = { start, end };
	struct latch_tree_node *node = latch_tree_find(&span, &regions, &operations);

	return node ? container_of(node, struct region, node) : NULL;
}

static struct region *new_region(unsigned long start, unsigned long size, const char *name,
				 const char *where)
{
	size_t length = strlen(name) + 1;
	struct region *region = kmalloc(sizeof(*region) + length, GFP_ATOMIC | __GFP_NOWARN);

	if (!region)
		return NULL;
	region->start = start;
	region->end = start + size;
	region->alive = atomic64_inc_return(&number) << 8 | 1;
	region->where = where;
	memcpy(region->name, name, length);
	atomic_long_add(sizeof(*region) + length, &bytes);
	return region;
}

/* Call it with regions_lock held. */
static void remove(unsigned long start, unsigned long end)
{
	struct region *region;

	while ((region = find_any(start, end))) {
		latch_tree_erase(&region->node, &regions, &operations);
		WRITE_ONCE(region->alive, 0);
		atomic_long_sub(sizeof(*region) + strlen(region->name) + 1, &bytes);
		kfree_rcu(region, rcu);
	}
}

void kgcc_region_remove(unsigned long start, unsigned long end)
{
	unsigned long flags;

	spin_lock_irqsave(&regions_lock, flags);
	remove(start, end);
	spin_unlock_irqrestore(&regions_lock, flags);
}

void kgcc_region_add(unsigned long start, unsigned long size, const char *name,
		     const char *where)
{
	struct region *region = size ? new_region(start, size, name, where) : NULL;
	unsigned long flags;

	if (!region)
		return;
	spin_lock_irqsave(&regions_lock, flags);
	remove(start, start + size);
	latch_tree_insert(&region->node, &regions, &operations);
	spin_unlock_irqrestore(&regions_lock, flags);
}

static bool describe(const struct region *region, struct kgcc_object *object)
{
	if (!region)
		return false;
	kgcc_object_set(object, KGCC_REGION, region->start, region->end, &region->alive,
			READ_ONCE(region->alive));
	object->name = region->name;
	object->allocated = region->where;
	return object->value;
}

bool kgcc_region_of(unsigned long address, struct kgcc_object *object)
{
	bool found;

	rcu_read_lock();
	found = describe(find_any(address, address + 1), object);
	rcu_read_unlock();
	return found;
}

bool kgcc_region_find(unsigned long address, struct kgcc_object *object)
{
	return kgcc_region_of(address, object) || kgcc_region_of(address - 1, object);
}

/* Symbols may hide others between them; a region already known exactly stays. */
static bool overlaps(unsigned long start, unsigned long end)
{
	bool found;

	rcu_read_lock();
	found = find_any(start, end);
	rcu_read_unlock();
	return found;
}

/* Parses "name+0x10/0x20 [module]": the name's length, and the two numbers. */
static bool parse_symbol(char *text, unsigned long *offset, unsigned long *size)
{
	char *plus = strchr(text, '+'), *slash = plus ? strchr(plus, '/') : NULL;

	if (!slash)
		return false;
	*plus = *slash = 0;
	slash[1 + strcspn(slash + 1, " ")] = 0;
	return !kstrtoul(plus + 1, 16, offset) && !kstrtoul(slash + 1, 16, size);
}

bool kgcc_region_symbol(unsigned long address, struct kgcc_object *object)
{
	static char text[KSYM_SYMBOL_LEN];
	static DEFINE_RAW_SPINLOCK(lock);
	unsigned long flags, offset, size;
	bool known = false;

	/* Without data symbols the result would be the nearest function. */
	if (!IS_ENABLED(CONFIG_KALLSYMS_ALL))
		return false;
	local_irq_save(flags);
	if (raw_spin_trylock(&lock)) {
		sprint_symbol(text, address);
		known = parse_symbol(text, &offset, &size) && size &&
			!overlaps(address - offset, address - offset + size);
		if (known)
			kgcc_region_add(address - offset, size, text, NULL);
		raw_spin_unlock(&lock);
	}
	local_irq_restore(flags);
	return known && kgcc_region_of(address, object);
}

size_t kgcc_region_bytes(void)
{
	return atomic_long_read(&bytes);
}

void kgcc_region_exit(void)
{
	kgcc_region_remove(0, ULONG_MAX);
	rcu_barrier();
}
