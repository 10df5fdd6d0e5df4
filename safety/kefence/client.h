/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instrumented modules, by name, with the settings of each. A client outlives its module: its
 * settings apply again when the module is reloaded.
 */
#ifndef KEFENCE_CLIENT_H
#define KEFENCE_CLIENT_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

#include "registry.h"

struct seq_file;

/* The action after a violation was reported. */
enum action {
	ACTION_READ,		/* reads continue, with zeros; writes as KILL */
	ACTION_WRITE,		/* reads and writes continue */
	ACTION_KILL,		/* the task is killed at its next return to user space */
	ACTION_CRASH,		/* an oops */
};

/* The side of its pages that an object lies at. */
enum side {
	SIDE_END,		/* overruns fault */
	SIDE_START,		/* underruns fault */
	SIDE_RANDOM,		/* either */
};

enum policy {
	POLICY_ALL,		/* guard all while there are slots */
	POLICY_RATE,		/* when slots get scarce, busy places get none */
};

enum stacks {
	STACKS_OFF,		/* places only */
	STACKS_PATH,		/* one for each path to a place, see site.h */
	STACKS_ALL,		/* the exact stack of each call */
};

#define CACHES_LEN	128

struct settings {
	enum action action;
	enum side side;
	enum policy policy;
	enum stacks stacks;
	unsigned int align;		/* 1: exact, 0: see object.c */
	unsigned int every;		/* report each violation, not just a place's first */
	bool kmalloc;			/* matches ->caches */
	unsigned long budget;		/* pages, 0: no limit of its own */
	unsigned long size_min, size_max;
	char caches[CACHES_LEN];	/* names with * and ?, separated by commas; "": all */
};

/* Requested sizes are counted by the power of two that they fit in. */
#define SIZE_BITS	20

struct client {
	struct entry entry;
	struct settings settings;
	atomic_long_t pages;		/* of slots in use */
	atomic_long_t most_pages;	/* at one time */
	atomic_long_t live, allocs, guarded;
	atomic_long_t bytes;		/* asked for, guarded or not */
	atomic_long_t sizes[SIZE_BITS + 1]; /* up to 2^i bytes; the last one: all larger */
};

/* Its settings apply to code that belongs to no client, and to new clients. */
extern struct client client_default;

int client_init(void);
void client_exit(void);

/* The client that the code at @ip belongs to; &client_default if none. Any context. */
struct client *client_of(unsigned long ip);

/* Whether the settings select a cache of this name. */
bool client_wants_cache(const struct client *client, const char *name);

/* All clients and their settings. */
extern struct registry client_registry;

/* An allocation, guarded or not.  Any context. */
void client_count_alloc(struct client *client, size_t size);
/* Counts @pages more in use, or fewer if negative. */
void client_count_pages(struct client *client, long pages);
/* The counters, as a table separated by tabs. */
void client_show_counts(struct seq_file *m);

#endif /* KEFENCE_CLIENT_H */
