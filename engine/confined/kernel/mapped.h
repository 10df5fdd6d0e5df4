/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas of the module's own memory, which a process maps with mmap(2) of the device.
 * They have addresses for all of an image's arena, and pages only where it is used: each is
 * allocated and charged when the process first touches it, or when a program asks for
 * it (IMAGE_BATCH_USE) or goes deeper into its stack.
 *
 * Generated code may access any place of its arena, and must not fault.  So the kernel's
 * mapping is complete: where there is no page yet it has the arena's scratch page, which no
 * other arena sees.  A kernel mapping is never changed, as the kernel exports no function
 * that flushes one from other CPUs: programs get a new *view* when there are more pages, and
 * the old one stays for as long as another program of the arena uses it.
 */
#ifndef CONFINED_MAPPED_H
#define CONFINED_MAPPED_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct limits_account;
struct page;
struct vm_area_struct;

/**
 * struct view - a kernel mapping of all of an arena
 * @base: the arena's address there
 * @held: the arena's pages in it; where the arena has more now, there is a newer view
 */
struct view {
	void *base;
	unsigned long held;

	/* For mapped.c. */
	refcount_t refs;
	void *area;
};

/**
 * struct mapped - an arena
 * @user: its address in the process
 * @n:    its size in pages
 * @held: pages that it has, which only become more
 */
struct mapped {
	unsigned long user, n, held;

	/* For mapped.c. */
	refcount_t refs;		/* the process's mappings, and programs */
	struct mutex lock;		/* what follows, and @held */
	struct limits_account *account;
	unsigned long charged;
	struct view *view;		/* the newest, or NULL */
	struct page *scratch;
	/* Pages, NULL: not yet; @scratch: never, the process has that.  NULL: none so far. */
	struct page ***rows;
};

/* mmap(2) of a new arena: 0 or -errno. */
int mapped_mmap(struct vm_area_struct *vma);
/*
 * The arena of 2^@shift bytes that the calling process has mapped at @user, for a program;
 * or NULL: something else is there.  -EINTR or -ENOMEM in a pointer.
 */
struct mapped *mapped_get(unsigned long user, unsigned int shift);
/* The program has gone, and its @view, or NULL, with it. */
void mapped_put(struct mapped *mapped, struct view *view);
/*
 * Pages for @len bytes at @offset: 0, or -ENOMEM or -EINTR without any more.  May sleep, and
 * wants the task's stack.
 */
int mapped_use(struct mapped *mapped, unsigned long offset, unsigned long len);
/*
 * Replaces *@view, or NULL, by one that has all pages: 0, or -ENOMEM and it stays.  As above.
 */
int mapped_see(struct mapped *mapped, struct view **view);

/* Does @view lack pages? */
static inline bool mapped_has_more(const struct mapped *mapped, const struct view *view)
{
	return READ_ONCE(mapped->held) != view->held;
}

#endif /* CONFINED_MAPPED_H */
