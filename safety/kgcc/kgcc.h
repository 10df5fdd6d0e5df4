/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kgcc: pointers of instrumented modules, checked against a map of live objects.
 */
#ifndef KGCC_H
#define KGCC_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

#include "site.h"

/* One access of several that a site checks at once. */
struct kgcc_part {
	s64 lo, hi;			/* bytes, counted as the site's */
	const char *where;
};

/* A variable of an instrumented file. */
struct kgcc_variable {
	unsigned long start, size;
	const char *name, *where;
};

/*
 * A place in an instrumented module where something is checked: the plugin wrote
 * it, see site.h.
 */
struct kgcc_site {
	struct static_key key;		/* on: the check is made */
	s64 hi;				/* of a field: its end; else bytes accessed */
	s32 lo;
	u32 flags;
	const char *where;
	const struct kgcc_part *parts;
	u32 hits;			/* while these are counted */
	u32 errors;
	u64 nparts;
	const char *object;		/* of a variable that is checked by its size */
	const struct kgcc_variable *unit; /* those of its file, the last one's start is 0 */
};

static inline bool kgcc_is_site(const struct kgcc_site *site)
{
	return (site->flags & KGCC_MAGIC_MASK) == KGCC_MAGIC;
}

/* What an object is; of those that come first, no byte is to be used. */
enum kgcc_kind {
	KGCC_NOTHING,			/* no kernel memory: user's, or none at all */
	KGCC_FREED,			/* was allocated by an instrumented module */
	KGCC_RETURNED,			/* below what runs there: of a function that returned */
	KGCC_UNKNOWN,			/* memory whose bounds are not to be known */
	KGCC_HEAP,			/* allocated by an instrumented module */
	KGCC_SLAB,			/* of the kernel's: a slot of a slab */
	KGCC_PAGES,
	KGCC_REGION,			/* a variable, or memory of vmalloc() */
	KGCC_LOCAL,			/* of a function that runs */
	KGCC_STACK,			/* of the task, nothing more is known */
	KGCC_KINDS,
};

/*
 * An object, as a lookup finds it.  It is valid for as long as the word at witness
 * has this value: the memory of a witness may always be read.
 */
struct kgcc_object {
	enum kgcc_kind kind;
	unsigned long start, end;
	const unsigned long *witness;
	unsigned long value;
	const char *name;		/* of a variable, a cache */
	const char *allocated, *freed;	/* file:line, or NULL */
};

/* May be used, within its bounds. */
static inline bool kgcc_is_known(const struct kgcc_object *object)
{
	return object->kind > KGCC_UNKNOWN;
}

/* One with no more than this: word by word, as an initializer would clear it all before. */
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
