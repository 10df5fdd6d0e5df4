/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places in instrumented modules that allocate or free, found by the address that
 * the call returns to.
 *
 * To unwind a stack costs ten times as much as a slot.  So a place remembers the
 * stacks of its calls, and of each where on the stack its first callers are: where
 * they are there again it is taken for the same path (STACKS_PATH).  How deep the
 * stack is says nothing: kernels start system calls at random depths.
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
		u32 ip;			/* its lower half says it all of kernel text */
		u32 offset;		/* words from where the site's is on the stack */
	} callers[PATH_CALLERS];
};

struct site {
	unsigned long ip;		/* 0: unused, 1: of a module that is gone */
	struct client *client;
	atomic_long_t allocs, guarded, frees;
	atomic_long_t live, pages;	/* of guarded objects */
	atomic_long_t ns, timed;	/* what some of the calls took */
	unsigned int next_path;
	struct site_path paths[SITE_PATHS];
	char name[SITE_NAME_LEN];	/* symbol+offset/size [module] */
};

int site_init(void);
void site_exit(void);

/* Never NULL: calls for which there is no room share one place.  Any context. */
struct site *site_of(unsigned long ip);

/* The stack of the call under way, as the client wants it; 0 if there is none. */
depot_stack_handle_t site_stack(struct site *site);

/* A module's places end. */
void site_forget(const struct client *client);

void site_show(struct seq_file *m);

#endif /* KEFENCE_SITE_H */
