// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/limits.h in a process, which has one account. */
#include <stdio.h>

#include "lock.h"
#include "user/tools.h"
#include "user.h"

struct limits_account {
	unsigned int scripts;		/* freed with the last script */
	u64 memory;
};

static struct limits_account *current;

/* Rounds up. */
static unsigned long in_ms(u64 ns)
{
	return (ns + 999999) / 1000000;
}

static int resolve_load(struct limits *limits)
{
	limits->load = limits->time > SYSCRIPT_TIME_REGISTER ? limits->time :
							       SYSCRIPT_TIME_REGISTER;
	return 0;
}

int limits_resolve(struct limits *limits, char *error, size_t len)
{
	if (!limits->memory)
		limits->memory = SYSCRIPT_MEMORY_DEFAULT;
	if (!limits->time)
		limits->time = on_valgrind() ? USER_TIME_MAX : SYSCRIPT_TIME_DEFAULT;
	if (!limits->wall)
		limits->wall = SYSCRIPT_WALL_DEFAULT;
	if (!limits->grace)
		limits->grace = SYSCRIPT_GRACE_DEFAULT;

	if (limits->memory < SYSCRIPT_MEMORY_MIN || limits->memory > USER_MEMORY_MAX)
		snprintf(error, len, "memory limit %lu KiB is outside %llu .. %lu KiB",
			 (unsigned long)limits->memory >> 10, SYSCRIPT_MEMORY_MIN >> 10,
			 USER_MEMORY_MAX >> 10);
	else if (limits->time > USER_TIME_MAX)
		snprintf(error, len, "time limit %lu ms is too high: the maximum is %lu ms",
			 in_ms(limits->time), in_ms(USER_TIME_MAX));
	else if (limits->grace > SYSCRIPT_GRACE_DEFAULT)
		snprintf(error, len, "grace time %lu ms is too high: the maximum is %lu ms",
			 in_ms(limits->grace), in_ms(SYSCRIPT_GRACE_DEFAULT));
	else
		return resolve_load(limits);
	return -EINVAL;
}

static int take_share(struct limits_account *account, u64 memory, char *error, size_t len)
{
	if (account->scripts >= USER_SCRIPTS_MAX) {
		snprintf(error, len, "this process has %u scripts already: close some",
			 account->scripts);
		return -EDQUOT;
	}
	if (memory > USER_MEMORY_ALL_MAX - account->memory) {
		snprintf(error, len,
			 "this process's scripts hold %lu bytes, %lu more are too many: close some, or ask for a lower memory limit",
			 (unsigned long)account->memory, (unsigned long)memory);
		return -EDQUOT;
	}
	account->scripts++;
	account->memory += memory;
	return 0;
}

int limits_charge(struct limits_account **account, enum context context, u64 memory,
		  char *error, size_t len)
{
	int err = -ENOMEM;

	(void)context;
	lock_take(LOCK_LIMITS);
	if (!current)
		current = calloc(1, sizeof(*current));
	if (current) {
		err = take_share(current, memory, error, len);
		*account = current;
	}
	lock_give(LOCK_LIMITS);
	return err;
}

void limits_uncharge_memory(struct limits_account *account, u64 memory)
{
	lock_take(LOCK_LIMITS);
	account->memory -= memory;
	lock_give(LOCK_LIMITS);
}

void limits_uncharge(struct limits_account *account, u64 memory)
{
	lock_take(LOCK_LIMITS);
	account->memory -= memory;
	if (--account->scripts)
		account = NULL;
	else if (account == current)
		current = NULL;
	lock_give(LOCK_LIMITS);
	free(account);
}

/* The child starts without an account: the parent's scripts stay with the old one. */
void limits_fork_child(void)
{
	current = NULL;
}
