/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache of compiled sources, so that a user's next process that registers the same script need
 * not compile it again.
 *
 * A user's process finds only what the module compiled from the same user's identical source with
 * the same name: the bytecode is as trustworthy as the compiler.
 */
#ifndef SYSCRIPT_LUAJIT_CACHE_H
#define SYSCRIPT_LUAJIT_CACHE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uidgid.h>
#include "uapi/syscript.h"

#define CACHE_SOURCE_MAX	(16 << 10)	/* bytes */
#define CACHE_COMPILED_MAX	(16 << 10)

struct cache_entry {
	struct kref ref;
	struct list_head node;
	kuid_t uid;
	kuid_t account;			/* as limits_account_uid() returns it */
	u64 digest;			/* hash of source and name */
	unsigned long used;		/* last use, in jiffies */
	char name[SYSCRIPT_NAME_LEN];
	size_t source_len, len;
	char *compiled;			/* within data, after the source */
	char data[];
};

/* The compiled form, to be released by cache_put(); or NULL. */
struct cache_entry *cache_get(const char *name, const char *source, size_t len);
void cache_put(struct cache_entry *entry);

/* Copies both into the cache; does nothing if out of memory. */
void cache_add(const char *name, const char *source, size_t len,
	       const char *compiled, size_t compiled_len);

/* Drops entries that were not used for a minute; returns whether any are left. */
bool cache_age(void);

void cache_init(void);
void cache_exit(void);

#endif
