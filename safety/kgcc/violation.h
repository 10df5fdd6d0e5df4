/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_VIOLATION_H
#define KGCC_VIOLATION_H

#include "heap.h"
#include "kgcc.h"

/* Bytes not all within the object that a pointer points to. Any context. */
void kgcc_violation(struct kgcc_site *site, unsigned long pointer, unsigned long address,
		    unsigned long length, const struct kgcc_object *object, unsigned long ip);

/* As kgcc_violation(), for the call of a library function at @where. */
void kgcc_violation_call(const char *where, unsigned int flags, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 unsigned long ip);

/* FORTIFY_SOURCE, the kernel's own check, stopped a library call at @where. */
void kgcc_violation_fortified(const char *where, unsigned long ip);

/* The pointer had already left its object at @where. */
void kgcc_violation_peer(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 const char *where, unsigned long ip);

/* An access at an offset from a variable's start. */
void kgcc_violation_variable(struct kgcc_site *site, unsigned long offset, unsigned long ip);

/* A rule's check fails for a value. */
void kgcc_violation_rule(struct kgcc_site *site, unsigned long value, unsigned long ip);

/* A bad call of kfree() and the like. */
void kgcc_violation_free(const void *address, enum kgcc_free state,
			 const struct kgcc_object *object, const char *where,
			 unsigned long ip);

#endif
