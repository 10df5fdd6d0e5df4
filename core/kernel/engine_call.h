/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every call of a script goes through engine_ops.call(), where a retpoline would be expensive.
 * So the first engine of each kind, preemptible or not, is called by a static call, which is
 * patched when the engine's module comes and goes.
 */
#ifndef SYSCRIPT_ENGINE_CALL_H
#define SYSCRIPT_ENGINE_CALL_H

#include <linux/static_call.h>

#include "engine.h"

/*
 * Does the static call @name call @fn now? False where static calls are calls by pointer (arm64):
 * there a comparison would only add to them.
 */
#define static_call_is(name, fn) \
	(IS_ENABLED(CONFIG_HAVE_STATIC_CALL) && (fn) == static_call_query(name))

DECLARE_STATIC_CALL(engine_call_preemptible,
		    int(struct engine_vm *vm, struct syscript_call *call));
DECLARE_STATIC_CALL(engine_call_atomic,
		    int(struct engine_vm *vm, struct syscript_call *call));

static __always_inline int engine_call(const struct engine_ops *engine, struct engine_vm *vm,
				       struct syscript_call *call)
{
	int (*fn)(struct engine_vm *vm, struct syscript_call *call) = engine->call;

	if (static_call_is(engine_call_atomic, fn))
		return static_call(engine_call_atomic)(vm, call);
	if (likely(static_call_is(engine_call_preemptible, fn)))
		return static_call(engine_call_preemptible)(vm, call);
	return fn(vm, call);
}

#endif /* SYSCRIPT_ENGINE_CALL_H */
