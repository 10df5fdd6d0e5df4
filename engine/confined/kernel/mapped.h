/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas of the module's own memory, which a process maps with mmap(2) of the device. An arena
 * has addresses for its whole size, but pages only where it is used: a page is allocated and
 * charged when the process first touches it, when a program requests it (IMAGE_BATCH_USE), or
 * when its stack grows.
 *
 * Generated code may access any place of its arena, and must not fault.  So the kernel's mapping
 * is complete: addresses without a page map the arena's scratch page, which no other arena
 * shares. A kernel mapping is never changed, because the kernel exports no function that flushes
 * it from other CPUs: when there are more pages, programs get a new *view*, and the old view
 * stays while another program of the arena uses it.
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
 * @base: the arena's address in the mapping
 * @held: number of the arena's pages in it; if the arena has more now, a newer view is needed
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
 * @held: number of its pages, which never decreases
 */
struct mapped {
	unsigned long user, n, held;

	/* For mapped.c. */
	refcount_t refs;		/* mappings of the process, and programs */
	struct mutex lock;		/* guards the fields below, and @held */
	struct limits_account *account;
	unsigned long charged;
	struct view *view;		/* the newest view, or NULL */
	struct page *scratch;
	/* Pages, NULL: not yet; @scratch: never, the process has that.  NULL: none so far. */
	struct page ***rows;
};

/* Implements mmap(2) of a new arena: 0 or -errno. */
int mapped_mmap(struct vm_area_struct *vma);
/*
 * Gets the arena of 2^@shift bytes that the calling process has mapped at @user, for a program;
 * NULL if another mapping is there; or an ERR_PTR, -EINTR or -ENOMEM.
 */
struct mapped *mapped_get(unsigned long user, unsigned int shift);
/* Releases the arena, and the program's @view unless NULL, when the program is destroyed. */
void mapped_put(struct mapped *mapped, struct view *view);
/*
 * Allocates pages for @len bytes at @offset: 0, or -ENOMEM or -EINTR with nothing allocated. May
 * sleep; must be called on the task's stack.
 */
int mapped_use(struct mapped *mapped, unsigned long offset, unsigned long len);
/*
 * Replaces *@view, which may be NULL, by a view with all pages: 0, or -ENOMEM without a change.
 * Called like mapped_use().
 */
int mapped_see(struct mapped *mapped, struct view **view);

/* Does @view lack pages? */
static inline bool mapped_has_more(const struct mapped *mapped, const struct view *view)
{
	return READ_ONCE(mapped->held) != view->held;
}

#endif /* CONFINED_MAPPED_H */
