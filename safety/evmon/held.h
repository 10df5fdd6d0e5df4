/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who holds which locks, for monitors. A holder is a task, or an interrupt level of a CPU. Only the
 * holder adds entries to its list, so there is no lock. Exported by evmon.ko, GPL only.
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

/* The running task or interrupt; NULL in an NMI, or if it holds nothing. */
struct holder *held_by_me(struct held_set *set);
/* The holder of a task; NULL if it holds nothing. */
struct holder *held_by(struct held_set *set, const struct task_struct *task);

/* Records that the lock was taken; false if there is no room. */
bool held_add(struct held_set *set, struct evmon_site *site, const void *object);

enum held_by_whom { HELD_BY_NONE, HELD_BY_ME, HELD_BY_OTHER };
/* Records a release: copies the lock's entry to @lock if there was one. */
enum held_by_whom held_remove(struct held_set *set, const void *object,
			      struct held_lock *lock);

/*
 * Uninstrumented code may have released the lock since, or freed its memory: the lock's own state
 * decides. Where it cannot be read, the lock counts as held.
 */
bool held_is_locked(const struct held_lock *lock);
/* Its memory was freed: the lock no longer exists, though its holder may still release it. */
void held_gone(struct held_lock *lock);

/* Removes the entry. */
void held_forget(struct held_set *set, struct held_lock *lock);
/* Removes all entries of a holder. */
void held_clear(struct held_set *set, struct holder *holder);

/* Whether any lock is held at all. Cheap. */
bool held_any(const struct held_set *set);

/* Calls @fn for each held lock. */
void held_walk(struct held_set *set, void (*fn)(struct held_lock *lock, void *data),
	       void *data);
/* Calls @fn for each held lock in this memory; cheap if there is none. */
void held_walk_in(struct held_set *set, const void *start, size_t size,
		  void (*fn)(struct held_lock *lock, void *data), void *data);

#endif /* EVMON_HELD_H */
