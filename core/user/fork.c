// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What becomes of the backend in a child of fork(2), which has none of the other threads:
 * called by the fork handler of core/user/lock.c, with all signals blocked.
 */
#include "user.h"

void user_fork_child(void)
{
	user_engines_fork_child();
	clock_fork_child();
	limits_fork_child();
	user_fd_fork_child();
}
