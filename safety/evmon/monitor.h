/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Monitors: modules that are called at each event and report violations. Exported by evmon.ko,
 * GPL only.
 */
#ifndef EVMON_MONITOR_H
#define EVMON_MONITOR_H

#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/types.h>

#include "event.h"

struct module;
struct seq_file;

enum evmon_class { EVMON_CLASS_LOCK, EVMON_CLASS_REF, EVMON_CLASS_IRQ, EVMON_CLASS_ALLOC,
		   EVMON_CLASS_PART, EVMON_CLASS_USER };

/* The class of an event type; EVMON_CLASS_USER for types that are not listed. */
enum evmon_class evmon_class_of(u16 type);
/* "spinlock taken"; never NULL. */
const char *evmon_text_of(u16 type);

/**
 * struct evmon_monitor - a consumer of events
 * @name:	of at most 15 characters
 * @classes:	BIT(enum evmon_class) the classes of events to call it for
 * @event:	called for each event, in any context: it may take raw spinlocks only with
 *		interrupts off, and none in an NMI
 * @wait:	a lock is not free, and is about to be waited for; may be NULL.  As @event
 * @going:	a module's exit function has returned, its sites are still there; may
 *		be NULL.  May sleep
 * @show:	prints its part of debugfs's file "monitors"; may be NULL
 */
struct evmon_monitor {
	const char *name;
	unsigned long classes;
	void (*event)(struct evmon_site *site, const void *object, u64 value);
	void (*wait)(struct evmon_site *site, const void *object);
	void (*going)(const struct module *module);
	void (*show)(struct seq_file *m);
	struct list_head node;
	/* Limits reports in the log: a hundred of one monitor leave room for another's. */
	struct ratelimit_state limit;
};

/**
 * evmon_register - start calling a monitor
 *
 * May sleep.
 */
void evmon_register(struct evmon_monitor *monitor);

/**
 * evmon_unregister - stop calling a monitor; on return no call is under way
 *
 * May sleep.
 */
void evmon_unregister(struct evmon_monitor *monitor);

/**
 * struct evmon_where - the place, process and time of an event, for a report
 * @place:	its number, which outlives its module; 0: none, see @ip
 * @ip:		an address there, or 0
 * @pid:	process
 * @jiffies:	when
 */
struct evmon_where {
	u32 place;
	unsigned long ip;
	pid_t pid;
	unsigned long jiffies;
};

/* A saved stack, to report later from another context: see evmon_violation_of(). */
struct evmon_stack {
	unsigned int len;
	unsigned long entries[12];
	pid_t pid;
};
void evmon_stack_save(struct evmon_stack *stack);

/* The place, process and time now. */
struct evmon_where evmon_here(struct evmon_site *site);
struct evmon_where evmon_here_ip(unsigned long ip);
/* For an event of a kernel function without a place: the calling module's address. Slow. */
unsigned long evmon_caller(void);

/**
 * evmon_violation - count a violation, and report the first for a pair of places
 * @monitor:	the monitor that found it
 * @object:	the lock or counter
 * @here:	where it was found
 * @there:	what the other place did: "taken", "dropped to zero"; or NULL
 * @other:	the other place
 * @format:	what is wrong, in a few words, without a newline
 *
 * Any context except with a run queue locked, because printing may wake a process.
 *
 * Return: the report's number, 0 if nothing was printed.
 */
__printf(6, 7)
int evmon_violation(struct evmon_monitor *monitor, const void *object,
		     const struct evmon_where *here, const char *there,
		     const struct evmon_where *other, const char *format, ...);

/* Like evmon_violation(), with the stack of the process at fault; NULL: the current stack. */
__printf(7, 8)
int evmon_violation_of(struct evmon_monitor *monitor, const void *object,
		       const struct evmon_where *here, const struct evmon_stack *stack,
		       const char *there, const struct evmon_where *other,
		       const char *format, ...);

/* Adds a line to report @number, unless that is 0: what was done, and where. */
void evmon_violation_more(int number, const char *what, const struct evmon_where *where);

#endif /* EVMON_MONITOR_H */
