// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engine that runs compounds in the process: COSY_ENGINE=user. */
#include "user/user.h"
#include "host.h"

const struct engine_ops *const user_engines[] = { &confined_engine, NULL };

void user_engines_fork_child(void)
{
	cosy_fork_child();
}
