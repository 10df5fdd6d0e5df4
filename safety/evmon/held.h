/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who holds which locks, for monitors.  A holder is a task, or what interrupts a
 * task on a CPU; it alone changes what it holds, so nothing is locked.  Exported by
 * evmon.ko, GPL only.
 */
#ifndef EVMON_HELD_H
#define EVMON_HELD_H

#include "monitor.h"

#define HELD_MAX	16

struct held_lock {
	const void *object;		/* NULL: released by another */
	struct evmon_where where;
	u64 since;			/* ns */
	u16 type;
	bool gone;			/* its memory was freed */
};

struct holder {
	unsigned long key;
	u32 depth;
	struct held_lock locks[HELD_MAX];
};

struct held_set;
struct task_struct;

struct held_set *held_create(void);
void held_destroy(struct held_set *set);

/* The task or interrupt that runs now; NULL in an NMI, or if it holds nothing. */
struct holder *held_by_me(struct held_set *set);
/* The same for a task. */
struct holder *held_by(struct held_set *set, const struct task_struct *task);

/* It is taken now; false if there is no room to remember it. */
bool held_add(struct held_set *set, struct evmon_site *site, const void *object);

enum held_by_whom { HELD_BY_NONE, HELD_BY_ME, HELD_BY_OTHER };
/* It is released now: what was known of it is in @lock, unless none held it. */
enum held_by_whom held_remove(struct held_set *set, const void *object,
			      struct held_lock *lock);

/*
 * Code without events may have released it since, and freed its memory: what the lock says
 * itself counts.  Where that is not known it is believed to be locked.
 */
bool held_is_locked(const struct held_lock *lock);
/* Its memory is freed: there is no lock from now on, but its holder may release it yet. */
void held_gone(struct held_lock *lock);

/* It is held no more. */
void held_forget(struct held_set *set, struct held_lock *lock);
/* Forgets all that a holder holds. */
void held_clear(struct held_set *set, struct holder *holder);

/* Whether anything is held at all.  Cheap. */
bool held_any(const struct held_set *set);

/* Calls @fn for all that is held. */
void held_walk(struct held_set *set, void (*fn)(struct held_lock *lock, void *data),
	       void *data);
/* The same for what lies in this memory; cheap if nothing does. */
void held_walk_in(struct held_set *set, const void *start, size_t size,
		  void (*fn)(struct held_lock *lock, void *data), void *data);

#endif /* EVMON_HELD_H */
