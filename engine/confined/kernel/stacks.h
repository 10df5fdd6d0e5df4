/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that generated code runs on, where the task's is too small.  Only a run needs one,
 * so the programs of a process share as many as it has had runs at once since one of them
 * ended.
 */
#ifndef CONFINED_STACKS_H
#define CONFINED_STACKS_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct limits_account;
struct mm_struct;

/**
 * struct stack - while no run has it, at its lowest bytes
 */
struct stack {
	struct stack *next;
	size_t size;
};

/**
 * struct stacks - a process's
 * @last: that was released, or NULL: it is taken without a lock
 * @free: the others
 */
struct stacks {
	struct stack *last;
	spinlock_t lock;
	struct stack *free;

	/* For stacks.c. */
	struct hlist_node node;
	refcount_t refs;
	struct mm_struct *mm;
	struct limits_account *account;
};

/*
 * The calling process's, with a stack of @size bytes for the first run; NULL: no memory.  The
 * caller's script keeps the address of its memory map from being another's.
 */
struct stacks *stacks_get(size_t size);
/* Its programs have no run any more. */
void stacks_put(struct stacks *stacks);
/* Frees the calling process's stacks that no run has, all but the last; false: there were none. */
bool stacks_free_idle(void);

/* Stacks of @size bytes in place of @other, or NULL; NULL: no memory. */
void *stacks_take_slowly(struct stacks *stacks, struct stack *other, size_t size);
void stacks_keep(struct stacks *stacks, struct stack *stack);

static inline void *stacks_take(struct stacks *stacks, size_t size)
{
	struct stack *stack = xchg(&stacks->last, NULL);

	return likely(stack && stack->size == size) ? stack :
		stacks_take_slowly(stacks, stack, size);
}

static inline void stacks_give(struct stacks *stacks, void *p, size_t size)
{
	struct stack *stack = p, *other;

	stack->size = size;
	other = xchg(&stacks->last, stack);
	if (unlikely(other))
		stacks_keep(stacks, other);
}

#endif /* CONFINED_STACKS_H */
