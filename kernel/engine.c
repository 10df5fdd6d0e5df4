// SPDX-License-Identifier: GPL-2.0
/* The engines that there are.  See engine.h. */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "engine.h"

#define ENGINES_MAX	8

/*
 * An engine's place is its id.  The mutex is held while one comes, goes or ages, the
 * other lock, which every registration takes, for a look and a store.
 */
static const struct engine_ops *engines[ENGINES_MAX];
static DEFINE_MUTEX(engines_change);
static DEFINE_SPINLOCK(engines_lock);

const struct engine_ops *engine_get(unsigned int id)
{
	const struct engine_ops *engine = NULL;

	if (id >= ENGINES_MAX)
		return NULL;
	spin_lock(&engines_lock);
	if (engines[id] && try_module_get(engines[id]->owner))
		engine = engines[id];
	spin_unlock(&engines_lock);
	return engine;
}

void engine_put(const struct engine_ops *engine)
{
	module_put(engine->owner);
}

static void set(unsigned int id, const struct engine_ops *engine)
{
	spin_lock(&engines_lock);
	engines[id] = engine;
	spin_unlock(&engines_lock);
}

int engine_register(const struct engine_ops *engine)
{
	int err = 0;

	if (engine->id >= ENGINES_MAX)
		return -EINVAL;
	mutex_lock(&engines_change);
	if (engines[engine->id])
		err = -EEXIST;
	else if (engine->init)
		err = engine->init();
	if (!err)
		set(engine->id, engine);
	mutex_unlock(&engines_change);
	return err;
}
EXPORT_SYMBOL_NS_GPL(engine_register, COMPAT_NS(SYSCRIPT));

bool engines_age(void)
{
	bool more = false;
	unsigned int i;

	mutex_lock(&engines_change);
	for (i = 0; i < ENGINES_MAX; i++)
		if (engines[i] && engines[i]->age && engines[i]->age())
			more = true;
	mutex_unlock(&engines_change);
	return more;
}

/* Its module is going, so none of its programs is left. */
void engine_unregister(const struct engine_ops *engine)
{
	mutex_lock(&engines_change);
	set(engine->id, NULL);
	mutex_unlock(&engines_change);
	if (engine->exit)
		engine->exit();
}
EXPORT_SYMBOL_NS_GPL(engine_unregister, COMPAT_NS(SYSCRIPT));
