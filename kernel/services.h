/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for programs of all subsystems: tables, uapi/syscript_table.h. */
#ifndef SYSCRIPT_SERVICES_H
#define SYSCRIPT_SERVICES_H

#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct syscript_event;
typedef s64 hook_function(struct syscript_event *event, const s64 *args);

#define SERVICES_LOCKS	16

/**
 * struct services - tables of one program
 * @key:   secret key of its tables' hashes
 * @locks: locks of the tables' sets; at most one is held at a time
 */
struct services {
	hsiphash_key_t key;
	spinlock_t locks[SERVICES_LOCKS];
};

void services_init(struct services *services);

/* NULL if there is no such function. */
hook_function *services_find(const char *name);

#endif /* SYSCRIPT_SERVICES_H */
