/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Hash tables for programs of subsystems: a value for each key, such as a source address, in
 * memory of a fixed size.
 *
 *	SYSCRIPT_TABLE(sources, __u32, struct bucket, 1024, 60000);
 *
 * is a table of 1,024 entries. An entry expires when no call has found it for 60,000 ms. The
 * table is in the program's memory, which is charged to the user who loads the program, and is
 * empty whenever the program is loaded.
 *
 *   table_find(table, key)    the address of the key's value, or NULL
 *   table_add(table, key)     as table_find(), but adds a value of zeros if there was none
 *   table_delete(table, key)  1, or 0 if there was none
 *
 * All CPUs may call these functions at once. They find the same value, so programs must change it
 * by atomic operations (__sync_fetch_and_add()). An entry has eight possible slots, by a secret
 * hash of its key that changes whenever a program is loaded, so that senders of packets cannot
 * choose colliding keys. If all eight are taken, the least recently found entry is replaced, and
 * @evicted counts it. A call that still has the address of the replaced value writes to the new
 * value.
 *
 * For programs in other languages: addresses and NULL are returned in r0.
 *
 * A table that programs share by name is a struct syscript_state of the load (linux/syscript.h).
 * shared_find(), shared_add() and shared_delete() are as above, with its number, from 0 on, in
 * place of the table's address. Its entries are at the end of the memory of each program; where a
 * program overwrites other bytes there than values', entries are lost or found under other keys.
 */
#ifndef _UAPI_SYSCRIPT_TABLE_H
#define _UAPI_SYSCRIPT_TABLE_H

#include <linux/types.h>

#define SYSCRIPT_TABLE_KEY_MAX		64
#define SYSCRIPT_TABLE_VALUE_MAX	1024
#define SYSCRIPT_TABLE_WAYS		8

/**
 * struct syscript_table - a table, at an address divisible by 8
 * @entries:    a power of 2, from 8 on
 * @key_size:   bytes of a key, 1 .. 64; all are compared, padding of structures as well
 * @value_size: bytes of a value, 0 .. 1,024
 * @age:        ms without being found after which an entry expires; 0: never
 * @sets:       the address of its @entries / 8 sets, divisible by 8. A set has eight words for
 *              the kernel, initially zero, followed by eight entries: a key and a value, each
 *              padded with zeros to a multiple of 8
 * @evicted:    number of entries that were replaced
 */
struct syscript_table {
	__u32 entries;
	__u32 key_size, value_size;
	__u32 age;
	void *sets;
	__u64 evicted;
};

#ifdef __bpf__
#define SYSCRIPT_TABLE(name, key_type, value_type, n, ms)		\
	static struct {							\
		__u64 tags[SYSCRIPT_TABLE_WAYS];			\
		struct {						\
			key_type key __attribute__((aligned(8)));	\
			value_type value __attribute__((aligned(8)));	\
		} entries[SYSCRIPT_TABLE_WAYS];				\
	} name##_sets[(n) / SYSCRIPT_TABLE_WAYS] __attribute__((aligned(64))); \
	static struct syscript_table name = {				\
		.entries = (n), .age = (ms), .sets = name##_sets,	\
		.key_size = sizeof(key_type), .value_size = sizeof(value_type), \
	}

void *table_find(struct syscript_table *table, const void *key);
void *table_add(struct syscript_table *table, const void *key);
long table_delete(struct syscript_table *table, const void *key);
#endif

#endif /* _UAPI_SYSCRIPT_TABLE_H */
