// SPDX-License-Identifier: GPL-2.0
/*
 * Implements mapped.h.
 *
 * A page is charged to the memory cgroup of the task that needs it, without invoking the OOM
 * killer: if the charge fails, the program gets an error, or the process SIGBUS when it writes
 * there. Reading in the process finds the scratch page instead, because reading what a program
 * has left should not end the process; only if the kernel cannot even note that, reading gets
 * SIGBUS too. Pages, and pages for tables, which no cgroup is charged for, are also limited by
 * the account of the process that made the mapping.
 *
 * A child of fork(2) gets its own arena at the same addresses, which programs cannot use: it is
 * zeroed, charged to the same account, and allocated when the child first touches it, because
 * most children call exec(2) at once. With MADV_KEEPONFORK the child shares the arena, like any
 * MAP_SHARED mapping; the arena is freed and uncharged with the last mapping.
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
#include "stacks.h"

#define GUARD_PAGES	(IMAGE_GUARD >> PAGE_SHIFT)
/*
 * Pages of an arena are noted in rows of this many, because an arena uses few, which are close
 * together.
 */
#define ROW		16UL
/* An address of an arena without a mapping. */
#define NO_PROGRAMS	ULONG_MAX
/* A failed allocation is an error, and does not invoke the OOM killer. */
#define GFP_ARENA	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* -- Views ---------------------------------------------------------------------- */

/* The most pages of page tables for a mapping of @n pages at any address: 8 bytes each. */
static unsigned long tables_of(unsigned long n)
{
	return DIV_ROUND_UP(n, PTRS_PER_PTE) + 1;
}

static unsigned long seen_by(const struct mapped *mapped)
{
	return mapped->n + 2 * GUARD_PAGES;
}

/*
 * Charged for the kernel's tables of a program's view, and of the next view, which is made while
 * the program still has the current one: so making it cannot fail at the account's limit.
 */
static unsigned long views_of(const struct mapped *mapped)
{
	return 2 * tables_of(seen_by(mapped));
}

static unsigned long rows_of(const struct mapped *mapped)
{
	return DIV_ROUND_UP(mapped->n, ROW);
}

static bool charge_pages(struct mapped *mapped, unsigned long pages)
{
	if (!limits_hold(mapped->account, pages) &&
	    (!stacks_free_idle() || !limits_hold(mapped->account, pages)))
		return false;
	mapped->charged += pages;
	return true;
}

static void uncharge_pages(struct mapped *mapped, unsigned long pages)
{
	mapped->charged -= pages;
	limits_release(mapped->account, pages);
}

static struct page *page_at(const struct mapped *mapped, unsigned long i)
{
	struct page **row = mapped->rows[i / ROW];

	return row ? row[i % ROW] : NULL;
}

static void *map_pages(const struct mapped *mapped)
{
	unsigned long all = seen_by(mapped), i;
	struct page **pages = kvmalloc_array(all, sizeof(*pages), GFP_ARENA);
	void *area;

	if (!pages)
		return NULL;
	for (i = 0; i < all; i++)
		pages[i] = mapped->scratch;
	for (i = 0; i < mapped->n; i++)
		if (page_at(mapped, i))
			pages[GUARD_PAGES + i] = page_at(mapped, i);
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

/* Returns a view with a reference for the arena; NULL: out of memory. */
static struct view *view_make(struct mapped *mapped)
{
	struct view *view = kzalloc(sizeof(*view), GFP_ARENA);

	if (!view)
		return NULL;
	view->area = map_pages(mapped);
	if (!view->area) {
		kfree(view);
		return NULL;
	}
	refcount_set(&view->refs, 1);
	view->base = view->area + IMAGE_GUARD;
	view->held = mapped->held;
	return view;
}

static int renew_view(struct mapped *mapped)
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
	err = renew_view(mapped);
	if (!err) {
		refcount_inc(&mapped->view->refs);
		*view = mapped->view;
		if (old)
			view_put(mapped, old);
	}
	mutex_unlock(&mapped->lock);
	return err;
}

static void forget_view(struct mapped *mapped, struct view *view)
{
	view_put(mapped, view);
	/* Only the arena has the view: the next program gets a new one. */
	if (mapped->view && refcount_read(&mapped->view->refs) == 1) {
		view_put(mapped, mapped->view);
		mapped->view = NULL;
	}
}

/* -- Pages ---------------------------------------------------------------------- */

/* False: out of memory for the row of page @i. */
static bool make_row(struct mapped *mapped, unsigned long i)
{
	struct page ***row = &mapped->rows[i / ROW];

	if (!*row)
		*row = kcalloc(ROW, sizeof(**row), GFP_ARENA);
	return *row;
}

/* The entry of page @i, whose row exists. */
static void note_page(struct mapped *mapped, unsigned long i, struct page *page)
{
	lockdep_assert_held(&mapped->lock);
	mapped->rows[i / ROW][i % ROW] = page;
	WRITE_ONCE(mapped->held, mapped->held + 1);
}

/* Allocates a charged page; NULL: out of memory. */
static struct page *get_page_for(struct mapped *mapped)
{
	struct page *page;

	if (!charge_pages(mapped, 1))
		return NULL;
	page = alloc_page(GFP_ARENA | __GFP_ZERO);
	if (!page)
		uncharge_pages(mapped, 1);
	return page;
}

/* Allocates to @fresh a page for each missing page of @i .. @end. */
static int alloc_missing(struct mapped *mapped, unsigned long i, unsigned long end,
			 struct list_head *fresh)
{
	struct page *page;

	for (; i < end; i++) {
		page = page_at(mapped, i);
		if (page == mapped->scratch)
			return -ENOMEM;
		if (page)
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		page = make_row(mapped, i) ? get_page_for(mapped) : NULL;
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

/* All pages or none: pages that are of no use must not fill up the control group. */
static int use_pages(struct mapped *mapped, unsigned long i, unsigned long end)
{
	int err;
	LIST_HEAD(fresh);
	struct page *page;

	err = alloc_missing(mapped, i, end, &fresh);
	for (; !err && i < end; i++)
		if (!page_at(mapped, i))
			note_page(mapped, i, first_of(&fresh));
	while ((page = first_of(&fresh))) {
		uncharge_pages(mapped, 1);
		put_page(page);
	}
	return err;
}

int mapped_use(struct mapped *mapped, unsigned long offset, unsigned long len)
{
	int err;

	mutex_lock(&mapped->lock);
	err = use_pages(mapped, offset >> PAGE_SHIFT, PAGE_ALIGN(offset + len) >> PAGE_SHIFT);
	mutex_unlock(&mapped->lock);
	return err;
}

static struct mapped *mapped_alloc(struct limits_account *account, unsigned long user,
				   unsigned long n)
{
	struct mapped *mapped = kzalloc(sizeof(*mapped), GFP_ARENA);

	if (!mapped)
		return NULL;
	refcount_set(&mapped->refs, 1);
	mutex_init(&mapped->lock);
	mapped->account = account;
	mapped->user = user;
	mapped->n = n;
	return mapped;
}

static void free_row(struct mapped *mapped, struct page **row)
{
	unsigned long i;

	for (i = 0; row && i < ROW; i++)
		if (row[i] && row[i] != mapped->scratch)
			put_page(row[i]);
	kfree(row);
	cond_resched();
}

static void free_pages_of(struct mapped *mapped)
{
	unsigned long i;

	if (!mapped->rows)
		return;
	for (i = 0; i < rows_of(mapped); i++)
		free_row(mapped, mapped->rows[i]);
	kvfree(mapped->rows);
	put_page(mapped->scratch);
}

static void mapped_drop(struct mapped *mapped)
{
	if (!refcount_dec_and_test(&mapped->refs))
		return;
	free_pages_of(mapped);
	limits_close_arena(mapped->account, mapped->charged);
	kfree(mapped);
}

/*
 * Charges an arena, once, before its first page: @rows, the process's tables, and two pages for
 * the rest. 0 or -ENOMEM.
 */
static int mapped_prepare(struct mapped *mapped)
{
	unsigned long pages = 2 * tables_of(mapped->n) + 2;

	lockdep_assert_held(&mapped->lock);
	if (mapped->rows)
		return 0;
	if (!charge_pages(mapped, pages))
		return -ENOMEM;
	mapped->scratch = alloc_page(GFP_ARENA | __GFP_ZERO);
	if (mapped->scratch)
		mapped->rows = kvcalloc(rows_of(mapped), sizeof(*mapped->rows), GFP_ARENA);
	if (mapped->rows)
		return 0;
	if (mapped->scratch)
		put_page(mapped->scratch);
	mapped->scratch = NULL;
	uncharge_pages(mapped, pages);
	return -ENOMEM;
}

/* -- Mappings of the process ------------------------------------------------------ */

/* Page @i for the process; NULL: it may not write there. */
static struct page *page_of(struct mapped *mapped, unsigned long i, bool writes)
{
	struct page *page = page_at(mapped, i);

	if (page || !make_row(mapped, i))
		return page;
	page = get_page_for(mapped);
	if (page)
		note_page(mapped, i, page);
	else if (!writes)
		mapped->rows[i / ROW][i % ROW] = page = mapped->scratch;
	return page;
}

static vm_fault_t insert_page(struct vm_fault *vmf, struct page *page)
{
	int err = page ? vm_insert_page(vmf->vma, vmf->address & PAGE_MASK, page) : -ENOMEM;

	/* Another thread was faster. */
	return !err || err == -EBUSY ? VM_FAULT_NOPAGE : VM_FAULT_SIGBUS;
}

static vm_fault_t mapped_fault(struct vm_fault *vmf)
{
	struct mapped *mapped = vmf->vma->vm_private_data;
	bool writes = vmf->flags & FAULT_FLAG_WRITE;
	vm_fault_t ret;

	if (!mapped || vmf->pgoff >= mapped->n)
		return VM_FAULT_SIGBUS;
	mutex_lock(&mapped->lock);
	ret = insert_page(vmf, mapped_prepare(mapped) ? NULL : page_of(mapped, vmf->pgoff, writes));
	mutex_unlock(&mapped->lock);
	return ret;
}

/* An arena for a child; NULL: out of memory, and the child gets SIGBUS. */
static struct mapped *make_child(const struct mapped *of)
{
	struct mapped *mapped = mapped_alloc(of->account, NO_PROGRAMS, of->n);

	if (mapped)
		limits_join_arena(of->account);
	return mapped;
}

/*
 * Only a part of the arena is mapped, or the mapping has moved; or it is a child's, to which
 * pages may have been copied.
 */
static void mapped_open(struct vm_area_struct *vma)
{
	struct mapped *mapped = vma->vm_private_data;

	if (!mapped)
		return;
	if (vma->vm_mm != current->mm && vma->vm_flags & VM_WIPEONFORK)
		vma->vm_private_data = make_child(mapped);
	else
		refcount_inc(&mapped->refs);
}

static void mapped_close(struct vm_area_struct *vma)
{
	struct mapped *mapped = vma->vm_private_data;

	if (mapped)
		mapped_drop(mapped);
}

static const struct vm_operations_struct mapped_ops = {
	.open = mapped_open,
	.close = mapped_close,
	.fault = mapped_fault,
};

static struct mapped *mapped_make(unsigned long user, unsigned long n)
{
	struct limits_account *account;
	struct mapped *mapped;
	int err = limits_open_arena(&account);

	if (err)
		return ERR_PTR(err);
	mapped = mapped_alloc(account, user, n);
	if (!mapped) {
		limits_close_arena(account, 0);
		return ERR_PTR(-ENOMEM);
	}
	mutex_lock(&mapped->lock);
	err = mapped_prepare(mapped);
	mutex_unlock(&mapped->lock);
	if (!err)
		return mapped;
	mapped_drop(mapped);
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
	mapped = mapped_make(vma->vm_start, vma_pages(vma));
	if (IS_ERR(mapped))
		return PTR_ERR(mapped);
	/* VM_WIPEONFORK, see mapped_open(): the child gets no page either. */
	compat_vm_flags_init(vma, (vma->vm_flags & ~VM_MAYEXEC) | VM_MIXEDMAP | VM_WIPEONFORK |
				  VM_DONTEXPAND | VM_DONTDUMP);
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
	charged = charge_pages(mapped, views_of(mapped));
	mutex_unlock(&mapped->lock);
	if (charged)
		return mapped;
	mapped_drop(mapped);
	return ERR_PTR(-ENOMEM);
}

void mapped_put(struct mapped *mapped, struct view *view)
{
	mutex_lock(&mapped->lock);
	if (view)
		forget_view(mapped, view);
	uncharge_pages(mapped, views_of(mapped));
	mutex_unlock(&mapped->lock);
	mapped_drop(mapped);
}
