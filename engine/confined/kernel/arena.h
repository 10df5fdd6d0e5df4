/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a process that programs work on: its pages, pinned, and mapped into
 * the kernel between guards.  Whatever the process does to its own mapping later does
 * not affect them.  Programs of a process on the same memory share one arena.
 */
#ifndef CONFINED_ARENA_H
#define CONFINED_ARENA_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "limits.h"

/**
 * struct arena - an arena
 * @base: its address here
 * @user: and in the process
 */
struct arena {
	void *base;
	unsigned long user;

	/* For arena.c. */
	struct hlist_node node;
	refcount_t refs;
	struct completion made;
	int err;			/* of that */
	bool own;			/* pages of the kernel's, not of a process */
	struct limits_pinned paid, beyond;	/* for its pages; for those that they keep */
	void *mapping;
	struct page **pages;
	struct page *guard;
	unsigned long n;
	struct mm_struct *mm;
};

/*
 * The 2^@shift bytes at @user of the calling process, anonymous memory at a
 * multiple of its size, which are charged before they are pinned.  Returns -errno
 * in a pointer, with the reason in @error.
 */
struct arena *arena_get(unsigned long user, unsigned int shift, char *error,
			size_t error_len);
/*
 * 2^@shift bytes of the kernel's own, which begin with @len bytes at @from of the calling
 * process, and have no others: for programs that outlive it.  The memory cgroup pays; the
 * caller has charged the account.  As above, without a text.
 */
struct arena *arena_make(unsigned long from, unsigned long len, unsigned int shift);
void arena_put(struct arena *arena);

static inline unsigned long arena_size(const struct arena *arena)
{
	return arena->n << PAGE_SHIFT;
}

#endif /* CONFINED_ARENA_H */
