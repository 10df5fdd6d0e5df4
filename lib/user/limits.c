// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See kernel/limits.h: the account is the process's. */
#include <pthread.h>
#include <stdio.h>

#include "user.h"

struct limits_account {
	unsigned int scripts;		/* it goes with the last of them */
	u64 memory;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct limits_account *current;

/* At least. */
static unsigned long in_ms(u64 ns)
{
	return (ns + 999999) / 1000000;
}

int limits_resolve(struct limits *limits, char *error, size_t len)
{
	if (!limits->memory)
		limits->memory = SYSCRIPT_MEMORY_DEFAULT;
	if (!limits->time)
		limits->time = SYSCRIPT_TIME_DEFAULT;
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
		return 0;
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
	pthread_mutex_lock(&lock);
	if (!current)
		current = calloc(1, sizeof(*current));
	if (current) {
		err = take_share(current, memory, error, len);
		*account = current;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

void limits_uncharge_memory(struct limits_account *account, u64 memory)
{
	pthread_mutex_lock(&lock);
	account->memory -= memory;
	pthread_mutex_unlock(&lock);
}

void limits_uncharge(struct limits_account *account, u64 memory)
{
	pthread_mutex_lock(&lock);
	account->memory -= memory;
	if (--account->scripts)
		account = NULL;
	else if (account == current)
		current = NULL;
	pthread_mutex_unlock(&lock);
	free(account);
}

/* The parent's scripts stay with the copy of its account. */
void limits_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	current = NULL;
}
