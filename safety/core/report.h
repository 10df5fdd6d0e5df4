/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports in the kernel's log, in the form that reports.py reads: a header line, "TOOL:
 * violation: KIND: ... [N]", and lines with the same number, "TOOL: [N] ...", so that those
 * of two CPUs can be told apart.  Addresses are printed as the kernel does, as symbols or
 * hashed.
 */
#ifndef SAFETY_REPORT_H
#define SAFETY_REPORT_H

#include <linux/types.h>

#include "registry.h"

/* Kinds are limited each by itself: a hundred of one leave room for another. */
#define REPORT_KINDS	8
/* Entries of a stack that are saved. */
#define REPORT_STACK	32

/*
 * Counts a violation of a module's; is it to be reported?  Every one is, or the first at a
 * place: @before says whether one was, NULL: that is not known.
 */
bool report_wanted(struct entry *entry, bool every, u32 *before, unsigned int kind);

/* What is known of a kind at a place that has no room of its own; NULL when full. */
u32 *report_before(unsigned long ip, unsigned int kind);
/* Addresses have another meaning now. */
void report_forget(void);

/* Of a new report. */
int report_number(void);

/* Who: "at PLACE, SYMBOL, in softirq, process 1 (name), CPU 0"; @place and @ip may be 0. */
void report_where(int number, const char *place, unsigned long ip);

/* Without the tool's own part of it. */
void report_stack(int number, const unsigned long *entries, unsigned int n);
/*
 * Saves the stack here; returns its length.  @from: where on it the caller of @ip is, 0 if
 * @ip is not on it.
 */
unsigned int report_stack_save(unsigned long entries[REPORT_STACK], unsigned long ip,
			       unsigned int *from);
/* The stack here, from the caller of @ip on if that is on it. */
void report_stack_here(int number, unsigned long ip);

/* What follows: this task ends at its next return to user space, if it is one that can. */
bool report_kill(void);
void report_init(void);
void report_exit(void);

#endif /* SAFETY_REPORT_H */
