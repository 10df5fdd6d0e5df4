// SPDX-License-Identifier: GPL-2.0
/*
 * Pins pages of the process for arena.h, and shares arenas of the same pages.
 *
 * Everything is charged first: limits_pin() comes before the first page is pinned and before
 * tables of pages are allocated. The exception are the remaining pages of huge pages, which are
 * known only after pinning. A shared arena is found without pinning anything. All users share the
 * lock, which is held for a few steps only.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../include/uapi/syscript_image.h"
#include "arena.h"
#include "pages.h"

#define GUARD_PAGES	(IMAGE_GUARD >> PAGE_SHIFT)
#define PIN_AT_ONCE	512UL
/* The number of pages that direct I/O holds at once, which is not charged either. */
#define LOOK_AT_ONCE	64UL

static DEFINE_HASHTABLE(arenas, 8);
static DEFINE_SPINLOCK(arenas_lock);

static int refuse(char *error, size_t error_len, int err, const char *text)
{
	scnprintf(error, error_len, "the shared memory %s", text);
	return err;
}

/* -- Pages --------------------------------------------------------------------- */

static void unpin(struct arena *arena, unsigned long n)
{
	unpin_user_pages_dirty_lock(arena->pages, n, true);
}

/* Pages of files and of other processes are refused: other rules apply to them. */
static bool are_anonymous(struct page **pages, unsigned long n)
{
	while (n--)
		if (!PageAnon(pages[n]))
			return false;
	return true;
}

/* Pins some pages, beginning with the @done-th. Returns how many, or -errno. */
static int pin_some(struct arena *arena, unsigned long done)
{
	int got;

	if (fatal_signal_pending(current))
		return -EINTR;
	got = pin_user_pages_fast(arena->user + (done << PAGE_SHIFT),
				  min(arena->n - done, PIN_AT_ONCE),
				  FOLL_WRITE | FOLL_LONGTERM, arena->pages + done);
	cond_resched();
	/* No address of the process; kernels differ in the result. */
	return !got || got == -EOVERFLOW ? -EFAULT : got;
}

static int pin(struct arena *arena, char *error, size_t error_len)
{
	unsigned long done = 0;
	int got;

	while (done < arena->n) {
		got = pin_some(arena, done);
		if (got < 0) {
			unpin(arena, done);
			return refuse(error, error_len, got, "cannot be written");
		}
		done += got;
		if (!are_anonymous(arena->pages + done - got, got)) {
			unpin(arena, done);
			return refuse(error, error_len, -EINVAL,
				      "is not anonymous and private");
		}
	}
	return 0;
}

/*
 * Counts pages that are held besides the arena's: a pinned page of a huge page holds all of it.
 * For each run of arena pages from one folio, adds the folio's other pages.
 */
static unsigned long count_beyond(const struct arena *arena)
{
	unsigned long i, next, beyond = 0;

	for (i = 0; i < arena->n; i = next) {
		struct folio *folio = page_folio(arena->pages[i]);

		for (next = i + 1; next < arena->n; next++)
			if (page_folio(arena->pages[next]) != folio)
				break;
		beyond += folio_nr_pages(folio) - min_t(unsigned long, next - i,
							folio_nr_pages(folio));
	}
	return beyond;
}

/*
 * Charges pages that are known only after pinning. Returns 0, or the error, with no page pinned
 * any more.
 */
static int charge_beyond(struct arena *arena, char *error, size_t error_len)
{
	unsigned long pages = count_beyond(arena);
	int err = pages ? limits_pin(&arena->beyond, pages, error, error_len) : 0;

	if (err)
		unpin(arena, arena->n);
	return err;
}

static void uncharge_beyond(struct arena *arena)
{
	if (arena->beyond.pages)
		limits_unpin(&arena->beyond);
}

/*
 * Compares some pages of the process with @arena's, beginning with the @done-th. Returns how
 * many, or 0 if one differs.
 */
static unsigned long same_pages(const struct arena *arena, unsigned long done)
{
	unsigned long n = min(arena->n - done, LOOK_AT_ONCE);
	struct page *pages[LOOK_AT_ONCE];
	bool same;
	int i, got;

	got = get_user_pages_fast(arena->user + (done << PAGE_SHIFT), n, FOLL_WRITE, pages);
	if (got <= 0)
		return 0;
	same = !memcmp(pages, arena->pages + done, got * sizeof(*pages));
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	cond_resched();
	return same ? got : 0;
}

/* Are the process's pages there still @arena's? */
static bool is_mapped(const struct arena *arena)
{
	unsigned long done = 0, got;

	while (done < arena->n) {
		got = fatal_signal_pending(current) ? 0 : same_pages(arena, done);
		if (!got)
			return false;
		done += got;
	}
	return true;
}

/* -- Arenas -------------------------------------------------------------------- */

/* All guards map the same page: see IMAGE_GUARD. */
static int map(struct arena *arena)
{
	unsigned long n = arena->n + 2 * GUARD_PAGES, i;
	struct page **pages = kvmalloc_array(n, sizeof(*pages),
					     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!pages)
		return -ENOMEM;
	for (i = 0; i < GUARD_PAGES; i++) {
		pages[i] = arena->guard;
		pages[n - 1 - i] = arena->guard;
	}
	memcpy(pages + GUARD_PAGES, arena->pages, arena->n * sizeof(*pages));
	arena->mapping = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	if (!arena->mapping)
		return -ENOMEM;
	arena->base = arena->mapping + IMAGE_GUARD;
	return 0;
}

static int pin_and_map(struct arena *arena, char *error, size_t error_len)
{
	int err;

	arena->guard = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	arena->pages = kvmalloc_array(arena->n, sizeof(*arena->pages),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!arena->guard || !arena->pages)
		return -ENOMEM;
	err = pin(arena, error, error_len) ?: charge_beyond(arena, error, error_len);
	if (err)
		return err;
	err = map(arena);
	if (!err)
		return 0;
	unpin(arena, arena->n);
	uncharge_beyond(arena);
	return err;
}

static void free_pages_of(struct arena *arena)
{
	if (arena->guard)
		__free_page(arena->guard);
	kvfree(arena->pages);
}

static int fill(struct arena *arena, char *error, size_t error_len)
{
	int err = limits_pin(&arena->paid, arena->n, error, error_len);

	if (err)
		return err;
	err = pin_and_map(arena, error, error_len);
	if (!err)
		return 0;
	free_pages_of(arena);
	limits_unpin(&arena->paid);
	return err;
}

static void empty(struct arena *arena)
{
	vunmap(arena->mapping);
	if (arena->own)
		pages_free(arena->pages, arena->n);
	else
		unpin(arena, arena->n);
	free_pages_of(arena);
	if (arena->own)
		return;
	limits_unpin(&arena->paid);
	uncharge_beyond(arena);
}

static struct arena *arena_alloc(unsigned long user, unsigned int shift)
{
	struct arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL_ACCOUNT);

	if (!arena)
		return NULL;
	refcount_set(&arena->refs, 1);
	init_completion(&arena->made);
	arena->user = user;
	arena->n = 1UL << (shift - PAGE_SHIFT);
	arena->mm = current->mm;
	return arena;
}

static unsigned long key_of(const struct arena *arena)
{
	return hash_ptr(arena->mm, BITS_PER_LONG) ^ arena->user >> PAGE_SHIFT;
}

/* The newest arena at the same addresses, with a reference. */
static struct arena *find(const struct arena *like)
{
	struct arena *arena;

	lockdep_assert_held(&arenas_lock);
	hash_for_each_possible(arenas, arena, node, key_of(like))
		if (arena->mm == like->mm && arena->user == like->user &&
		    arena->n == like->n && refcount_inc_not_zero(&arena->refs))
			return arena;
	return NULL;
}

/*
 * Returns an existing arena at @own's addresses unless @add is set, or else lists and returns
 * @own.
 */
static struct arena *find_or_add(struct arena *own, bool add)
{
	struct arena *arena;

	spin_lock(&arenas_lock);
	arena = add ? NULL : find(own);
	if (!arena)
		hash_add(arenas, &own->node, key_of(own));
	spin_unlock(&arenas_lock);
	return arena ?: own;
}

static void forget(struct arena *arena)
{
	spin_lock(&arenas_lock);
	hash_del(&arena->node);
	spin_unlock(&arenas_lock);
}

/* Other threads of the process that want the same arena wait, and are not charged. */
static int make(struct arena *arena, char *error, size_t error_len)
{
	int err = fill(arena, error, error_len);

	if (err)
		forget(arena);
	arena->err = err;
	complete_all(&arena->made);
	return err;
}

/*
 * @arena is at the same addresses. Returns 0 if it has the pages that the process has there, 1 if
 * not, -EAGAIN if making it failed, or -EINTR.
 */
static int join(struct arena *arena)
{
	int err = wait_for_completion_killable(&arena->made);

	if (err)
		return -EINTR;
	if (arena->err)
		return -EAGAIN;
	return is_mapped(arena) ? 0 : 1;
}

static struct arena *get(struct arena *own, char *error, size_t error_len)
{
	struct arena *arena;
	bool add = false;
	int err;

	while ((arena = find_or_add(own, add)) != own) {
		err = join(arena);
		if (!err)
			return arena;
		arena_put(arena);
		if (err == -EINTR)
			return ERR_PTR(err);
		add = err > 0;
	}
	err = make(own, error, error_len);
	return err ? ERR_PTR(err) : own;
}

struct arena *arena_get(unsigned long user, unsigned int shift, char *error,
			size_t error_len)
{
	struct arena *own = arena_alloc(user, shift), *arena;

	if (!own)
		return ERR_PTR(-ENOMEM);
	arena = get(own, error, error_len);
	if (arena != own) {
		own->err = -ECANCELED;
		arena_put(own);
	}
	return arena;
}

/* -- Arenas of kernel pages -------------------------------------------------------- */

static int allocate_and_map(struct arena *arena, struct page **shared, unsigned long nshared)
{
	unsigned long own = arena->n - nshared, i;
	int err;

	arena->guard = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	arena->pages = kvmalloc_array(arena->n, sizeof(*arena->pages),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!arena->guard || !arena->pages)
		return -ENOMEM;
	err = pages_alloc(arena->pages, own);
	if (err)
		return err;
	for (i = 0; i < nshared; i++) {
		get_page(shared[i]);
		arena->pages[own + i] = shared[i];
	}
	err = map(arena);
	if (err)
		pages_free(arena->pages, arena->n);
	return err;
}

struct arena *arena_make(unsigned long from, unsigned long len, unsigned int shift,
			 struct page **shared, unsigned long nshared)
{
	struct arena *arena = arena_alloc(IMAGE_ATOMIC_USER, shift);
	int err;

	if (!arena)
		return ERR_PTR(-ENOMEM);
	arena->own = true;
	arena->mm = NULL;
	err = allocate_and_map(arena, shared, nshared);
	if (err) {
		free_pages_of(arena);
		kfree(arena);
		return ERR_PTR(err);
	}
	if (copy_from_user(arena->base, (void __user *)from, len)) {
		arena_put(arena);
		return ERR_PTR(-EFAULT);
	}
	return arena;
}

void arena_put(struct arena *arena)
{
	if (!refcount_dec_and_lock(&arena->refs, &arenas_lock))
		return;
	__acquire(&arenas_lock);	/* for sparse: refcount_dec_and_lock() has taken it */
	/* Arenas that could not be made, or were not needed, are already out of the table. */
	hash_del(&arena->node);
	spin_unlock(&arenas_lock);
	if (!arena->err)
		empty(arena);
	kfree(arena);
}
