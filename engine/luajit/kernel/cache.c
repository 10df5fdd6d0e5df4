// SPDX-License-Identifier: GPL-2.0
/*
 * Implements cache.h: a list of recent sources with their bytecode, found by a keyed hash and
 * then compared.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "cache.h"
#include "limits.h"

#define ENTRIES_MAX	64
#define ENTRIES_MAX_USER 16
#define AGE_MAX		(60 * HZ)

static LIST_HEAD(entries);		/* most recently used first */
/* Shared by all users: held for a walk of the list, not while sources are compared. */
static DEFINE_SPINLOCK(entries_lock);
static siphash_key_t digest_key __ro_after_init;

static void entry_free(struct kref *ref)
{
	kvfree(container_of(ref, struct cache_entry, ref));
}

void cache_put(struct cache_entry *entry)
{
	kref_put(&entry->ref, entry_free);
}

static u64 cache_digest_of(const char *name, const char *source, size_t len)
{
	return siphash_2u64(siphash(source, len, &digest_key),
			    siphash(name, strlen(name), &digest_key), &digest_key);
}

static bool cache_matches(const struct cache_entry *entry, const char *name,
			  const char *source, size_t len)
{
	return entry->source_len == len && uid_eq(entry->uid, current_uid()) &&
	       !strcmp(entry->name, name) && !memcmp(entry->data, source, len);
}

/* An entry that may match, with a reference. */
static struct cache_entry *cache_find(u64 digest)
{
	struct cache_entry *entry, *found = NULL;

	spin_lock(&entries_lock);
	list_for_each_entry(entry, &entries, node) {
		if (entry->digest != digest || !uid_eq(entry->uid, current_uid()))
			continue;
		list_move(&entry->node, &entries);
		entry->used = jiffies;
		kref_get(&entry->ref);
		found = entry;
		break;
	}
	spin_unlock(&entries_lock);
	return found;
}

struct cache_entry *cache_get(const char *name, const char *source, size_t len)
{
	struct cache_entry *entry = cache_find(cache_digest_of(name, source, len));

	if (!entry || cache_matches(entry, name, source, len))
		return entry;
	cache_put(entry);
	return NULL;
}

/* Frees the account's own oldest entry first, so that no account evicts another's. */
static struct cache_entry *cache_make_room(kuid_t account)
{
	struct cache_entry *entry, *own = NULL, *last = NULL;
	unsigned int n = 0, n_own = 0;

	lockdep_assert_held(&entries_lock);
	list_for_each_entry(entry, &entries, node) {
		n++;
		last = entry;
		if (!uid_eq(entry->account, account))
			continue;
		n_own++;
		own = entry;
	}
	entry = n_own >= ENTRIES_MAX_USER ? own : n >= ENTRIES_MAX ? last : NULL;
	if (entry)
		list_del(&entry->node);
	return entry;
}

void cache_add(const char *name, const char *source, size_t len,
	       const char *compiled, size_t compiled_len)
{
	struct cache_entry *entry, *old;

	entry = kvmalloc(struct_size(entry, data, len + compiled_len),
			 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!entry)
		return;
	kref_init(&entry->ref);
	entry->uid = current_uid();
	entry->account = limits_account_uid(CONTEXT_PROCESS);
	entry->digest = cache_digest_of(name, source, len);
	entry->used = jiffies;
	strscpy(entry->name, name, sizeof(entry->name));
	entry->source_len = len;
	entry->len = compiled_len;
	entry->compiled = entry->data + len;
	memcpy(entry->data, source, len);
	memcpy(entry->compiled, compiled, compiled_len);

	spin_lock(&entries_lock);
	old = cache_make_room(entry->account);
	list_add(&entry->node, &entries);
	spin_unlock(&entries_lock);
	if (old)
		cache_put(old);
}

bool cache_age(void)
{
	struct cache_entry *entry, *next;
	LIST_HEAD(old);
	bool more;

	spin_lock(&entries_lock);
	list_for_each_entry_safe(entry, next, &entries, node)
		if (time_after(jiffies, entry->used + AGE_MAX))
			list_move(&entry->node, &old);
	more = !list_empty(&entries);
	spin_unlock(&entries_lock);

	list_for_each_entry_safe(entry, next, &old, node)
		cache_put(entry);
	return more;
}

void cache_init(void)
{
	get_random_bytes(&digest_key, sizeof(digest_key));
}

/* No scripts are left. */
void cache_exit(void)
{
	struct cache_entry *entry, *next;

	list_for_each_entry_safe(entry, next, &entries, node)
		cache_put(entry);
}
