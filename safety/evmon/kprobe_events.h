/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of any function that can be probed: the kernel's, and those of modules that were not built
 * with evmon. The event's object is an argument, its place the caller.
 *
 * A set of probes belongs to an open file and ends when the file is closed.
 */
#ifndef EVMON_KPROBE_EVENTS_H
#define EVMON_KPROBE_EVENTS_H

#include <linux/fs.h>

/*
 * debugfs's evmon/calls. Write lines of eight words; reading returns them with the numbers of
 * events and of missed ones:
 *
 *   TYPE FUNCTION WHEN ARGUMENT OFFSET SIZE START LENGTH NAME
 *
 * TYPE	REF_INC and so on, see events.def
 * WHEN	entry or return; for a function that returns an integer also true, zero
 * ARGUMENT	1 to 6; 0: the return value
 * OFFSET	from there to the object
 * SIZE	of the number in it that is the event's value: 4, or 0 for none
 * START, LENGTH	the range of objects to watch; a LENGTH of 0: all
 * NAME	what the object is called
 *
 * Functions that events use themselves (_raw_spin_lock() and its kin) are refused with -EPERM
 * unless a range is given.
 */
extern const struct file_operations calls_fops;

#endif /* EVMON_KPROBE_EVENTS_H */
