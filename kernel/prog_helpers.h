/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for programs of all subsystems: tables, uapi/syscript_table.h. */
#ifndef SYSCRIPT_PROG_HELPERS_H
#define SYSCRIPT_PROG_HELPERS_H

#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct syscript_event;
typedef s64 hook_function(struct syscript_event *event, const s64 *args);

#define PROG_HELPERS_LOCKS	16

/**
 * struct prog_helpers - tables of one program, or one that programs share
 * @key:   secret key of the tables' hashes
 * @locks: locks of the tables' sets; at most one is held at a time
 */
struct prog_helpers {
	hsiphash_key_t key;
	spinlock_t locks[PROG_HELPERS_LOCKS];
};

void prog_helpers_init(struct prog_helpers *services);

/* NULL if there is no such function. */
hook_function *prog_helpers_find(const char *name);

#endif /* SYSCRIPT_PROG_HELPERS_H */
