/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hash tables in an arena: uapi/syscript_table.h.  The arena may hold anything at any
 * time: addresses are masked as generated code masks its own, so that, whatever a table
 * says, only the arena or its guards are touched, in speculation, too.
 *
 * For services.c alone, which includes table.c: what a call passes on stays in registers.
 */
#ifndef CONFINED_TABLE_H
#define CONFINED_TABLE_H

#include "port.h"

#define TABLE_LOCKS	16		/* a power of 2 */
#define TABLE_KEY_WORDS	8
#define TABLE_NOW	((1ULL << 40) - 1)

/**
 * struct table - a table, as it was when it was opened, and the key to look for
 * @base, @mask:  of the arena: its address here, and its size - 1
 * @header:       of the table, in the arena, as @sets is
 * @key:          a copy, with zeros after it
 * @now:          ms, of a clock that goes around at TABLE_NOW + 1
 * @set:          of the key's hash, in the arena
 * @hash:         the part of it that is in tags
 */
struct table {
	u8 *base;
	u64 mask;
	u64 header, sets, set;
	u32 nsets, key_words, value_size, age;
	u32 key_size;
	u64 hash, now;
	u64 key[TABLE_KEY_WORDS];
};

/* For the table at @header and the key at @key.  0, or -EINVAL: there is no table. */
static int table_open(struct table *table, void *base, u64 mask, u64 header, u64 key);

/* For @table->key, of @table->key_size bytes.  Returns which of TABLE_LOCKS is its set's. */
static u32 table_hash(struct table *table, u32 hash, u64 now);

/*
 * After the two: return the value's address in the arena, or 0.  find() takes no lock;
 * for the others the caller holds the set's.
 */
static u64 table_find(const struct table *table);
static u64 table_add(const struct table *table);
static u64 table_delete(const struct table *table);

#endif /* CONFINED_TABLE_H */
