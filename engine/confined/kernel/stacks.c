// SPDX-License-Identifier: GPL-2.0
/*
 * Implements stacks.h.
 *
 * A run that finds no free stack allocates one, charged to the memory cgroup of the process, and
 * to the account of its scripts. So the memory of stacks is bounded, whatever their sizes.
 */
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "limits.h"
#include "stacks.h"

static DEFINE_HASHTABLE(all, 8);
static DEFINE_SPINLOCK(all_lock);

static unsigned long pages_of(size_t size)
{
	return DIV_ROUND_UP(size, PAGE_SIZE);
}

static void *alloc_stack(struct stacks *stacks, size_t size)
{
	void *stack;

	if (!limits_hold(stacks->account, pages_of(size)))
		return NULL;
	stack = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!stack)
		limits_release(stacks->account, pages_of(size));
	return stack;
}

/* Frees @stack, and the stacks linked after it. */
static void release_stacks(struct stacks *stacks, struct stack *stack)
{
	struct stack *next;

	for (; stack; stack = next) {
		next = stack->next;
		limits_release(stacks->account, pages_of(stack->size));
		vfree(stack);
	}
}

/* False: there were none. */
static bool release_kept(struct stacks *stacks)
{
	struct stack *stack;
	bool any;

	spin_lock(&stacks->lock);
	stack = stacks->free;
	stacks->free = NULL;
	spin_unlock(&stacks->lock);
	any = stack;
	release_stacks(stacks, stack);
	return any;
}

void stacks_keep(struct stacks *stacks, struct stack *stack)
{
	spin_lock(&stacks->lock);
	stack->next = stacks->free;
	stacks->free = stack;
	spin_unlock(&stacks->lock);
}

static struct stack *take_kept(struct stacks *stacks, size_t size)
{
	struct stack **link, *stack;

	spin_lock(&stacks->lock);
	for (link = &stacks->free; *link && (*link)->size != size; link = &(*link)->next)
		;
	stack = *link;
	if (stack)
		*link = stack->next;
	spin_unlock(&stacks->lock);
	return stack;
}

void *stacks_take_slowly(struct stacks *stacks, struct stack *other, size_t size)
{
	void *stack;

	if (other)
		stacks_keep(stacks, other);
	stack = take_kept(stacks, size) ?: alloc_stack(stacks, size);
	if (stack)
		return stack;
	/* Stacks of other sizes: their programs have gone, or do not run. */
	release_kept(stacks);
	return alloc_stack(stacks, size);
}

static struct stacks *find_stacks(const struct mm_struct *mm)
{
	struct stacks *stacks;

	lockdep_assert_held(&all_lock);
	hash_for_each_possible(all, stacks, node, (unsigned long)mm)
		if (stacks->mm == mm && refcount_inc_not_zero(&stacks->refs))
			return stacks;
	return NULL;
}

/* Returns the stacks of the process; or lists and returns @fresh. */
static struct stacks *find_or_add(struct stacks *fresh)
{
	struct stacks *stacks;

	spin_lock(&all_lock);
	stacks = find_stacks(fresh->mm);
	if (!stacks)
		hash_add(all, &fresh->node, (unsigned long)fresh->mm);
	spin_unlock(&all_lock);
	return stacks ?: fresh;
}

static struct stacks *make_stacks(void)
{
	struct stacks *stacks = kzalloc(sizeof(*stacks), GFP_KERNEL_ACCOUNT);

	if (!stacks)
		return NULL;
	if (limits_open_arena(&stacks->account)) {
		kfree(stacks);
		return NULL;
	}
	refcount_set(&stacks->refs, 1);
	spin_lock_init(&stacks->lock);
	stacks->mm = current->mm;	/* compared only */
	return stacks;
}

static void destroy_stacks(struct stacks *stacks)
{
	limits_close_arena(stacks->account, 0);
	kfree(stacks);
}

/* Allocated now, so that the first run cannot fail. */
static bool has_one(struct stacks *stacks, size_t size)
{
	void *stack = stacks_take(stacks, size);

	if (stack)
		stacks_give(stacks, stack, size);
	return stack;
}

static struct stacks *find_or_make(void)
{
	struct stacks *stacks, *fresh;

	spin_lock(&all_lock);
	stacks = find_stacks(current->mm);
	spin_unlock(&all_lock);
	if (stacks)
		return stacks;
	fresh = make_stacks();
	if (!fresh)
		return NULL;
	stacks = find_or_add(fresh);
	if (stacks != fresh)
		destroy_stacks(fresh);
	return stacks;
}

struct stacks *stacks_get(size_t size)
{
	struct stacks *stacks = find_or_make();

	if (!stacks)
		return NULL;
	if (has_one(stacks, size))
		return stacks;
	stacks_put(stacks);
	return NULL;
}

static void unref_stacks(struct stacks *stacks)
{
	if (!refcount_dec_and_lock(&stacks->refs, &all_lock))
		return;
	__acquire(&all_lock);	/* for sparse: refcount_dec_and_lock() has taken it */
	hash_del(&stacks->node);
	spin_unlock(&all_lock);
	release_kept(stacks);
	if (stacks->last) {
		stacks->last->next = NULL;
		release_stacks(stacks, stacks->last);
	}
	destroy_stacks(stacks);
}

void stacks_put(struct stacks *stacks)
{
	release_kept(stacks);
	unref_stacks(stacks);
}

bool stacks_free_idle(void)
{
	struct stacks *stacks;
	bool any;

	spin_lock(&all_lock);
	stacks = find_stacks(current->mm);
	spin_unlock(&all_lock);
	if (!stacks)
		return false;
	any = release_kept(stacks);
	unref_stacks(stacks);
	return any;
}
