/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a process that programs work on: its pages, pinned, and mapped into
 * the kernel between guards.  What the process does to its own mapping does not
 * concern them any more.  Programs of a process on the same memory share one arena.
 */
#ifndef CONFINED_ARENA_H
#define CONFINED_ARENA_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct page;
struct mm_struct;

/**
 * struct arena - an arena
 * @base: its address here
 * @user: and in the process
 */
struct arena {
	void *base;
	unsigned long user;

	/* For arena.c. */
	struct list_head node;
	refcount_t refs;
	void *mapping;
	struct page **pages;
	struct page *guard;
	unsigned long n;
	struct mm_struct *mm;
};

/*
 * The 2^@shift bytes at @user of the calling process, anonymous memory at a
 * multiple of its size, which counts as pinned.  Returns -errno in a pointer, with
 * the reason in @error.
 */
struct arena *arena_get(unsigned long user, unsigned int shift, char *error,
			size_t error_len);
void arena_put(struct arena *arena);

void arenas_init(void);

#endif /* CONFINED_ARENA_H */
