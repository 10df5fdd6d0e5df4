// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of reference counters reports a counter taken or dropped at zero, or not back at zero
 * when the module is unloaded, with the places that took and dropped references.
 *
 * A counter lives as long as its memory: a kernel tracepoint reports the free. An object freed with
 * its initial reference, before it was shared, is not a leak.
 *
 * counters_lock is raw and taken with interrupts off; the table does not grow.
 */
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "memory.h"
#include "monitor.h"
#include "source_loc.h"

#define COUNTERS_BITS	13
#define PROBES		64
#define PLACES		6

struct counter {
	const void *object;
	s32 value;			/* after the last event that arrived */
	s32 balance;			/* events of two CPUs may arrive in either order */
	bool is_own;			/* its module initialised it, so all its events are known */
	struct evmon_where zero;	/* when it dropped to zero */
	/* References taken minus dropped at each place. */
	struct { struct evmon_where where; int balance; } places[PLACES];
};

static struct counter *counters;
static DEFINE_RAW_SPINLOCK(counters_lock);
static unsigned long lost;
static struct evmon_monitor monitor;

/* All counters of a page share a chain, so that a free searches few chains. */
static unsigned int first_of(const void *object)
{
	return hash_long((unsigned long)object >> PAGE_SHIFT, COUNTERS_BITS);
}

/* Slots of counters that ended are reused. */
static struct counter *counter_of(const void *object)
{
	unsigned int i, start = first_of(object);
	struct counter *counter, *ended = NULL;

	for (i = 0; i < PROBES; i++) {
		counter = &counters[(start + i) % (1 << COUNTERS_BITS)];
		if (counter->object == object)
			return counter;
		if (!ended && (!counter->object || !counter->value))
			ended = counter;
		if (!counter->object)
			break;
	}
	if (!ended) {
		lost++;
		return NULL;
	}
	memset(ended, 0, sizeof(*ended));
	ended->object = object;
	return ended;
}

static void counter_note(struct counter *counter, const struct evmon_where *here,
			 int change)
{
	unsigned int i;

	for (i = 0; i < PLACES; i++) {
		if (counter->places[i].where.place == here->place) {
			counter->places[i].where = *here;
			counter->places[i].balance += change;
			return;
		}
		if (!counter->places[i].where.place) {
			counter->places[i].where = *here;
			counter->places[i].balance = change;
			return;
		}
	}
}

static void counter_begin(struct counter *counter, s32 value, bool is_own)
{
	*counter = (struct counter) {
		.object = counter->object, .value = value, .balance = value,
		.is_own = is_own,
	};
}

/* Returns the fault, with the other place, or NULL. */
static const char *counter_event(struct counter *counter, const struct evmon_site *site,
				 s32 was, const struct evmon_where *here,
				 struct evmon_where *other)
{
	bool taken = site->type == EVMON_REF_INC;

	if (site->type == EVMON_REF_INIT) {
		counter_begin(counter, was, true);
		counter_note(counter, here, was);
		return NULL;
	}
	if (!counter->places[0].where.place)
		counter_begin(counter, was, site->module &&
			      within_module((unsigned long)counter->object, site->module));
	counter->balance += taken ? 1 : -1;
	counter_note(counter, here, taken ? 1 : -1);
	*other = counter->zero;
	/* A counter below zero, or saturated, was reported when it became so. */
	counter->value = was > 0 ? was + (taken ? 1 : -1) : 0;
	if (!taken && was == 1)
		counter->zero = *here;
	if (was)
		return NULL;
	return taken ? "taken when it was zero" : "dropped when it was zero";
}

static void event(struct evmon_site *site, const void *object, u64 value)
{
	struct evmon_where here = evmon_here(site), other = {};
	const char *wrong = NULL;
	struct counter *counter;
	unsigned long flags;

	if (in_nmi())
		return;
	raw_spin_lock_irqsave(&counters_lock, flags);
	counter = counter_of(object);
	if (counter)
		wrong = counter_event(counter, site, value, &here, &other);
	raw_spin_unlock_irqrestore(&counters_lock, flags);
	if (wrong)
		evmon_violation(&monitor, object, &here, "dropped to zero",
				other.place ? &other : NULL, "%s", wrong);
}

/* -- memory is freed ---------------------------------------------------------- */

static void forget_of_page(const void *page, const void *start, const void *end)
{
	unsigned int i, first = first_of(page);
	unsigned long flags;

	/* Nearly all. */
	if (!READ_ONCE(counters[first].object))
		return;
	raw_spin_lock_irqsave(&counters_lock, flags);
	for (i = 0; i < PROBES; i++) {
		struct counter *counter = &counters[(first + i) % (1 << COUNTERS_BITS)];

		if (!counter->object)
			break;
		if (counter->object >= start && counter->object < end)
			counter_begin(counter, 0, false);
	}
	raw_spin_unlock_irqrestore(&counters_lock, flags);
}

static void forget(const void *start, size_t size)
{
	const void *page = (const void *)((unsigned long)start & PAGE_MASK);

	if (in_nmi())
		return;
	for (; page < start + size; page += PAGE_SIZE)
		forget_of_page(page, start, start + size);
}

static void died(struct memory_listener *listener, unsigned long ip, const void *start,
		 const struct kmem_cache *cache)
{
	forget(start, memory_size(start, cache));
}

static struct memory_listener memory = { .died = died };

/* -- modules go --------------------------------------------------------------- */

/* The counter belongs to the module of its place, whoever took a reference there. */
static bool is_of_module(const struct counter *counter, const struct module *module)
{
	const struct place *place = evmon_place(counter->places[0].where.place);

	return place && !strcmp(place->module, module->name);
}

/* The kernel may drop references, unseen, of a counter that it also uses. */
static bool is_leak(const struct counter *counter)
{
	return counter->is_own && counter->value > 0 && counter->balance > 0;
}

static void tell_leak(const struct counter *counter)
{
	struct evmon_where here = evmon_here_ip(_THIS_IP_);
	char what[48];
	unsigned int i;
	int number;

	number = evmon_violation(&monitor, counter->object, &here, "first set or taken",
				 &counter->places[0].where,
				 "at %d when its module goes", counter->value);
	for (i = 0; i < PLACES && counter->places[i].where.place; i++) {
		scnprintf(what, sizeof(what), "balance %+d, last",
			  counter->places[i].balance);
		evmon_violation_more(number, what, &counter->places[i].where);
	}
}

static void going(const struct module *module)
{
	struct counter counter;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < 1 << COUNTERS_BITS; i++) {
		raw_spin_lock_irqsave(&counters_lock, flags);
		counter = counters[i];
		if (counter.object && is_of_module(&counter, module))
			counters[i].value = 0;
		raw_spin_unlock_irqrestore(&counters_lock, flags);
		if (counter.object && is_leak(&counter) && is_of_module(&counter, module))
			tell_leak(&counter);
	}
}

static void refs_show(struct seq_file *m)
{
	seq_printf(m, "lost\t%lu\n", READ_ONCE(lost));
}

static struct evmon_monitor monitor = {
	.name = "refcount",
	.classes = BIT(EVMON_CLASS_REF),
	.event = event,
	.going = going,
	.show = refs_show,
};

static int __init evmon_refs_init(void)
{
	int err;

	counters = kvcalloc(1 << COUNTERS_BITS, sizeof(*counters), GFP_KERNEL);
	if (!counters)
		return -ENOMEM;
	err = memory_listen(&memory);
	if (err) {
		kvfree(counters);
		return err;
	}
	evmon_register(&monitor);
	return 0;
}

static void __exit evmon_refs_exit(void)
{
	evmon_unregister(&monitor);
	memory_ignore(&memory);
	kvfree(counters);
}

module_init(evmon_refs_init);
module_exit(evmon_refs_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of reference counters");
