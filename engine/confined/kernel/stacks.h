/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of generated code that needs more than the task's stack. Only a run needs a stack, so
 * the programs of a process share as many as it has had concurrent runs.
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
 * struct stack - at the lowest bytes of a stack that no run uses
 */
struct stack {
	struct stack *next;
	size_t size;
};

/**
 * struct stacks - the stacks of a process
 * @last: the stack that was released last, or NULL; taken without a lock
 * @free: the other free stacks
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
 * Gets the stacks of the calling process, with a stack of @size bytes for the first run; NULL:
 * out of memory. The caller's script pins the memory map, so that no other gets its address.
 */
struct stacks *stacks_get(size_t size);
/* Releases @stacks when a program has no run any more. */
void stacks_put(struct stacks *stacks);
/* Frees the calling process's unused stacks except the last; false if there were none. */
bool stacks_free_idle(void);

/* Gets stacks of @size bytes in place of @other, which may be NULL; NULL: out of memory. */
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
