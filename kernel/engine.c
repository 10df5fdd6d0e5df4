// SPDX-License-Identifier: GPL-2.0
/* The engines that there are.  See engine.h. */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "compat.h"
#include "engine.h"

#define ENGINES_MAX	8

/* An engine's place is its id; the lock is held while one comes or goes. */
static const struct engine_ops *engines[ENGINES_MAX];
static DEFINE_MUTEX(engines_lock);

const struct engine_ops *engine_get(unsigned int id)
{
	const struct engine_ops *engine = NULL;

	if (id >= ENGINES_MAX)
		return NULL;
	mutex_lock(&engines_lock);
	if (engines[id] && try_module_get(engines[id]->owner))
		engine = engines[id];
	mutex_unlock(&engines_lock);
	return engine;
}

void engine_put(const struct engine_ops *engine)
{
	module_put(engine->owner);
}

int engine_register(const struct engine_ops *engine)
{
	int err = 0;

	if (engine->id >= ENGINES_MAX)
		return -EINVAL;
	mutex_lock(&engines_lock);
	if (engines[engine->id])
		err = -EEXIST;
	else if (engine->init)
		err = engine->init();
	if (!err)
		engines[engine->id] = engine;
	mutex_unlock(&engines_lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(engine_register, COMPAT_NS(SYSCRIPT));

bool engines_age(void)
{
	bool more = false;
	unsigned int i;

	mutex_lock(&engines_lock);
	for (i = 0; i < ENGINES_MAX; i++)
		if (engines[i] && engines[i]->age && engines[i]->age())
			more = true;
	mutex_unlock(&engines_lock);
	return more;
}

/* Its module is going, so none of its programs is left. */
void engine_unregister(const struct engine_ops *engine)
{
	mutex_lock(&engines_lock);
	engines[engine->id] = NULL;
	mutex_unlock(&engines_lock);
	if (engine->exit)
		engine->exit();
}
EXPORT_SYMBOL_NS_GPL(engine_unregister, COMPAT_NS(SYSCRIPT));
