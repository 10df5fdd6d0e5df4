/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every call of a script goes through engine_ops.call(), where a retpoline would be expensive.
 * So the first engine of each kind, preemptible or not, is called by a static call, which is
 * patched when the engine's module comes and goes. On arm64 neither exists: a static call is a
 * call by pointer there, too.
 */
#ifndef SYSCRIPT_ENGINE_CALL_H
#define SYSCRIPT_ENGINE_CALL_H

#include <linux/static_call.h>

#include "engine.h"

DECLARE_STATIC_CALL(engine_call_preemptible,
		    int(struct engine_vm *vm, struct syscript_call *call));
DECLARE_STATIC_CALL(engine_call_atomic,
		    int(struct engine_vm *vm, struct syscript_call *call));

static __always_inline int engine_call(const struct engine_ops *engine, struct engine_vm *vm,
				       struct syscript_call *call)
{
	int (*fn)(struct engine_vm *vm, struct syscript_call *call) = engine->call;

	if (!IS_ENABLED(CONFIG_HAVE_STATIC_CALL))
		return fn(vm, call);
	if (fn == static_call_query(engine_call_atomic))
		return static_call(engine_call_atomic)(vm, call);
	if (likely(fn == static_call_query(engine_call_preemptible)))
		return static_call(engine_call_preemptible)(vm, call);
	return fn(vm, call);
}

#endif /* SYSCRIPT_ENGINE_CALL_H */
