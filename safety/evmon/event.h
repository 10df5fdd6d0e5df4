/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, as code that is monitored emits them.
 *
 *	log_event(object, EVMON_USER + 3);
 *	evmon_emit(EVMON_REF_INC, &inode->i_count, "i_count", new_value);
 *
 * While no one listens that is a few bytes of no operation.  Else evmon.ko calls
 * the monitors, and writes to the rings that are open, at once, in whatever context
 * this is, NMIs included.
 */
#ifndef EVMON_EVENT_H
#define EVMON_EVENT_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct module;

enum evmon_type {
#define EVENT(name, class, text) EVMON_##name,
#include "events.def"
#undef EVENT
};

/* Values of IRQ_RESTORE and SPIN_RELEASE_IRQ: on again; whatever they were before. */
#define EVMON_ON_AGAIN		1
#define EVMON_REGARDLESS	2

/**
 * struct evmon_site - a place that emits events
 * @file:	source file
 * @name:	what the source calls the object, or NULL
 * @module:	whose code it is; NULL: the kernel's
 * @line:	in @file
 * @type:	enum evmon_type, or EVMON_USER and more
 * @tried:	takes a lock by a first try only, and never waits
 * @nested:	its author says that locks of one class have an order
 * @id:		evmon.ko's; 0 before the first event
 *
 * Static, one for each place; its strings have to last as long as @module.
 */
struct evmon_site {
	const char *file;
	const char *name;
	struct module *module;
	u32 line;
	u16 type;
	bool tried, nested;
	u32 id;
};

DECLARE_STATIC_KEY_FALSE(evmon_on);

/**
 * evmon_event - an event took place
 * @site:	where
 * @object:	what it is about; not dereferenced
 * @value:	see events.def; else whatever the listeners agree upon
 *
 * To be called while evmon_on is set.  Any context.
 */
void evmon_event(struct evmon_site *site, const void *object, u64 value);

/**
 * evmon_waits - a lock is about to be waited for, by who will emit an event once it is taken
 * @site:	the event's
 * @object:	the lock
 *
 * For monitors only, as this wait may never end.  As evmon_event().
 */
void evmon_waits(struct evmon_site *site, const void *object);

/* True if a monitor is registered. */
#define evmon_is_on()	static_branch_unlikely(&evmon_on)

#define evmon_emit(type_, object_, name_, value_) do {			\
	static struct evmon_site evmon_site_ = {			\
		.file = __FILE__, .name = (name_), .module = THIS_MODULE,\
		.line = __LINE__, .type = (type_),			\
	};								\
									\
	if (evmon_is_on())						\
		evmon_event(&evmon_site_, object_, value_);		\
} while (0)

/* The paper's call. */
#define log_event(object, type)	evmon_emit(type, object, #object, 0)

#endif /* EVMON_EVENT_H */
