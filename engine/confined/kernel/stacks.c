// SPDX-License-Identifier: GPL-2.0
/* See stacks.h.  The memory cgroup of the process that runs pays. */
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "stacks.h"

static DEFINE_HASHTABLE(all, 8);
static DEFINE_SPINLOCK(all_lock);

static void *allocate(size_t size)
{
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
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
	if (other)
		stacks_keep(stacks, other);
	return take_kept(stacks, size) ?: allocate(size);
}

static struct stacks *find(const struct mm_struct *mm)
{
	struct stacks *stacks;

	lockdep_assert_held(&all_lock);
	hash_for_each_possible(all, stacks, node, (unsigned long)mm)
		if (stacks->mm == mm && refcount_inc_not_zero(&stacks->refs))
			return stacks;
	return NULL;
}

/* The process's, or @fresh from now on. */
static struct stacks *find_or_add(struct stacks *fresh)
{
	struct stacks *stacks;

	spin_lock(&all_lock);
	stacks = find(fresh->mm);
	if (!stacks)
		hash_add(all, &fresh->node, (unsigned long)fresh->mm);
	spin_unlock(&all_lock);
	return stacks ?: fresh;
}

static struct stacks *make(void)
{
	struct stacks *stacks = kzalloc(sizeof(*stacks), GFP_KERNEL_ACCOUNT);

	if (!stacks)
		return NULL;
	refcount_set(&stacks->refs, 1);
	spin_lock_init(&stacks->lock);
	stacks->mm = current->mm;	/* compared only */
	return stacks;
}

/* So that the first run does not fail. */
static bool has_one(struct stacks *stacks, size_t size)
{
	void *stack = stacks_take(stacks, size);

	if (stack)
		stacks_give(stacks, stack, size);
	return stack;
}

struct stacks *stacks_get(size_t size)
{
	struct stacks *fresh = make(), *stacks;

	if (!fresh)
		return NULL;
	stacks = find_or_add(fresh);
	if (stacks != fresh)
		kfree(fresh);
	if (has_one(stacks, size))
		return stacks;
	stacks_put(stacks);
	return NULL;
}

void stacks_put(struct stacks *stacks)
{
	struct stack *stack, *next;

	if (!refcount_dec_and_lock(&stacks->refs, &all_lock))
		return;
	__acquire(&all_lock);	/* as that has, which sparse does not see */
	hash_del(&stacks->node);
	spin_unlock(&all_lock);
	vfree(stacks->last);
	for (stack = stacks->free; stack; stack = next) {
		next = stack->next;
		vfree(stack);
	}
	kfree(stacks);
}
