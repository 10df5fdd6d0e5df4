// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/sched/task_stack.h>

#include "stack.h"

/* Structure offsets for enter.S. */
static void __used offsets(void)
{
	asm volatile(".globl kgcc_task_stack\n\t.set kgcc_task_stack, %c0"
		     : : "i" (offsetof(struct task_struct, stack)));
}

static_assert(offsetof(struct kgcc_record, outer) == 0);
static_assert(offsetof(struct kgcc_record, alive) == 8);

static bool on_stack(unsigned long stack, unsigned long address)
{
	return address - stack < THREAD_SIZE;
}

static void describe(const struct kgcc_record *record, unsigned long i,
		     struct kgcc_object *object)
{
	unsigned long start = (unsigned long)record->address[i];

	kgcc_object_set(object, KGCC_LOCAL, start, start + record->locals[i].size,
			&record->alive, record->alive);
	object->name = record->locals[i].name;
}

/* Finds the local of a record that contains an address. */
static __always_inline bool find_local(const struct kgcc_record *record, unsigned long address,
				       struct kgcc_object *object)
{
	const struct kgcc_local *local = record->locals;

	for (unsigned long i = 0; i < record->n; i++, local++) {
		if (address - (unsigned long)record->address[i] < local->size) {
			describe(record, i, object);
			return true;
		}
	}
	return false;
}

/* Finds the local that ends at an address. */
static bool find_end(const struct kgcc_record *record, unsigned long address,
		     struct kgcc_object *object)
{
	for (unsigned long i = 0; i < record->n; i++) {
		if (address - (unsigned long)record->address[i] == record->locals[i].size) {
			describe(record, i, object);
			return true;
		}
	}
	return false;
}

/*
 * Callers' frames are above their callees': finds the last record before an address, or the first.
 * A list that does not ascend is corrupt.
 */
static __always_inline const struct kgcc_record *
last_below(const struct kgcc_record *record, unsigned long stack, unsigned long address)
{
	/*
	 * Offsets from the stack's start: a record outside the stack compares greater than the
	 * address.
	 */
	while ((unsigned long)record->outer - stack <= address - stack && record->outer > record)
		record = record->outer;
	return record;
}

bool kgcc_stack_find(unsigned long address, struct kgcc_object *object)
{
	unsigned long stack = (unsigned long)task_stack_page(current);
	const unsigned long *head = (void *)stack + KGCC_STACK_HEAD;
	const struct kgcc_record *record, *outer;

	if (!on_stack(stack, address))
		return false;
	record = (void *)READ_ONCE(*head);
	if (on_stack(stack, (unsigned long)record)) {
		record = last_below(record, stack, address);
		/* A frame has its record below or above its locals. */
		if (find_local(record, address, object))
			return true;
		outer = record->outer;
		if (!on_stack(stack, (unsigned long)outer))
			outer = NULL;
		if (outer && find_local(outer, address, object))
			return true;
		if (find_end(record, address, object) ||
		    (outer && find_end(outer, address, object)))
			return true;
	}
	/* Valid until a function is entered or left. */
	kgcc_object_set(object, KGCC_STACK, stack + KGCC_STACK_HEAD + sizeof(long),
			stack + THREAD_SIZE, head, *head);
	return true;
}

/* The number assigned when a function is entered is even, and the same each time. */
void kgcc_stack_renew(struct kgcc_object *object)
{
	struct kgcc_record *record = container_of(object->witness, struct kgcc_record, alive);
	static atomic64_t serial = ATOMIC64_INIT(1);

	if (!(object->value & 1))
		object->value = record->alive = atomic64_add_return(2, &serial);
}

/*
 * Interrupts and exceptions may run on other stacks: then the task's stack pointer has not moved.
 */
bool kgcc_stack_returned(unsigned long address, unsigned long top)
{
	unsigned long stack = (unsigned long)task_stack_page(current);

	return address < top && on_stack(stack, address) && on_stack(stack, top);
}
