// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements table.h: a set-associative hash table.
 *
 * A slot's tag is 0 if the slot is empty and BUSY while an entry is written; otherwise it has a
 * part of the key's hash, which is odd, and in the lower bits the time when the entry was last
 * found. Entries are changed under the set's lock; lockless readers check the tag again after
 * they have compared the key (tests/litmus/table-entry.litmus).
 */
#include "table.h"

#define WAYS		8
#define KEY_MAX		(TABLE_KEY_WORDS * 8)
#define VALUE_MAX	1024
#define BUSY		1ULL
#define HASH_SHIFT	40

/* Has the layout of struct syscript_table. */
struct header {
	u32 entries, key_size, value_size, age;
	u64 sets;
	u64 evicted;
};

/* The address of the word at @address, masked; longer accesses reach the guard page at most. */
static __always_inline void *table_at(const struct table *table, u64 address)
{
	return table->base + (address & table->mask & ~7ULL);
}

static u64 load_word(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store_word(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static u32 load_half(const u32 *half)
{
	return __atomic_load_n(half, __ATOMIC_RELAXED);
}

/* Copies the key by words, with zeros after its end, whatever the arena contains. */
static __always_inline void copy_key(struct table *table, u64 key)
{
	const u8 *from = table->base + (key & table->mask);
	u32 i;

	memcpy(table->key, from, 8);
	for (i = 1; i < table->key_words; i++)
		memcpy(&table->key[i], from + 8 * i, 8);
	table->key[i - 1] &= ~0ULL >> (-8 * table->key_size & 63);
}

static __always_inline void table_set_key(struct table *table, u32 key_size, u64 key)
{
	/*
	 * Bounded in speculation, too.  Not by a mask, which the compiler would remove as
	 * redundant.
	 */
	table->key_size = array_index_nospec(key_size - 1, KEY_MAX) + 1;
	table->key_words = (table->key_size + 7) / 8;
	copy_key(table, key);
}

static __always_inline int table_open(struct table *table, void *base, u64 mask, u64 address,
				      u64 key)
{
	struct header *header;
	u32 entries;

	table->base = base;
	table->mask = mask;
	header = table_at(table, address);
	table->evicted = &header->evicted;
	entries = load_half(&header->entries);
	table->key_size = load_half(&header->key_size);
	table->value_size = load_half(&header->value_size);
	table->age = load_half(&header->age);
	table->sets = load_word(&header->sets);
	if (entries < WAYS || entries & (entries - 1) || (address | table->sets) & 7 ||
	    table->value_size > VALUE_MAX || !table->key_size || table->key_size > KEY_MAX)
		return -EINVAL;
	table->nsets = entries / WAYS;
	table_set_key(table, table->key_size, key);
	return 0;
}

static __always_inline u64 entry_size(const struct table *table)
{
	return (table->key_words + (table->value_size + 7ULL) / 8) * 8;
}

static __always_inline u32 table_hash(struct table *table, u32 hash, u64 now)
{
	u32 set = hash & (table->nsets - 1);

	table->set = table->sets + (u64)set * WAYS * (8 + entry_size(table));
	table->hash = hash >> 8 | 1;
	table->now = now & TABLE_NOW;
	return set % TABLE_LOCKS;
}

static __always_inline u64 *tag_of(const struct table *table, u32 way)
{
	return (u64 *)table_at(table, table->set) + way;
}

static __always_inline u64 entry_of(const struct table *table, u32 way)
{
	return table->set + WAYS * 8 + way * entry_size(table);
}

static __always_inline u64 value_of(const struct table *table, u32 way)
{
	return entry_of(table, way) + table->key_words * 8;
}

static __always_inline bool has_key(const struct table *table, u32 way)
{
	const u64 *key = table_at(table, entry_of(table, way));
	u32 i;

	/* Most keys are one word. */
	if (__atomic_load_n(key, __ATOMIC_RELAXED) != table->key[0])
		return false;
	for (i = 1; i < table->key_words; i++)
		if (__atomic_load_n(key + i, __ATOMIC_RELAXED) != table->key[i])
			return false;
	return true;
}

/* In ms; another CPU's clock may be a tick ahead. */
static __always_inline u64 age_of(const struct table *table, u64 tag)
{
	u64 age = (table->now - tag) & TABLE_NOW;

	return age <= TABLE_NOW / 2 ? age : 0;
}

static __always_inline bool is_old(const struct table *table, u64 tag)
{
	return table->age && age_of(table, tag) > table->age;
}

/* The slot in which a key is stored if it is free, and looked up first. */
static u32 first_way(const struct table *table)
{
	return table->hash / 2 % WAYS;
}

/* The slot that has the key, or WAYS; its tag before and after the comparison. */
struct found {
	u64 way, tag;
};

static __always_inline struct found find_way(const struct table *table)
{
	u32 first = first_way(table), way, i;
	u64 tag;

	for (i = 0; i < WAYS; i++) {
		way = (first + i) % WAYS;
		tag = load_word(tag_of(table, way));
		if (tag >> HASH_SHIFT != table->hash || !has_key(table, way))
			continue;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load_word(tag_of(table, way)) >> HASH_SHIFT == table->hash)
			return (struct found){ way, tag };
	}
	return (struct found){ WAYS, 0 };
}

static __always_inline u64 fresh_tag(const struct table *table)
{
	return table->hash << HASH_SHIFT | table->now;
}

/* Updates the time at most once in a ms, so that CPUs that only read rarely write. */
static __always_inline void table_touch(const struct table *table, u32 way, u64 tag)
{
	u64 fresh = fresh_tag(table);

	if (tag != fresh)
		__atomic_compare_exchange_n(tag_of(table, way), &tag, fresh, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static __always_inline u64 table_find(const struct table *table)
{
	struct found found = find_way(table);

	if (found.way == WAYS || is_old(table, found.tag))
		return 0;
	table_touch(table, found.way, found.tag);
	return value_of(table, found.way);
}

/* An empty slot, else the least recently used; ties are broken by the hash. */
static u32 table_choose(const struct table *table, u64 *tag)
{
	u32 first = first_way(table), best = first, way, i;
	u64 most = 0;

	for (i = 0; i < WAYS; i++) {
		way = (first + i) % WAYS;
		*tag = load_word(tag_of(table, way));
		if (!*tag)
			return way;
		if (age_of(table, *tag) > most) {
			most = age_of(table, *tag);
			best = way;
		}
	}
	*tag = load_word(tag_of(table, best));
	return best;
}

static void write_entry(const struct table *table, u32 way)
{
	u64 *tag = tag_of(table, way);

	store_word(tag, BUSY);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(table_at(table, entry_of(table, way)), table->key, table->key_words * 8);
	memset(table_at(table, value_of(table, way)), 0, table->value_size);
	store_word(tag, fresh_tag(table));
}

static u64 table_add(const struct table *table)
{
	struct found found = find_way(table);
	u64 tag = found.tag;
	u32 way = found.way;

	if (way < WAYS && !is_old(table, tag)) {
		table_touch(table, way, tag);
		return value_of(table, way);
	}
	if (way == WAYS) {
		way = table_choose(table, &tag);
		if (tag && !is_old(table, tag))
			__atomic_fetch_add(table->evicted, 1, __ATOMIC_RELAXED);
	}
	write_entry(table, way);
	return value_of(table, way);
}

static u64 table_delete(const struct table *table)
{
	struct found found = find_way(table);

	if (found.way == WAYS)
		return 0;
	store_word(tag_of(table, found.way), 0);
	return !is_old(table, found.tag);
}
