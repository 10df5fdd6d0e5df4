/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_STACK_H
#define KGCC_STACK_H

#include "kgcc.h"

/*
 * Locals whose address leaves their function are registered while it runs: the plugin writes a
 * record of them into the frame. A task's records form a list, whose head is a word at the far end
 * of its stack.
 */
struct kgcc_local {
	unsigned long size;
	const char *name;
};

struct kgcc_record {
	struct kgcc_record *outer;
	unsigned long alive;		/* 0: not in the list */
	const struct kgcc_local *locals;
	unsigned long n;
	void *address[];
};

/* Position of the list's head, after the magic number at the stack's end. */
#define KGCC_STACK_HEAD	8

bool kgcc_stack_find(unsigned long address, struct kgcc_object *object);

/* Makes cached facts about a local end with this execution of its function, as with peers. */
void kgcc_stack_renew(struct kgcc_object *object);

/* Whether the code on this task's stack has returned past an address; top is its stack pointer. */
bool kgcc_stack_returned(unsigned long address, unsigned long top);

#endif
