/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_STACK_H
#define KGCC_STACK_H

#include "kgcc.h"

/*
 * Locals whose address leaves their function are registered while it runs: the
 * plugin writes a record of them into its frame.  The records of a task make a list
 * that starts in a word at the far end of its stack.
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

/* Where the word is, from the stack's end: that itself holds a magic number. */
#define KGCC_STACK_HEAD	8

bool kgcc_stack_find(unsigned long address, struct kgcc_object *object);

/* What is to be known of a local ends with this run of its function, as peers do. */
void kgcc_stack_renew(struct kgcc_object *object);

/* Whether what runs on this task's stack has left an address: top is what it has there. */
bool kgcc_stack_returned(unsigned long address, unsigned long top);

#endif
