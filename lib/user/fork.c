// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* How the parts of the backend handle fork(2), in the order of their locks. */
#include <errno.h>
#include <pthread.h>

#include "user.h"

static int error;

static void prepare(void)
{
	user_fd_fork(FORK_PREPARE);
	clock_fork(FORK_PREPARE);
	user_engines_fork(FORK_PREPARE);
}

static void parent(void)
{
	user_engines_fork(FORK_PARENT);
	clock_fork(FORK_PARENT);
	user_fd_fork(FORK_PARENT);
}

static void child(void)
{
	user_engines_fork(FORK_CHILD);
	clock_fork(FORK_CHILD);
	limits_fork_child();
	user_fd_fork(FORK_CHILD);
}

static void follow(void)
{
	error = -pthread_atfork(prepare, parent, child);
}

int fork_follow(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow);
	return error;
}
