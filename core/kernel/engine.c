// SPDX-License-Identifier: GPL-2.0
/*
 * The table of engines.  An engine's module may come and go while the device is open; a program
 * holds its engine's module, so an engine is never called after it has gone.  The calls of the
 * first engine of each kind are direct: static calls, patched here.
 */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "engine.h"
#include "engine_call.h"
#include "run_priv.h"

#define ENGINES_MAX	8

/*
 * Indexed by the engine's id.  The mutex serialises registering, unregistering and ageing; the
 * spinlock, which every registration of a script takes, is held for a lookup or a store only.
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

static void engines_set(unsigned int id, const struct engine_ops *engine)
{
	spin_lock(&engines_lock);
	engines[id] = engine;
	spin_unlock(&engines_lock);
}

/*
 * The first engine of each kind, preemptible or not, is called directly.  Call sites are patched
 * before it has programs, and again after its last program is gone.
 */
static const struct engine_ops *direct[2];

static int no_call(struct engine_vm *vm, struct syscript_call *call)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(engine_call_preemptible, no_call);
DEFINE_STATIC_CALL(engine_call_atomic, no_call);

static void call_directly(bool atomic, const struct engine_ops *engine)
{
	direct[atomic] = engine;
	if (atomic) {
		static_call_update(engine_call_atomic, engine ? engine->call : no_call);
		run_set_atomic(engine ? engine->atomic : NULL);
	} else {
		static_call_update(engine_call_preemptible, engine ? engine->call : no_call);
		run_set_enter(engine);
	}
}

/* The engine's init() may already run programs. */
static int engines_add(const struct engine_ops *engine)
{
	bool first = !direct[!!engine->atomic];
	int err;

	if (engines[engine->id])
		return -EEXIST;
	if (engine->atomic && !first)
		return -EBUSY;
	if (first)
		call_directly(engine->atomic, engine);
	err = engine->init ? engine->init() : 0;
	if (!err)
		engines_set(engine->id, engine);
	else if (first)
		call_directly(engine->atomic, NULL);
	return err;
}

int engine_register(const struct engine_ops *engine)
{
	int err;

	if (engine->id >= ENGINES_MAX)
		return -EINVAL;
	mutex_lock(&engines_change);
	err = engines_add(engine);
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

/* The engine's module is being unloaded, so it has no programs. */
void engine_unregister(const struct engine_ops *engine)
{
	mutex_lock(&engines_change);
	engines_set(engine->id, NULL);
	if (engine->exit)
		engine->exit();
	if (direct[!!engine->atomic] == engine)
		call_directly(engine->atomic, NULL);
	mutex_unlock(&engines_change);
}
EXPORT_SYMBOL_NS_GPL(engine_unregister, COMPAT_NS(SYSCRIPT));
