/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places in instrumented modules that allocate or free, found by the address that the call
 * returns to.
 *
 * Unwinding a stack costs ten times as much as a slot. So a place remembers the stacks of its
 * calls, and where on each stack the return addresses of the first callers are: if they are there
 * again, the call is taken for the same path (STACKS_PATH). Stack depth cannot identify a path:
 * kernels start system calls at random depths.
 */
#ifndef KEFENCE_SITE_H
#define KEFENCE_SITE_H

#include <linux/atomic.h>
#include <linux/stackdepot.h>
#include <linux/types.h>

struct client;
struct seq_file;

#define SITE_PATHS	8
#define PATH_CALLERS	6
#define SITE_NAME_LEN	96

struct site_path {
	depot_stack_handle_t stack;	/* 0: none yet */
	unsigned int count;		/* of callers */
	struct site_caller {
		u32 ip;			/* lower half of the address: enough for kernel text */
		u32 offset;		/* in words, from the site's return address */
	} callers[PATH_CALLERS];
};

struct site {
	unsigned long ip;		/* 0: unused, 1: of an unloaded module */
	struct client *client;
	atomic_long_t allocs, guarded, frees;
	atomic_long_t live, pages;	/* of guarded objects */
	atomic_long_t ns, timed;	/* time that sampled calls took */
	unsigned int next_path;
	struct site_path paths[SITE_PATHS];
	char name[SITE_NAME_LEN];	/* symbol+offset/size [module] */
};

int site_init(void);
void site_exit(void);

/* The place of an address. Never NULL: calls without room share one place. Any context. */
struct site *site_of(unsigned long ip);

/* The stack of the current call, as exact as the client wants it; 0: none. */
depot_stack_handle_t site_stack(struct site *site);

/* Forgets an unloaded module's places. */
void site_forget(const struct client *client);

void site_show(struct seq_file *m);

#endif /* KEFENCE_SITE_H */
