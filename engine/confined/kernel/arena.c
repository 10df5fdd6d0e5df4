// SPDX-License-Identifier: GPL-2.0
/*
 * See arena.h.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../image.h"
#include "arena.h"
#include "locks.h"

#define GUARD_PAGES	(IMAGE_GUARD >> PAGE_SHIFT)

static LIST_HEAD(arenas);
static DEFINE_MUTEX(arenas_lock);

static int refuse(char *error, size_t error_len, int err, const char *text)
{
	scnprintf(error, error_len, "the shared memory %s", text);
	return err;
}

static void unpin(struct arena *arena, unsigned long n)
{
	unpin_user_pages_dirty_lock(arena->pages, n, true);
}

/* Pages of files and of other processes have rules of their own. */
static bool are_anonymous(const struct arena *arena)
{
	unsigned long i;

	for (i = 0; i < arena->n; i++)
		if (!PageAnon(arena->pages[i]))
			return false;
	return true;
}

/* Up to 512 of them from the @done-th on: how many, or -errno. */
static int pin_some(struct arena *arena, unsigned long done)
{
	int got;

	if (fatal_signal_pending(current))
		return -EINTR;
	got = pin_user_pages_fast(arena->user + (done << PAGE_SHIFT),
				  min_t(unsigned long, arena->n - done, 512),
				  FOLL_WRITE | FOLL_LONGTERM, arena->pages + done);
	cond_resched();
	/* No address of a process: kernels differ. */
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
	}
	if (are_anonymous(arena))
		return 0;
	unpin(arena, arena->n);
	return refuse(error, error_len, -EINVAL, "is not anonymous and private");
}

/* The guards are one page, over and over: see IMAGE_GUARD. */
static int map(struct arena *arena)
{
	unsigned long n = arena->n + 2 * GUARD_PAGES, i;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL_ACCOUNT);

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

static void uncharge(struct arena *arena)
{
	atomic64_sub(arena->n, &arena->mm->pinned_vm);
}

/*
 * As RDMA counts what it pins.  Not as locked memory: that takes a lock of the
 * process, for which whoever closes the last descriptor would wait.
 */
static int charge(struct arena *arena, char *error, size_t error_len)
{
	unsigned long pinned = atomic64_add_return(arena->n, &arena->mm->pinned_vm);
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (pinned <= limit || capable(CAP_IPC_LOCK))
		return 0;
	uncharge(arena);
	scnprintf(error, error_len,
		  "the shared memory is more than may be locked: raise RLIMIT_MEMLOCK (ulimit -l) from %lu to %lu KiB",
		  limit << (PAGE_SHIFT - 10), pinned << (PAGE_SHIFT - 10));
	return -ENOMEM;
}

static int charge_and_map(struct arena *arena, char *error, size_t error_len)
{
	int err = charge(arena, error, error_len);

	if (err)
		return err;
	err = map(arena);
	if (err)
		uncharge(arena);
	return err;
}

static void unmap_and_uncharge(struct arena *arena)
{
	vunmap(arena->mapping);
	uncharge(arena);
}

static void arena_free(struct arena *arena)
{
	if (arena->guard)
		__free_page(arena->guard);
	kvfree(arena->pages);
	kfree(arena);
}

static struct arena *arena_alloc(unsigned long user, unsigned int shift)
{
	struct arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL_ACCOUNT);

	if (!arena)
		return NULL;
	refcount_set(&arena->refs, 1);
	arena->user = user;
	arena->n = 1UL << (shift - PAGE_SHIFT);
	arena->mm = current->mm;
	arena->guard = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	arena->pages = kvmalloc_array(arena->n, sizeof(*arena->pages),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (arena->guard && arena->pages)
		return arena;
	arena_free(arena);
	return NULL;
}

/* With the very pages that @arena has: the process may have mapped others since. */
static struct arena *find_same(const struct arena *arena)
{
	struct arena *other;

	lockdep_assert_held(&arenas_lock);
	list_for_each_entry(other, &arenas, node)
		if (other->mm == arena->mm && other->user == arena->user &&
		    other->n == arena->n &&
		    !memcmp(other->pages, arena->pages, arena->n * sizeof(*arena->pages)) &&
		    refcount_inc_not_zero(&other->refs))
			return other;
	return NULL;
}

/* The one that has the same pages already, or NULL; @arena is then added to them. */
static struct arena *find(struct arena *arena, bool add)
{
	struct arena *same;

	mutex_lock(&arenas_lock);
	same = find_same(arena);
	if (!same && add) {
		/* For uncharge(), which may come when the process has gone. */
		mmgrab(arena->mm);
		list_add(&arena->node, &arenas);
	}
	mutex_unlock(&arenas_lock);
	return same;
}

/*
 * @arena, whose pages are pinned, or the one that has them already.  Mapping may wait for the process's own faults and for its cgroup, for as long as
 * these like: not with the lock, which is everybody's.
 */
static struct arena *find_or_add(struct arena *arena, char *error, size_t error_len)
{
	struct arena *same = find(arena, false);
	int err = same ? 0 : charge_and_map(arena, error, error_len);

	if (!same && !err) {
		same = find(arena, true);
		if (!same)
			return arena;
		/* By another thread, meanwhile. */
		unmap_and_uncharge(arena);
	}
	unpin(arena, arena->n);
	arena_free(arena);
	return same ?: ERR_PTR(err);
}

struct arena *arena_get(unsigned long user, unsigned int shift, char *error,
			size_t error_len)
{
	struct arena *arena = arena_alloc(user, shift);
	int err;

	if (!arena)
		return ERR_PTR(-ENOMEM);
	err = pin(arena, error, error_len);
	if (err) {
		arena_free(arena);
		return ERR_PTR(err);
	}
	return find_or_add(arena, error, error_len);
}

void arena_put(struct arena *arena)
{
	if (!refcount_dec_and_mutex_lock(&arena->refs, &arenas_lock))
		return;
	list_del(&arena->node);
	mutex_unlock(&arenas_lock);
	unmap_and_uncharge(arena);
	unpin(arena, arena->n);
	mmdrop(arena->mm);
	arena_free(arena);
}

void arenas_init(void)
{
	locks_allocate_nothing(&arenas_lock);
}
