/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libkernevents: the events of instrumented modules, in bulk.
 *
 *	struct kernevents *ke;
 *	struct kernevent events[1024];
 *	ssize_t n;
 *
 *	if (kernevents_open(&ke, NULL) < 0)
 *		...
 *	while ((n = kernevents_read(ke, events, 1024, 1000)) >= 0)
 *		...
 *	kernevents_close(ke);
 *
 * Functions return 0 or more, or -errno; none of them sets errno.  A handle is for one
 * thread at a time.  For root, and users with access to tracefs; evmon.ko must be loaded.
 */
#ifndef KERNEVENTS_H
#define KERNEVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of events: what they are about, and their value. */
enum kernevent_type {
#define EVENT(name, class, text) KERNEVENT_##name,
#include "events.def"
#undef EVENT
};

struct kernevent {
	uint64_t time;		/* ns, of the kernel's local clock */
	uint64_t object;	/* its address in the kernel */
	uint64_t value;		/* see events.def */
	uint32_t place;		/* see kernevents_place() */
	int32_t pid;		/* of the thread that ran */
	uint16_t type;		/* enum kernevent_type, or KERNEVENT_USER and more */
	uint16_t cpu;
};

struct kernevent_place {
	char module[32];
	char file[48];
	char name[48];		/* what the source calls the object, or "" */
	uint32_t line;		/* 0: of a caller, .file is symbol+offset */
	uint16_t type;
};

struct kernevents_options {
	const char *instance;	/* of tracefs, of a name of its own; NULL: "kernevents" */
	size_t buffer_kib;	/* for each CPU; 0: 1024 */
	unsigned int percent;	/* how full a CPU's buffer is before a reader wakes; 0: 25 */
	/* The kernel's, "type == 7 && object == 0x1234"; an event then costs ten times as much. */
	const char *filter;
};

struct kernevents;

/**
 * kernevents_open - have events written to rings from now on
 * @ke:		set to a handle, to be closed
 * @options:	NULL: all defaults
 *
 * Return: 0; -ENOENT: evmon.ko is not loaded or tracefs not mounted; -EACCES: not for
 * this user; -EINVAL: the filter is wrong; -ENOMEM; or another -errno of tracefs.
 */
int kernevents_open(struct kernevents **ke, const struct kernevents_options *options);

/**
 * kernevents_read - take events from the rings, in bulk
 * @ke:		a handle
 * @events:	room for them
 * @count:	how many fit
 * @timeout_ms:	how long to wait until a ring is as full as the options say; then what
 *		there is; -1: for ever
 *
 * Events of one CPU come in order, those of several are mixed.  A CPU that was off is
 * looked for once a second, at most.
 *
 * Return: how many there are, 0 after the timeout; -EINTR; or -errno of read(2).
 */
ssize_t kernevents_read(struct kernevents *ke, struct kernevent *events, size_t count,
			int timeout_ms);

/**
 * kernevents_lost - how many events found a ring full, as far as was read
 *
 * CPUs write events in batches; one that was lost counts as large as the next one.
 */
uint64_t kernevents_lost(const struct kernevents *ke);

/**
 * kernevents_place - where events come from
 * @ke:		a handle
 * @number:	kernevent.place
 *
 * Return: the place, valid until the next call; NULL: there is none of that number.
 */
const struct kernevent_place *kernevents_place(struct kernevents *ke, uint32_t number);

/**
 * kernevents_text - "spinlock taken"
 * @type:	kernevent.type
 *
 * Return: a text, never NULL.
 */
const char *kernevents_text(uint16_t type);

/**
 * kernevents_close - no more events are written for this handle; NULL is ignored
 */
void kernevents_close(struct kernevents *ke);

#ifdef __cplusplus
}
#endif

#endif /* KERNEVENTS_H */
