// SPDX-License-Identifier: GPL-2.0
/*
 * See mapped.h.
 *
 * The memory cgroup of whoever needs a page pays for it, and is never made to kill for it: a
 * page that it cannot have is an error of the program, or SIGBUS for who writes to it in the
 * process.  Whoever reads there gets the scratch page: what a program has left in its
 * arena is looked at by the process, and must not end it.  The account of the process that
 * has made the mapping bounds the pages, with those for tables, which no cgroup pays for.
 *
 * A child of fork(2) gets the addresses, but none of the arena: it reads zeros.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../include/uapi/syscript_image.h"
#include "compat.h"
#include "limits.h"
#include "mapped.h"

#define GUARD_PAGES	(IMAGE_GUARD >> PAGE_SHIFT)
/* An error, and no other task's end. */
#define GFP_ARENA	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* -- Views ---------------------------------------------------------------------- */

/* Pages for tables that have 8 bytes for each of so many pages, wherever they begin. */
static unsigned long tables_of(unsigned long n)
{
	return DIV_ROUND_UP(n, PTRS_PER_PTE) + 1;
}

static unsigned long seen_by(const struct mapped *mapped)
{
	return mapped->n + 2 * GUARD_PAGES;
}

/*
 * The kernel's tables for a program's view, and for the next one, which is made while it has
 * that: so it can be made whatever else the account has.
 */
static unsigned long views_of(const struct mapped *mapped)
{
	return 2 * tables_of(seen_by(mapped));
}

static bool charge(struct mapped *mapped, unsigned long pages)
{
	if (!limits_hold(mapped->account, pages))
		return false;
	mapped->charged += pages;
	return true;
}

static void uncharge(struct mapped *mapped, unsigned long pages)
{
	mapped->charged -= pages;
	limits_release(mapped->account, pages);
}

static void *map(const struct mapped *mapped)
{
	unsigned long all = seen_by(mapped), i;
	struct page **pages = kvmalloc_array(all, sizeof(*pages), GFP_ARENA);
	void *area;

	if (!pages)
		return NULL;
	for (i = 0; i < all; i++)
		pages[i] = mapped->scratch;
	for (i = 0; i < mapped->n; i++)
		if (mapped->pages[i])
			pages[GUARD_PAGES + i] = mapped->pages[i];
	area = vmap(pages, all, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return area;
}

static void view_put(struct mapped *mapped, struct view *view)
{
	lockdep_assert_held(&mapped->lock);
	if (!refcount_dec_and_test(&view->refs))
		return;
	vunmap(view->area);
	kfree(view);
}

/* With a reference for the arena; NULL: no memory. */
static struct view *view_make(struct mapped *mapped)
{
	struct view *view = kzalloc(sizeof(*view), GFP_ARENA);

	if (!view)
		return NULL;
	view->area = map(mapped);
	if (!view->area) {
		kfree(view);
		return NULL;
	}
	refcount_set(&view->refs, 1);
	view->base = view->area + IMAGE_GUARD;
	view->held = mapped->held;
	return view;
}

static int renew(struct mapped *mapped)
{
	struct view *view;

	if (mapped->view && !mapped_has_more(mapped, mapped->view))
		return 0;
	view = view_make(mapped);
	if (!view)
		return -ENOMEM;
	if (mapped->view)
		view_put(mapped, mapped->view);
	mapped->view = view;
	return 0;
}

int mapped_see(struct mapped *mapped, struct view **view)
{
	struct view *old = *view;
	int err;

	mutex_lock(&mapped->lock);
	err = renew(mapped);
	if (!err) {
		refcount_inc(&mapped->view->refs);
		*view = mapped->view;
		if (old)
			view_put(mapped, old);
	}
	mutex_unlock(&mapped->lock);
	return err;
}

static void forget(struct mapped *mapped, struct view *view)
{
	view_put(mapped, view);
	/* No program's, only the arena's: the next program gets another. */
	if (mapped->view && refcount_read(&mapped->view->refs) == 1) {
		view_put(mapped, mapped->view);
		mapped->view = NULL;
	}
}

/* -- Pages ---------------------------------------------------------------------- */

static void hold(struct mapped *mapped, unsigned long i, struct page *page)
{
	lockdep_assert_held(&mapped->lock);
	mapped->pages[i] = page;
	WRITE_ONCE(mapped->held, mapped->held + 1);
}

/* Charged; NULL: there is none. */
static struct page *get_page_for(struct mapped *mapped)
{
	struct page *page;

	if (!charge(mapped, 1))
		return NULL;
	page = alloc_page(GFP_ARENA | __GFP_ZERO);
	if (!page)
		uncharge(mapped, 1);
	return page;
}

/* To @fresh, a page for each that is missing of @i .. @end. */
static int get_missing(struct mapped *mapped, unsigned long i, unsigned long end,
		       struct list_head *fresh)
{
	struct page *page;

	for (; i < end; i++) {
		if (mapped->pages[i] == mapped->scratch)
			return -ENOMEM;
		if (mapped->pages[i])
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		page = get_page_for(mapped);
		if (!page)
			return -ENOMEM;
		list_add(&page->lru, fresh);
		cond_resched();
	}
	return 0;
}

static struct page *first_of(struct list_head *pages)
{
	struct page *page = list_first_entry_or_null(pages, struct page, lru);

	if (page)
		list_del_init(&page->lru);
	return page;
}

/* All of them or none: what has filled a control group up must not stay for nothing. */
static int use(struct mapped *mapped, unsigned long i, unsigned long end)
{
	int err;
	LIST_HEAD(fresh);
	struct page *page;

	err = get_missing(mapped, i, end, &fresh);
	for (; !err && i < end; i++)
		if (!mapped->pages[i])
			hold(mapped, i, first_of(&fresh));
	while ((page = first_of(&fresh))) {
		uncharge(mapped, 1);
		put_page(page);
	}
	return err;
}

int mapped_use(struct mapped *mapped, unsigned long offset, unsigned long len)
{
	int err;

	mutex_lock(&mapped->lock);
	err = use(mapped, offset >> PAGE_SHIFT, PAGE_ALIGN(offset + len) >> PAGE_SHIFT);
	mutex_unlock(&mapped->lock);
	return err;
}

static void mapped_free(struct mapped *mapped)
{
	kvfree(mapped->pages);
	kfree(mapped);
}

static void free_pages_of(struct mapped *mapped)
{
	unsigned long i;

	for (i = 0; i < mapped->n; i++) {
		if (mapped->pages[i] && mapped->pages[i] != mapped->scratch)
			put_page(mapped->pages[i]);
		cond_resched();
	}
	put_page(mapped->scratch);
}

static void drop(struct mapped *mapped)
{
	if (!refcount_dec_and_test(&mapped->refs))
		return;
	free_pages_of(mapped);
	limits_close_arena(mapped->account, mapped->charged);
	mapped_free(mapped);
}

/* -- Of the process ------------------------------------------------------------- */

/* The page with number @i, to be seen by the process; NULL: it may not write there. */
static struct page *page_of(struct mapped *mapped, unsigned long i, bool writes)
{
	struct page *page = mapped->pages[i];

	if (page)
		return page;
	page = get_page_for(mapped);
	if (page)
		hold(mapped, i, page);
	else if (!writes)
		mapped->pages[i] = page = mapped->scratch;
	return page;
}

static vm_fault_t insert(struct vm_fault *vmf, struct page *page)
{
	int err = page ? vm_insert_page(vmf->vma, vmf->address & PAGE_MASK, page) : -ENOMEM;

	/* Another thread was quicker. */
	return !err || err == -EBUSY ? VM_FAULT_NOPAGE : VM_FAULT_SIGBUS;
}

/* A child's: no other process has it, and the mapping keeps it. */
static vm_fault_t fault_child(struct vm_fault *vmf)
{
	struct page *page = alloc_page(GFP_ARENA | __GFP_ZERO);
	vm_fault_t ret = insert(vmf, page);

	if (page)
		put_page(page);
	return ret;
}

static vm_fault_t mapped_fault(struct vm_fault *vmf)
{
	struct mapped *mapped = vmf->vma->vm_private_data;
	vm_fault_t ret;

	if (!mapped)
		return fault_child(vmf);
	if (vmf->pgoff >= mapped->n)
		return VM_FAULT_SIGBUS;
	mutex_lock(&mapped->lock);
	ret = insert(vmf, page_of(mapped, vmf->pgoff, vmf->flags & FAULT_FLAG_WRITE));
	mutex_unlock(&mapped->lock);
	return ret;
}

/* Part of it, or one that has moved; or a child's. */
static void mapped_open(struct vm_area_struct *vma)
{
	struct mapped *mapped = vma->vm_private_data;

	if (vma->vm_mm != current->mm)
		vma->vm_private_data = NULL;
	else if (mapped)
		refcount_inc(&mapped->refs);
}

static void mapped_close(struct vm_area_struct *vma)
{
	struct mapped *mapped = vma->vm_private_data;

	if (mapped)
		drop(mapped);
}

static const struct vm_operations_struct mapped_ops = {
	.open = mapped_open,
	.close = mapped_close,
	.fault = mapped_fault,
};

static struct mapped *allocate(unsigned long user, unsigned long n)
{
	struct mapped *mapped = kzalloc(sizeof(*mapped), GFP_ARENA);

	if (!mapped)
		return NULL;
	mapped->pages = kvcalloc(n, sizeof(*mapped->pages), GFP_ARENA);
	if (!mapped->pages) {
		kfree(mapped);
		return NULL;
	}
	refcount_set(&mapped->refs, 1);
	mutex_init(&mapped->lock);
	mapped->user = user;
	mapped->n = n;
	return mapped;
}

/* @pages and the process's tables count as well, and two for the rest. */
static int pay(struct mapped *mapped)
{
	int err = limits_open_arena(&mapped->account);

	if (err)
		return err;
	mapped->scratch = alloc_page(GFP_ARENA | __GFP_ZERO);
	if (mapped->scratch && charge(mapped, 2 * tables_of(mapped->n) + 2))
		return 0;
	if (mapped->scratch)
		put_page(mapped->scratch);
	limits_close_arena(mapped->account, 0);
	return -ENOMEM;
}

static struct mapped *make(unsigned long user, unsigned long n)
{
	struct mapped *mapped = allocate(user, n);
	int err = mapped ? pay(mapped) : -ENOMEM;

	if (!err)
		return mapped;
	if (mapped)
		mapped_free(mapped);
	return ERR_PTR(err);
}

static bool is_arena(const struct vm_area_struct *vma)
{
	unsigned long size = vma->vm_end - vma->vm_start;

	return is_power_of_2(size) && !(vma->vm_start & (size - 1)) && !vma->vm_pgoff &&
	       size >= 1UL << IMAGE_ARENA_SHIFT_MIN && size <= 1UL << IMAGE_ARENA_SHIFT_MAX &&
	       vma->vm_flags & VM_SHARED && !(vma->vm_flags & VM_EXEC);
}

int mapped_mmap(struct vm_area_struct *vma)
{
	struct mapped *mapped;

	if (!is_arena(vma))
		return -EINVAL;
	mapped = make(vma->vm_start, vma_pages(vma));
	if (IS_ERR(mapped))
		return PTR_ERR(mapped);
	/* VM_WIPEONFORK: see mapped_open(); the child gets no page either. */
	compat_vm_flags_set(vma, VM_MIXEDMAP | VM_WIPEONFORK | VM_DONTEXPAND | VM_DONTDUMP);
	compat_vm_flags_clear(vma, VM_MAYEXEC);
	vma->vm_private_data = mapped;
	vma->vm_ops = &mapped_ops;
	return 0;
}

static struct mapped *mapped_at(unsigned long user, unsigned int shift)
{
	struct vm_area_struct *vma = find_vma(current->mm, user);
	struct mapped *mapped;

	if (!vma || vma->vm_ops != &mapped_ops || vma->vm_start != user)
		return NULL;
	mapped = vma->vm_private_data;
	if (!mapped || mapped->user != user || mapped->n != 1UL << (shift - PAGE_SHIFT) ||
	    vma->vm_pgoff || vma->vm_end != user + (1UL << shift))
		return NULL;
	refcount_inc(&mapped->refs);
	return mapped;
}

struct mapped *mapped_get(unsigned long user, unsigned int shift)
{
	struct mapped *mapped;
	bool charged;

	if (mmap_read_lock_killable(current->mm))
		return ERR_PTR(-EINTR);
	mapped = mapped_at(user, shift);
	mmap_read_unlock(current->mm);
	if (!mapped)
		return NULL;
	mutex_lock(&mapped->lock);
	charged = charge(mapped, views_of(mapped));
	mutex_unlock(&mapped->lock);
	if (charged)
		return mapped;
	drop(mapped);
	return ERR_PTR(-ENOMEM);
}

void mapped_put(struct mapped *mapped, struct view *view)
{
	mutex_lock(&mapped->lock);
	if (view)
		forget(mapped, view);
	uncharge(mapped, views_of(mapped));
	mutex_unlock(&mapped->lock);
	drop(mapped);
}
