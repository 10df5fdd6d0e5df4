/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of any function that can be probed: of the kernel's own, and of modules that were
 * not built with evmon.  An argument is the object of an event, the caller its place.
 *
 * A set of them is an open file: it ends with whoever has it open.
 */
#ifndef EVMON_CALLS_H
#define EVMON_CALLS_H

#include <linux/fs.h>

/*
 * debugfs's evmon/calls.  Written are lines of eight words, read the same with the number
 * of events and of those that were missed:
 *
 *   TYPE FUNCTION WHEN ARGUMENT OFFSET SIZE START LENGTH NAME
 *
 * TYPE	REF_INC and so on, see events.def
 * WHEN	entry; return, or of one that returns an integer: true, zero
 * ARGUMENT	1 to 6; 0: what is returned
 * OFFSET	from there to the object
 * SIZE	of the number in it that is the event's value: 4, or 0, there is none
 * START, LENGTH	objects that are meant; a LENGTH of 0: all
 * NAME	what the object is called
 *
 * Functions that events use themselves (_raw_spin_lock() and its kin) are -EPERM for all objects.
 */
extern const struct file_operations calls_fops;

#endif /* EVMON_CALLS_H */
