// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engines of the library's user backend. libcosy links a shorter list. */
#include "batch/builtin.h"
#include "batch/direct.h"
#include "batch/queue.h"
#include "lua_shared_image.h"
#include "lua_host.h"
#include "user/user.h"

const struct engine_ops *const user_engines[] = {
#ifdef LIB_HAS_LUAJIT
	&luajit_engine,
#endif
	&confined_engine, &lua_engine, NULL,
};

void user_engines_fork_child(void)
{
	shared_image_fork_child();
	builtin_fork_child();
	direct_fork_child();
	queue_fork_child();
}
