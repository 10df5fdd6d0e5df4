/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports in the kernel's log, in the form that reports.py reads: a header line, "TOOL:
 * violation: KIND: ... [N]", and lines with the same number, "TOOL: [N] ...", which tells apart
 * reports of two CPUs. Addresses are printed as symbols or hashed, as elsewhere in the kernel.
 */
#ifndef SAFETY_REPORT_H
#define SAFETY_REPORT_H

#include <linux/types.h>

#include "registry.h"

/* Each kind has its own rate limit: a hundred of one leave room for another. */
#define REPORT_KINDS	8
/* Stack entries saved. */
#define REPORT_STACK	32

/*
 * Counts a module's violation and returns whether to report it: every one, or the first at a
 * place. @before says whether the place was reported before; NULL: unknown.
 */
bool report_wanted(struct entry *entry, bool every, u32 *before, unsigned int kind);

/* The counter of a kind at a place that has none of its own; NULL when the table is full. */
u32 *report_before(unsigned long ip, unsigned int kind);
/* Forgets all places: after a module is unloaded, addresses have another meaning. */
void report_forget(void);

/* Returns the number for a new report. */
int report_number(void);

/* Prints "at PLACE, SYMBOL, in softirq, process 1 (name), CPU 0"; @place and @ip may be 0. */
void report_where(int number, const char *place, unsigned long ip);

/* Prints the stack without the tool's own frames. */
void report_stack(int number, const unsigned long *entries, unsigned int n);
/*
 * Saves the stack here; returns its length. @from: the index of @ip's caller, 0 if
 * @ip is not on it.
 */
unsigned int report_stack_save(unsigned long entries[REPORT_STACK], unsigned long ip,
			       unsigned int *from);
/* Prints the stack here, from the caller of @ip on if it is on the stack. */
void report_stack_here(int number, unsigned long ip);

/* Action: this task is killed at its next return to user space, if it is killable. */
bool report_kill(void);
void report_init(void);
void report_exit(void);

#endif /* SAFETY_REPORT_H */
