/* SPDX-License-Identifier: GPL-2.0 */
/* kgcc: checks pointers of instrumented modules against a map of live objects. */
#ifndef KGCC_H
#define KGCC_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

#include "site.h"

/* One access of several that a site checks at once. */
struct kgcc_part {
	s64 lo, hi;			/* in bytes, relative to the same pointer as the site's */
	const char *where;
};

/* A variable of an instrumented file. */
struct kgcc_variable {
	unsigned long start, size;
	const char *name, *where;
};

/*
 * A place in an instrumented module where something is checked: written by the plugin, see site.h.
 */
struct kgcc_site {
	struct static_key key;		/* on: the check is active */
	s64 hi;				/* a field's end, or else the bytes accessed */
	s32 lo;
	u32 flags;
	const char *where;
	const struct kgcc_part *parts;
	u32 hits;			/* while counting is on */
	u32 errors;
	u64 nparts;
	const char *object;		/* name of a variable of known size */
	const struct kgcc_variable *unit; /* variables of its file; the last has address 0 */
};

/* The kind of an object; memory of the kinds before KGCC_UNKNOWN must not be used. */
enum kgcc_kind {
	KGCC_NOTHING,			/* not kernel memory: a user address, or none */
	KGCC_FREED,			/* was allocated by an instrumented module */
	KGCC_RETURNED,			/* below the stack pointer: a function returned */
	KGCC_UNKNOWN,			/* memory of unknown bounds */
	KGCC_HEAP,			/* allocated by an instrumented module */
	KGCC_SLAB,			/* a slab slot of the kernel's */
	KGCC_PAGES,
	KGCC_REGION,			/* a variable, or vmalloc() memory */
	KGCC_LOCAL,			/* a local of a running function */
	KGCC_STACK,			/* elsewhere on the task's stack */
	KGCC_KINDS,
};

/*
 * The result of a lookup. Valid while the word at the witness has this value; a witness can always
 * be read.
 */
struct kgcc_object {
	enum kgcc_kind kind;
	unsigned long start, end;
	const unsigned long *witness;
	unsigned long value;
	const char *name;		/* of a variable or cache */
	const char *allocated, *freed;	/* file:line, or NULL */
};

/* May be used, within its bounds. */
static inline bool kgcc_is_known(const struct kgcc_object *object)
{
	return object->kind > KGCC_UNKNOWN;
}

/*
 * Sets these fields and clears the rest, word by word: an initializer would clear everything first.
 */
static inline void kgcc_object_set(struct kgcc_object *object, enum kgcc_kind kind,
				   unsigned long start, unsigned long end,
				   const unsigned long *witness, unsigned long value)
{
	object->kind = kind;
	object->start = start;
	object->end = end;
	object->witness = witness;
	object->value = value;
	object->name = object->allocated = object->freed = NULL;
}

#endif
