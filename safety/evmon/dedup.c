// SPDX-License-Identifier: GPL-2.0
/*
 * Violations by pairs of places: a hash table with open addressing. An entry is claimed by
 * storing its key, and never freed. The description is copied when the entry is new, because the
 * modules may be unloaded.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "monitor.h"
#include "source_loc.h"
#include "dedup.h"

#define SEEN_BITS	10
#define SEEN_PROBES	8

struct seen {
	unsigned long key;		/* 0: free */
	atomic_long_t count;
	int number;			/* report number; set last, 0: not described yet */
	u32 here, there;		/* places */
	char monitor[16];
	char here_at[64], there_at[64];
	char text[SEEN_TEXT];
};

static struct seen *seen;

static unsigned long key_of(const struct evmon_monitor *monitor,
			    const struct evmon_where *here,
			    const struct evmon_where *other)
{
	unsigned long a = here->place ?: here->ip;
	unsigned long b = !other ? 0 : other->place ?: other->ip;

	return (hash_long(a ^ (unsigned long)monitor->name, 64) + b) ?: 1;
}

bool seen_count(const struct evmon_monitor *monitor, const struct evmon_where *here,
		const struct evmon_where *other, struct seen **entry)
{
	unsigned long key = key_of(monitor, here, other);
	unsigned int i, start = hash_long(key, SEEN_BITS);

	for (i = 0; i < SEEN_PROBES; i++) {
		unsigned long was;

		*entry = &seen[(start + i) % (1 << SEEN_BITS)];
		was = cmpxchg(&(*entry)->key, 0, key);
		if (was && was != key)
			continue;
		atomic_long_inc(&(*entry)->count);
		return !was;
	}
	*entry = NULL;
	return true;
}

void seen_describe(struct seen *entry, int number, const struct evmon_monitor *monitor,
		   const struct evmon_where *here, const struct evmon_where *other,
		   const char *text)
{
	entry->here = here->place;
	entry->there = other ? other->place : 0;
	strscpy(entry->monitor, monitor->name, sizeof(entry->monitor));
	strscpy(entry->text, text, sizeof(entry->text));
	place_text(entry->here_at, sizeof(entry->here_at), here);
	if (other)
		place_text(entry->there_at, sizeof(entry->there_at), other);
	smp_store_release(&entry->number, number);
}

void seen_show(struct seq_file *m)
{
	unsigned int i;

	seq_puts(m, "number\tcount\tmonitor\tmodule\tobject\there\tthere\ttext\n");
	for (i = 0; i < 1 << SEEN_BITS; i++) {
		const struct seen *entry = &seen[i];
		int number = smp_load_acquire(&entry->number);
		const struct place *place = evmon_place(entry->here) ?:
					    evmon_place(entry->there);

		if (number)
			seq_printf(m, "%d\t%ld\t%s\t%s\t%s\t%s\t%s\t%s\n", number,
				   atomic_long_read(&entry->count), entry->monitor,
				   place ? place->module : "", place ? place->name : "",
				   entry->here_at, entry->there_at, entry->text);
	}
}

int seen_init(void)
{
	seen = kvcalloc(1 << SEEN_BITS, sizeof(*seen), GFP_KERNEL);
	return seen ? 0 : -ENOMEM;
}

void seen_exit(void)
{
	kvfree(seen);
}
