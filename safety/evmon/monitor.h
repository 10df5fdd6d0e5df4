/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Monitors: modules that are called at each event, and judge.  Exported by
 * evmon.ko, GPL only.
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

/* The class of a type; types that are not listed are EVMON_CLASS_USER's. */
enum evmon_class evmon_class_of(u16 type);
/* "spinlock taken"; never NULL. */
const char *evmon_text_of(u16 type);

/**
 * struct evmon_monitor - who wants to be called
 * @name:	of at most 15 characters
 * @classes:	BIT(enum evmon_class) of what it is called for
 * @event:	called at each; any context, so it may take raw spinlocks only with
 *		interrupts off, and none in an NMI
 * @wait:	a lock is not free, and is about to be waited for; may be NULL.  As @event
 * @going:	a module's exit function has returned, its sites are still there; may
 *		be NULL.  May sleep
 * @show:	its part of debugfs's file "monitors"; may be NULL
 */
struct evmon_monitor {
	const char *name;
	unsigned long classes;
	void (*event)(struct evmon_site *site, const void *object, u64 value);
	void (*wait)(struct evmon_site *site, const void *object);
	void (*going)(const struct module *module);
	void (*show)(struct seq_file *m);
	struct list_head node;
	/* Of reports in the log: a hundred of one monitor leave room for another's. */
	struct ratelimit_state limit;
};

/**
 * evmon_register - have a monitor called from now on
 *
 * May sleep.
 */
void evmon_register(struct evmon_monitor *monitor);

/**
 * evmon_unregister - no call of the monitor is under way or comes when this returns
 *
 * May sleep.
 */
void evmon_unregister(struct evmon_monitor *monitor);

/**
 * struct evmon_where - a place and who was there, for a report
 * @place:	its number, which outlives its module; 0: none, @ip tells
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

/* For what is told later, in another context: see evmon_violation_of(). */
struct evmon_stack {
	unsigned int len;
	unsigned long entries[12];
	pid_t pid;
};
void evmon_stack_save(struct evmon_stack *stack);

/* This place, process and moment. */
struct evmon_where evmon_here(struct evmon_site *site);
struct evmon_where evmon_here_ip(unsigned long ip);
/* Who of a module called what the kernel tells of without saying who; slow. */
unsigned long evmon_caller(void);

/**
 * evmon_violation - count a violation, and tell of the first for a pair of places
 * @monitor:	who found it
 * @object:	what it is about
 * @here:	where it was found
 * @there:	what the other place did: "taken", "dropped to zero"; or NULL
 * @other:	the other place
 * @format:	what is wrong, in a few words, without a newline
 *
 * Any context, but with a run queue locked: printing may want to wake a process.
 *
 * Return: the report's number, 0 if nothing was told.
 */
__printf(6, 7)
int evmon_violation(struct evmon_monitor *monitor, const void *object,
		     const struct evmon_where *here, const char *there,
		     const struct evmon_where *other, const char *format, ...);

/* The same with the stack of who did it; NULL: this one. */
__printf(7, 8)
int evmon_violation_of(struct evmon_monitor *monitor, const void *object,
		       const struct evmon_where *here, const struct evmon_stack *stack,
		       const char *there, const struct evmon_where *other,
		       const char *format, ...);

/* A line more in report @number, unless that is 0: what was done, and where. */
void evmon_violation_more(int number, const char *what, const struct evmon_where *where);

#endif /* EVMON_MONITOR_H */
