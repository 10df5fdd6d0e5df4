// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements builtin.h. A script has one run at a time, so each text is registered once for each
 * thread that calls it concurrently, up to INSTANCES; further threads wait for a ticket.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../lua_shared_image.h"
#include "../lua_host.h"
#include "user/user.h"
#include "builtin.h"
#include "direct.h"
#include "suites.h"
#include "syscript.h"
#include "user/ticket.h"

#define INSTANCES	4
/* Enough for these scripts, and a small part of a user's share. */
#define MEMORY_LIMIT	(256 << 10)
/* The time to read a directory is spent in system calls, not in script code. */
#define TIME_LIMIT	1000000000

static const char *const sources[] = {
#define BUILTIN(name)	[BUILTIN_##name] =
#include "builtin.inc"
#undef BUILTIN
};

static const char *const names[] = {
#define BUILTIN(name)	[BUILTIN_##name] = #name,
#include "builtin.def"
#undef BUILTIN
};

/*
 * struct instance - a registration
 * @fd:   the descriptor plus 1; 0 if there is none yet
 * @id:   the script's number, if there is one
 * @kept: the script, while it can be called without the descriptor; otherwise NULL
 */
struct instance {
	struct ticket_lock turn;
	int fd;
	uint64_t id;
	struct script *kept;
};

static struct instance instances[BUILTINS][INSTANCES];

const char *builtin_source(enum builtin which)
{
	return sources[which];
}

/* Threads that held a ticket at fork() do not exist in the child. */
void builtin_fork_child(void)
{
	for (int which = 0; which < BUILTINS; which++)
		for (int i = 0; i < INSTANCES; i++)
			ticket_init(&instances[which][i].turn);
}

static int make(enum builtin which, enum syscript_backend backend)
{
	struct syscript_options options = {
		.size = sizeof(options),
		.name = names[which],
		.backend = backend,
		.memory_limit = MEMORY_LIMIT,
		.time_limit_ns = TIME_LIMIT,
		/* No limit, because file systems may be slow, and signals end these scripts. */
		.wall_limit_ns = SYSCRIPT_NO_LIMIT,
	};

	return syscript_register(sources[which], strlen(sources[which]), &options, NULL, 0);
}

/*
 * Kept small, because the user's shares of scripts and of machine code are for their own scripts.
 */
int builtin_register(enum builtin which)
{
	int fd = make(which, suites_allow(which) ? SYSCRIPT_BACKEND_AUTO : SYSCRIPT_BACKEND_USER);

	if (fd == -EDQUOT || fd == -ENOMEM || fd == -ENOBUFS)
		fd = make(which, SYSCRIPT_BACKEND_USER);
	return fd;
}

/*
 * Is the script unusable: another process's, dead, its thread now watched, or its descriptor
 * closed by a program that closes all unknown descriptors? @ours: the descriptor is still the
 * script's.
 */
static bool is_lost(int err, bool *ours)
{
	*ours = err == -EXDEV || err == -ENOTRECOVERABLE || err == -EOPNOTSUPP;
	return *ours || err == -EBADF || err == -ENOTTY;
}

static void drop_kept(struct instance *instance)
{
	if (!instance->kept)
		return;
	user_fd_put(instance->kept);
	instance->kept = NULL;
	user_fd_sweep();
}

static uint64_t id_of(int fd)
{
	struct syscript_info info;

	return syscript_info(fd, &info) ? 0 : info.id;
}

/* The program may have closed the descriptor, and reused its number. */
static void release(struct instance *instance)
{
	drop_kept(instance);
	if (instance->fd && instance->id && id_of(instance->fd - 1) == instance->id)
		syscript_close(instance->fd - 1);
	instance->fd = 0;
}

static int call_by_number(enum builtin which, struct instance *instance, unsigned int nargs,
			  const int64_t *args, unsigned int nresults, int64_t *results)
{
	int ret = 0;
	bool ours;

	for (int tries = 0; tries < 2; tries++) {
		if (!instance->fd) {
			ret = builtin_register(which);
			if (ret < 0)
				return ret;
			instance->fd = ret + 1;
			instance->id = id_of(ret);
			instance->kept = lua_keep(ret);
		}
		ret = syscript_call(instance->fd - 1, nargs, args, nresults, results);
		if (ret >= 0 || !is_lost(ret, &ours))
			break;
		drop_kept(instance);
		if (ours)
			syscript_close(instance->fd - 1);
		instance->fd = 0;
	}
	return ret;
}

static int call(enum builtin which, struct instance *instance, unsigned int nargs,
		const int64_t *args, unsigned int nresults, int64_t *results)
{
	int ret = -ESTALE;

	if (instance->kept)
		ret = lua_call_kept(instance->kept, false, nargs, args, nresults, results);
	if (ret == -ESTALE) {
		drop_kept(instance);
		ret = call_by_number(which, instance, nargs, args, nresults, results);
	}
	/* These scripts fail, or cannot be called, only for a bad address. */
	return ret == -EPROTO || ret == -ERANGE ? -EFAULT : ret;
}

/*
 * Returns an instance that no other thread uses, or waits for the first one. NULL if this thread
 * is already within an instance.
 */
static struct instance *take_instance(enum builtin which)
{
	struct instance *first = instances[which], *instance;

	for (instance = first; instance < first + INSTANCES; instance++)
		if (ticket_try(&instance->turn))
			return instance;
	return ticket_take(&first->turn) ? NULL : first;
}

int builtin_call(enum builtin which, unsigned int nargs, const int64_t *args,
		 unsigned int nresults, int64_t *results)
{
	struct instance *instance;
	int ret;

	instance = take_instance(which);
	if (!instance)
		return -EDEADLK;
	ret = call(which, instance, nargs, args, nresults, results);
	ticket_give(&instance->turn);
	return ret;
}

void syscript_release(void)
{
	struct instance *instance = instances[0];

	for (; instance < instances[0] + BUILTINS * INSTANCES; instance++) {
		if (!ticket_try(&instance->turn))
			continue;
		release(instance);
		ticket_give(&instance->turn);
	}
	direct_release();
	shared_image_drop_idle();
}
