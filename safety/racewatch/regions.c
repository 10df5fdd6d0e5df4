// SPDX-License-Identifier: GPL-2.0
/*
 * Regions in which the source says that accesses race on purpose (racewatch.h).  A region belongs
 * to a task or to an interrupt, and a task may be moved to another CPU in it, so regions are kept
 * in a hash table by task and context.  Of two that meet at one place the older is forgotten: at
 * worst an access on purpose is reported.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "racewatch.h"
#include "regions.h"

#define REGIONS_BITS	8

/*
 * @until: jiffies at which racewatch_marked_next() expires, because a reader may never check its
 *         seqcount again; 0: not called
 */
struct region {
	unsigned long key, until;
	int ignored, marked;
};

static struct region regions[1 << REGIONS_BITS];

static unsigned long current_key(void)
{
	/* A task_struct is aligned to more than this. */
	return (unsigned long)current | (in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0);
}

/* The context's own region, made if it has none and @make; or NULL. */
static struct region *region_here(bool make)
{
	unsigned long key = current_key();
	struct region *region = &regions[hash_long(key, REGIONS_BITS)];

	if (READ_ONCE(region->key) == key)
		return region;
	if (!make)
		return NULL;
	region->ignored = 0;
	region->marked = 0;
	region->until = 0;
	WRITE_ONCE(region->key, key);
	return region;
}

/* Ends that find no region of their own are those of a forgotten one. */
static void leave(struct region *region, int *depth)
{
	if (!region || !*depth)
		return;
	--*depth;
	if (!region->ignored && !region->marked && !region->until)
		WRITE_ONCE(region->key, 0);
}

void racewatch_ignore_begin(void)
{
	region_here(true)->ignored++;
}
EXPORT_SYMBOL_GPL(racewatch_ignore_begin);

void racewatch_ignore_end(void)
{
	struct region *region = region_here(false);

	leave(region, region ? &region->ignored : NULL);
}
EXPORT_SYMBOL_GPL(racewatch_ignore_end);

void racewatch_marked_begin(void)
{
	region_here(true)->marked++;
}
EXPORT_SYMBOL_GPL(racewatch_marked_begin);

void racewatch_marked_end(void)
{
	struct region *region = region_here(false);

	leave(region, region ? &region->marked : NULL);
}
EXPORT_SYMBOL_GPL(racewatch_marked_end);

void racewatch_marked_next(int accesses)
{
	struct region *region = region_here(accesses);

	if (region)
		region->until = accesses ? (jiffies + HZ) ?: 1 : 0;
}
EXPORT_SYMBOL_GPL(racewatch_marked_next);

bool region_ignores(void)
{
	const struct region *region = region_here(false);

	return region && region->ignored;
}

bool region_marks(void)
{
	const struct region *region = region_here(false);

	return region && (region->marked ||
			  (region->until && time_before(jiffies, region->until)));
}
