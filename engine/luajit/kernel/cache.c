// SPDX-License-Identifier: GPL-2.0
/*
 * See cache.h.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cache.h"
#include "limits.h"

#define ENTRIES_MAX	64
#define ENTRIES_MAX_USER 16
#define AGE_MAX		(60 * HZ)

static LIST_HEAD(entries);		/* last used first */
static DEFINE_MUTEX(entries_lock);

static void entry_free(struct kref *ref)
{
	kvfree(container_of(ref, struct cache_entry, ref));
}

void cache_put(struct cache_entry *entry)
{
	kref_put(&entry->ref, entry_free);
}

static bool matches(const struct cache_entry *entry, const char *name,
		    const char *source, size_t len)
{
	return entry->source_len == len && uid_eq(entry->uid, current_uid()) &&
	       !strcmp(entry->name, name) && !memcmp(entry->data, source, len);
}

struct cache_entry *cache_get(const char *name, const char *source, size_t len)
{
	struct cache_entry *entry, *found = NULL;

	mutex_lock(&entries_lock);
	list_for_each_entry(entry, &entries, node) {
		if (!matches(entry, name, source, len))
			continue;
		list_move(&entry->node, &entries);
		entry->used = jiffies;
		kref_get(&entry->ref);
		found = entry;
		break;
	}
	mutex_unlock(&entries_lock);
	return found;
}

static void drop(struct cache_entry *entry)
{
	list_del(&entry->node);
	cache_put(entry);
}

/* The payer's own oldest entry goes first, so that none pushes out others'. */
static void make_room(void)
{
	struct cache_entry *entry, *own = NULL, *last = NULL;
	unsigned int n = 0, n_own = 0;
	kuid_t payer = limits_payer();

	list_for_each_entry(entry, &entries, node) {
		n++;
		last = entry;
		if (!uid_eq(entry->payer, payer))
			continue;
		n_own++;
		own = entry;
	}
	if (n_own >= ENTRIES_MAX_USER)
		drop(own);
	else if (n >= ENTRIES_MAX)
		drop(last);
}

void cache_add(const char *name, const char *source, size_t len,
	       const char *compiled, size_t compiled_len)
{
	struct cache_entry *entry;

	entry = kvmalloc(struct_size(entry, data, len + compiled_len),
			 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!entry)
		return;
	kref_init(&entry->ref);
	entry->uid = current_uid();
	entry->payer = limits_payer();
	entry->used = jiffies;
	strscpy(entry->name, name, sizeof(entry->name));
	entry->source_len = len;
	entry->len = compiled_len;
	entry->compiled = entry->data + len;
	memcpy(entry->data, source, len);
	memcpy(entry->compiled, compiled, compiled_len);

	mutex_lock(&entries_lock);
	make_room();
	list_add(&entry->node, &entries);
	mutex_unlock(&entries_lock);
}

bool cache_age(void)
{
	struct cache_entry *entry, *next;
	bool more;

	mutex_lock(&entries_lock);
	list_for_each_entry_safe(entry, next, &entries, node)
		if (time_after(jiffies, entry->used + AGE_MAX))
			drop(entry);
	more = !list_empty(&entries);
	mutex_unlock(&entries_lock);
	return more;
}

void cache_exit(void)
{
	struct cache_entry *entry, *next;

	list_for_each_entry_safe(entry, next, &entries, node)
		drop(entry);
}
