/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_VIOLATION_H
#define KGCC_VIOLATION_H

#include "heap.h"
#include "kgcc.h"

/* Bytes that are not all within the object that a pointer is of.  In any context. */
void kgcc_violation(struct kgcc_site *site, unsigned long pointer, unsigned long address,
		    unsigned long length, const struct kgcc_object *object, unsigned long ip);

/* The same of a call of the library's, at where. */
void kgcc_violation_call(const char *where, unsigned int flags, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 unsigned long ip);

/* The kernel's own check, FORTIFY_SOURCE, stops a call of the library's at where. */
void kgcc_violation_fortified(const char *where, unsigned long ip);

/* The pointer had left its object before, at where. */
void kgcc_violation_peer(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 const char *where, unsigned long ip);

/* At an offset from a variable's start. */
void kgcc_violation_variable(struct kgcc_site *site, unsigned long offset, unsigned long ip);

/* A rule's check does not hold for a value. */
void kgcc_violation_rule(struct kgcc_site *site, unsigned long value, unsigned long ip);

/* A bad call of kfree() and the like. */
void kgcc_violation_free(const void *address, enum kgcc_free state,
			 const struct kgcc_object *object, const char *where,
			 unsigned long ip);

#endif
