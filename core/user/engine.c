// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements core/engine.h's table for a process: engines.c lists its engines.  They need no
 * init(), which could fail for good.
 */
#include "engine.h"
#include "user.h"

#include <stddef.h>

const struct engine_ops *engine_get(unsigned int id)
{
	for (size_t i = 0; user_engines[i]; i++)
		if (user_engines[i]->id == id)
			return user_engines[i];
	return NULL;
}

void engine_put(const struct engine_ops *engine)
{
	(void)engine;
}
