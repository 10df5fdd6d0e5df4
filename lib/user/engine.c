// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engines that there are in a process.  See kernel/engine.h. */
#include "engine.h"

#include <pthread.h>
#include <stddef.h>

static const struct engine_ops *const engines[] = {
	&luajit_engine,
};

#define ENGINES		(sizeof(engines) / sizeof(engines[0]))

static int errors[ENGINES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
	for (size_t i = 0; i < ENGINES; i++)
		errors[i] = engines[i]->init ? engines[i]->init() : 0;
}

const struct engine_ops *engine_get(unsigned int id)
{
	pthread_once(&once, init);
	for (size_t i = 0; i < ENGINES; i++) {
		if (engines[i]->id == id && !errors[i])
			return engines[i];
	}
	return NULL;
}

void engine_put(const struct engine_ops *engine)
{
	(void)engine;
}
