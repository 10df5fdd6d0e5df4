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

/* Event types: their objects and values. */
enum kernevent_type {
#define EVENT(name, class, text) KERNEVENT_##name,
#include "events.def"
#undef EVENT
};

struct kernevent {
	uint64_t time;		/* ns of the kernel's local clock */
	uint64_t object;	/* its kernel address */
	uint64_t value;		/* see events.def */
	uint32_t place;		/* see kernevents_place() */
	int32_t pid;		/* ID of the thread that ran */
	uint16_t type;		/* enum kernevent_type, or KERNEVENT_USER and more */
	uint16_t cpu;
};

struct kernevent_place {
	char module[32];
	char file[48];
	char name[48];		/* its name in the source, or "" */
	uint32_t line;		/* 0: a caller; .file is symbol+offset */
	uint16_t type;
};

struct kernevents_options {
	const char *instance;	/* name of a tracefs instance; NULL: "kernevents" */
	size_t buffer_kib;	/* per CPU; 0: 1024 */
	unsigned int percent;	/* how full a CPU's buffer wakes the reader; 0: 25 */
	/* A kernel filter, "type == 7 && object == 0x1234"; events then cost ten times as much. */
	const char *filter;
};

struct kernevents;

/**
 * kernevents_open - start writing events to rings
 * @ke:		set to a handle; close it with kernevents_close()
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
 * @timeout_ms:	how long to wait for a ring to fill as the options say, before returning fewer
 *		events; -1: for ever
 *
 * Events of one CPU are in order, those of several are interleaved. New CPUs are looked for at most
 * once a second.
 *
 * Return: number of events, 0 after the timeout; -EINTR; or -errno of read(2).
 */
ssize_t kernevents_read(struct kernevents *ke, struct kernevent *events, size_t count,
			int timeout_ms);

/**
 * kernevents_lost - number of events lost up to the last read
 *
 * A lost batch counts as many events as the next one read.
 */
uint64_t kernevents_lost(const struct kernevents *ke);

/**
 * kernevents_place - look up the place that emitted an event
 * @ke:		a handle
 * @number:	kernevent.place
 *
 * Return: the place, valid until the next call; NULL: no such number.
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
 * kernevents_close - stop writing events and free the handle; NULL is ignored
 */
void kernevents_close(struct kernevents *ke);

#ifdef __cplusplus
}
#endif

#endif /* KERNEVENTS_H */
