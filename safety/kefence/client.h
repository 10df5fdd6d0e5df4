/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instrumented modules, by name, and what is set for each of them.  A client
 * outlives its module: its settings count again when the module is loaded again.
 */
#ifndef KEFENCE_CLIENT_H
#define KEFENCE_CLIENT_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

#include "registry.h"

struct seq_file;

/* What follows a violation, once it is told. */
enum action {
	ACTION_READ,		/* reads go on, with zeros; as KILL for writes */
	ACTION_WRITE,		/* reads and writes go on */
	ACTION_KILL,		/* the task goes on to the next return to user space */
	ACTION_CRASH,		/* an oops */
};

/* Where in its pages an object lies. */
enum side {
	SIDE_END,		/* overruns fault */
	SIDE_START,		/* underruns fault */
	SIDE_RANDOM,		/* either */
};

enum policy {
	POLICY_ALL,		/* while there are slots */
	POLICY_RATE,		/* when they get scarce, busy places do without */
};

enum stacks {
	STACKS_OFF,		/* places only */
	STACKS_PATH,		/* one for each path to a place, see site.h */
	STACKS_ALL,		/* always the very stack */
};

#define CACHES_LEN	128

struct settings {
	enum action action;
	enum side side;
	enum policy policy;
	enum stacks stacks;
	unsigned int align;		/* 1: exact, 0: see object.c */
	unsigned int every;		/* violation is told, not just a place's first */
	bool kmalloc;			/* matches ->caches */
	unsigned long budget;		/* pages, 0: all that there are */
	unsigned long size_min, size_max;
	char caches[CACHES_LEN];	/* names with * and ?, by comma; "": all */
};

/* Sizes that are asked for are counted by the power of two that they fit in. */
#define SIZE_BITS	20

struct client {
	struct entry entry;
	struct settings settings;
	atomic_long_t pages;		/* of slots in use */
	atomic_long_t most_pages;	/* at one time */
	atomic_long_t live, allocs, guarded;
	atomic_long_t bytes;		/* asked for, guarded or not */
	atomic_long_t sizes[SIZE_BITS + 1]; /* up to 2^i bytes; the last one: any more */
};

/* Whose settings count for code that belongs to no client, and for new clients. */
extern struct client client_default;

int client_init(void);
void client_exit(void);

/*
 * The client that the code at @ip belongs to; &client_default if none.  Any
 * context.
 */
struct client *client_of(unsigned long ip);

/* Whether a cache's name is among those that are set. */
bool client_wants_cache(const struct client *client, const char *name);

/* All clients, and what is set for them. */
extern struct registry client_registry;

/* An allocation, guarded or not.  Any context. */
void client_count_alloc(struct client *client, size_t size);
/* @pages more in use, or fewer. */
void client_count_pages(struct client *client, long pages);
/* What was counted, a table with tabs. */
void client_show_counts(struct seq_file *m);

#endif /* KEFENCE_CLIENT_H */
