/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a process that programs work on: its pages are pinned, and mapped into the kernel
 * between guards, so later changes of the process's own mapping do not affect them. Programs of a
 * process on the same memory share one arena.
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
 * @base: its address in the kernel
 * @user: its address in the process
 */
struct arena {
	void *base;
	unsigned long user;

	/* Private to arena.c. */
	struct hlist_node node;
	refcount_t refs;
	struct completion made;
	int err;			/* the result of making it */
	bool own;			/* pages of the kernel, not of a process */
	struct limits_pinned paid, beyond;	/* charged for its pages; for others */
	void *mapping;
	struct page **pages;
	struct page *guard;
	unsigned long n;
	struct mm_struct *mm;
};

/*
 * Makes or shares an arena of the 2^@shift bytes at @user, anonymous memory of the calling
 * process at a multiple of its size. Pages are charged before they are pinned. Returns an ERR_PTR
 * with the reason in @error on failure.
 */
struct arena *arena_get(unsigned long user, unsigned int shift, char *error,
			size_t error_len);
/*
 * Makes an arena of 2^@shift bytes in pages of the kernel, for programs that outlive the process:
 * copies @len bytes at @from of the calling process, and has no memory beyond them. It is charged
 * to the memory cgroup; the caller has charged the account. Its last @nshared pages are @shared,
 * which it holds; @len ends before them. Returns as above, without a text.
 */
struct arena *arena_make(unsigned long from, unsigned long len, unsigned int shift,
			 struct page **shared, unsigned long nshared);

void arena_put(struct arena *arena);

static inline unsigned long arena_size(const struct arena *arena)
{
	return arena->n << PAGE_SHIFT;
}

#endif /* CONFINED_ARENA_H */
