/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What scripts may use: the bounds of one script, the share of one user, and
 * the switch that turns all of them off.
 */
#ifndef SYSCRIPT_LIMITS_H
#define SYSCRIPT_LIMITS_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct engine_limits;
struct limits_user;

extern bool limits_enabled_param;

/* False: no new script, no new call; those that run come to their end. */
static inline bool limits_enabled(void)
{
	return READ_ONCE(limits_enabled_param);
}

/*
 * Puts the defaults where @limits has 0.  Returns 0, or -EINVAL with the reason
 * in @error if a limit is out of bounds.
 */
int limits_resolve(struct engine_limits *limits, char *error, size_t error_len);

/*
 * Takes one script of @memory bytes out of @uid's share.  Returns what has to
 * be given to limits_uncharge(), or an ERR_PTR (-EDQUOT, -ENOMEM) with the
 * reason in @error.
 */
struct limits_user *limits_charge(kuid_t uid, u64 memory, char *error,
				  size_t error_len);

/* Gives the memory back ahead of the script itself (a dead one holds none). */
void limits_uncharge_memory(struct limits_user *user, u64 memory);

/* Gives the script back, with @memory if that is still charged. */
void limits_uncharge(struct limits_user *user, u64 memory);

#endif /* SYSCRIPT_LIMITS_H */
