// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engines of a process, which engines.c lists.  See kernel/engine.h. */
#include "engine.h"
#include "user.h"

#include <pthread.h>
#include <stddef.h>

#define ENGINES_MAX	8

static int errors[ENGINES_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
	for (size_t i = 0; user_engines[i]; i++)
		errors[i] = user_engines[i]->init ? user_engines[i]->init() : 0;
}

const struct engine_ops *engine_get(unsigned int id)
{
	pthread_once(&once, init);
	for (size_t i = 0; user_engines[i]; i++) {
		if (user_engines[i]->id == id && !errors[i])
			return user_engines[i];
	}
	return NULL;
}

void engine_put(const struct engine_ops *engine)
{
	(void)engine;
}
