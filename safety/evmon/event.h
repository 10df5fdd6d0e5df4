/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, as code that is monitored emits them.
 *
 *	log_event(object, EVMON_USER + 3);
 *	evmon_emit(EVMON_REF_INC, &inode->i_count, "i_count", new_value);
 *
 * Without a listener these are a few bytes of no-ops. Otherwise evmon.ko calls the monitors and
 * writes to the open rings, immediately and in the current context, which may be an NMI.
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

/* Values of IRQ_RESTORE and SPIN_RELEASE_IRQ: on again; restored to the previous state. */
#define EVMON_ON_AGAIN		1
#define EVMON_REGARDLESS	2

/**
 * struct evmon_site - a place that emits events
 * @file:	source file
 * @name:	what the source calls the object, or NULL
 * @module:	the module that contains the code; NULL: the kernel
 * @line:	in @file
 * @type:	enum evmon_type, or EVMON_USER and more
 * @tried:	a trylock: never waits
 * @nested:	*_nested(): the author asserts an order within one lock class
 * @id:		assigned by evmon.ko; 0 before the first event
 *
 * Static, one for each place; its strings must live as long as @module.
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
 * @object:	the object; not dereferenced
 * @value:	see events.def; for EVMON_USER and above, as the listeners agree
 *
 * Call it only while evmon_on is set. Any context.
 */
void evmon_event(struct evmon_site *site, const void *object, u64 value);

/**
 * evmon_waits - the caller is about to wait for a lock, and will emit an event once it is taken
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
