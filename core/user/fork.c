// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A child of fork(2) has no other threads, so the backend's state of them is reset there: called
 * by the fork handler of core/user/lock.c, with all signals blocked.
 */
#include "user.h"

void user_fork_child(void)
{
	user_engines_fork_child();
	clock_fork_child();
	limits_fork_child();
	user_fd_fork_child();
}
