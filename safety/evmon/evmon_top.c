// SPDX-License-Identifier: GPL-2.0
/*
 * Reports no violations, but counts: which locks and counters are hot, how long locks are waited
 * for and held, and who holds them longest. Objects with the same name at their places count as
 * one.
 */
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "held.h"
#include "monitor.h"
#include "source_loc.h"

#define HOT_BITS	10
#define PROBES		16

struct hot {
	u32 place;			/* a place with this name; 0: unused */
	u32 longest_place;		/* where it was taken when it was held longest */
	u64 count, waits, wait, wait_max, held, held_max;
};

static struct hot *hots;
static DEFINE_RAW_SPINLOCK(hots_lock);
static struct held_set *held;
/* Place -> object index, 1-based. */
#define PLACES	16384
static u16 *hot_of_place;

static bool is_same(u32 a, u32 b)
{
	const struct place *p = evmon_place(a), *q = evmon_place(b);

	return !strcmp(p->name, q->name) && !strcmp(p->module, q->module);
}

static struct hot *hot_add(u32 place)
{
	const struct place *p = evmon_place(place);
	unsigned int i, start = 0;
	const char *c;

	for (c = p->name; *c; c++)
		start = start * 31 + *c;
	for (i = 0; i < PROBES; i++) {
		unsigned int n = (start + i) % (1 << HOT_BITS);

		if (!hots[n].place)
			hots[n].place = place;
		if (!is_same(hots[n].place, place))
			continue;
		hot_of_place[place] = n + 1;
		return &hots[n];
	}
	return NULL;
}

static struct hot *hot_find(u32 place)
{
	u16 n = hot_of_place[place];

	return n ? &hots[n - 1] : hot_add(place);
}

static void count(u32 place, u64 waited)
{
	struct hot *hot = hot_find(place);

	if (!hot)
		return;
	hot->count++;
	hot->waits += !!waited;
	hot->wait += waited;
	hot->wait_max = max(hot->wait_max, waited);
}

static void count_held(const struct held_lock *lock, u64 now)
{
	struct hot *hot = hot_find(lock->where.place);
	u64 ns = now - lock->since;

	if (!hot)
		return;
	hot->held += ns;
	if (ns > hot->held_max) {
		hot->held_max = ns;
		hot->longest_place = lock->where.place;
	}
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	struct evmon_where here = evmon_here(site);
	struct held_lock lock;
	unsigned long flags;

	if (in_nmi() || !here.place)
		return;
	raw_spin_lock_irqsave(&hots_lock, flags);
	switch (site->type) {
	case EVMON_SPIN_ACQUIRE:
	case EVMON_SPIN_ACQUIRE_IRQ:
	case EVMON_MUTEX_ACQUIRE:
	case EVMON_RWSEM_READ:
	case EVMON_RWSEM_WRITE:
	case EVMON_SEM_DOWN:
		count(here.place, value);
		held_add(held, site, object);
		break;
	case EVMON_SPIN_RELEASE:
	case EVMON_SPIN_RELEASE_IRQ:
	case EVMON_MUTEX_RELEASE:
	case EVMON_RWSEM_READ_RELEASE:
	case EVMON_RWSEM_WRITE_RELEASE:
	case EVMON_SEM_UP:
		if (held_remove(held, object, &lock) != HELD_BY_NONE)
			count_held(&lock, ktime_get_mono_fast_ns());
		break;
	case EVMON_REF_INC:
	case EVMON_REF_DEC:
		count(here.place, 0);
	}
	raw_spin_unlock_irqrestore(&hots_lock, flags);
}

static void show_hot(struct seq_file *m, const struct hot *hot)
{
	const struct place *place = evmon_place(hot->place);
	char longest[64];

	place_text(longest, sizeof(longest),
		   &(struct evmon_where){ .place = hot->longest_place });
	seq_printf(m, "%s\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\n",
		   place->module, place->name, evmon_text_of(place->type), hot->count,
		   hot->waits, hot->wait, hot->wait_max, hot->held, hot->held_max, longest);
}

static void top_show(struct seq_file *m)
{
	unsigned int i;

	seq_puts(m, "module\tname\tkind\tcount\twaits\twait\twait_max\theld\theld_max\tlongest\n");
	for (i = 0; i < 1 << HOT_BITS; i++)
		if (READ_ONCE(hots[i].place))
			show_hot(m, &hots[i]);
}

static struct evmon_monitor monitor = {
	.name = "top",
	.classes = BIT(EVMON_CLASS_LOCK) | BIT(EVMON_CLASS_REF),
	.event = event,
	.show = top_show,
};

static int __init evmon_top_init(void)
{
	hots = kvcalloc(1 << HOT_BITS, sizeof(*hots), GFP_KERNEL);
	hot_of_place = kvcalloc(PLACES, sizeof(*hot_of_place), GFP_KERNEL);
	held = held_create();
	if (!hots || !hot_of_place || !held)
		goto free;
	evmon_register(&monitor);
	return 0;

free:
	held_destroy(held);
	kvfree(hot_of_place);
	kvfree(hots);
	return -ENOMEM;
}

static void __exit evmon_top_exit(void)
{
	evmon_unregister(&monitor);
	held_destroy(held);
	kvfree(hot_of_place);
	kvfree(hots);
}

module_init(evmon_top_init);
module_exit(evmon_top_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Which locks and counters are hot");
