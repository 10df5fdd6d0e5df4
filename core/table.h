/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hash tables in an arena: uapi/syscript_table.h. Other threads may change the arena at any time,
 * so addresses are masked as in generated code: whatever a table contains, only the arena or its
 * guards are accessed, in speculation, too.
 *
 * Only prog_helpers.c uses this, and includes table.c, so that arguments stay in registers.
 */
#ifndef SYSCRIPT_TABLE_H
#define SYSCRIPT_TABLE_H

#include "types.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#define array_index_nospec(i, n)	(i)
#endif

#define TABLE_LOCKS	16		/* a power of 2 */
#define TABLE_KEY_WORDS	8
#define TABLE_NOW	((1ULL << 40) - 1)

/**
 * struct table - a table's parameters, read once, and the key to look up
 * @base, @mask:  the arena's address, and its size - 1
 * @sets:         offset of the sets in the arena
 * @evicted:      counts entries that were replaced
 * @key:          a copy, with zeros after it
 * @now:          time in ms, modulo TABLE_NOW + 1
 * @set:          offset of the key's set in the arena
 * @hash:         the part of the key's hash that tags contain
 */
struct table {
	u8 *base;
	u64 mask;
	u64 sets, set;
	u64 *evicted;
	u32 nsets, key_words, value_size, age;
	u32 key_size;
	u64 hash, now;
	u64 key[TABLE_KEY_WORDS];
};

/* Opens the table at @header, for the key at @key.  0, or -EINVAL if there is no table. */
static int table_open(struct table *table, void *base, u64 mask, u64 header, u64 key);

/* Hashes @table->key, of @table->key_size bytes.  Returns which of TABLE_LOCKS guards its set. */
static u32 table_hash(struct table *table, u32 hash, u64 now);

/*
 * To be called after table_open() and table_hash(): return the value's offset in the arena, or 0.
 * table_find() needs no lock; for the other functions the caller holds the set's lock.
 */
static u64 table_find(const struct table *table);
static u64 table_add(const struct table *table);
static u64 table_delete(const struct table *table);

#endif /* SYSCRIPT_TABLE_H */
