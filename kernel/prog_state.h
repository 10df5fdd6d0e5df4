/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State that programs of a namespace share by name (struct syscript_state).  The first program
 * that names a state makes it, and it ends with the last: it has no owner who could keep it.
 */
#ifndef SYSCRIPT_PROG_STATE_H
#define SYSCRIPT_PROG_STATE_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include "prog_helpers.h"
#include "prog_ring.h"
#include "uapi/syscript.h"

/* The states of a namespace, or of the machine. @lock: guards the list and their users. */
struct prog_states {
	spinlock_t lock;
	struct list_head list;
};

#define PROG_STATES_INIT(name)	\
	{ .lock = __SPIN_LOCK_UNLOCKED(name.lock), .list = LIST_HEAD_INIT(name.list) }

/**
 * struct prog_state - a state
 * @users:   programs that name it
 * @def:     its definition
 * @helpers: a table's secret key and locks, for all programs
 * @evicted: entries of a table that were replaced
 * @pages:   a table's @npages pages, which each program's arena maps
 * @ring:    a ring
 */
struct prog_state {
	struct list_head node;
	struct prog_states *of;
	unsigned int users;
	struct syscript_state def;
	struct prog_helpers helpers;
	u64 evicted;
	struct page **pages;
	unsigned long npages;
	struct prog_ring *ring;
};

void prog_states_init(struct prog_states *states);

/*
 * Bytes of the state that @def, which request_check_state() has accepted, defines: all, and those
 * that are not in the programs' arenas.
 */
u64 prog_state_size(const struct syscript_state *def);
u64 prog_state_outside(const struct syscript_state *def);

/*
 * Finds or makes the state that @def defines. @states stays until it is put. Returns an ERR_PTR:
 * -EEXIST with the text in @error (RUN_ERROR_LEN bytes) if it is defined differently, -ENOMEM.
 */
struct prog_state *prog_state_get(struct prog_states *states, const struct syscript_state *def,
				  char *error);
/* The ring with this name, with a reference, and its definition; or NULL. */
struct prog_ring *prog_state_ring(struct prog_states *states, const char *name,
				  struct syscript_state *def);
/* No call of a program that names it may be under way. */
void prog_state_put(struct prog_state *state);

#endif /* SYSCRIPT_PROG_STATE_H */
