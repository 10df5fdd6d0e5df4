// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The LuaJIT engine's operations for the core (engine.h), in the module and in libsyscript. */
#include "engine.h"
#include "platform.h"
#include "vm.h"

#ifdef __KERNEL__
#include "kernel/atomic.h"
#endif

/* The core's struct engine_vm is the VM layer's struct vm. */
static struct vm *vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

static int luajit_create(struct run *run, const struct engine_image *image)
{
	struct vm_load load = {
		.source = image->data, .len = image->len,
		.check = run->flags & SYSCRIPT_CHECK,
	};
	struct vm *vm = port_create(run->memory_limit);
	int err;

	if (!vm)
		return -ENOMEM;
	vm->run = run;
	load.vm = vm;
	run->vm = (struct engine_vm *)vm;
	err = port_load(&load);
	if (err) {
		port_destroy(vm);
		run->vm = NULL;
	}
	return err;
}

static int luajit_call(struct engine_vm *engine_vm, struct syscript_call *call)
{
	struct vm *vm = vm_of(engine_vm);
	struct vm_run r = {
		.vm = vm, .nargs = call->nargs,
		.args = call->args, .results = call->results,
	};
	int ret = likely(vm->ready) ? 0 : port_ready(vm);

	if (unlikely(ret))
		return ret;
	ret = run_script(vm->run, vm_run, &r, vm->stack + VM_STACK_SIZE);
	call->nresults = r.nresults;
	return ret;
}

static void luajit_interrupt(struct engine_vm *vm)
{
	/* The VM refuses an interrupt while it changes its dispatch table, so it is repeated. */
	vm_interrupt(vm_of(vm));
}

static void luajit_end(struct engine_vm *vm)
{
	vm_end(vm_of(vm));
}

enum { LUAJIT_TRACES, LUAJIT_MCODE };

static void luajit_stats(struct engine_vm *vm, struct engine_stats *stats)
{
	const struct vm_stats *from = &vm_of(vm)->stats;

	stats->memory = READ_ONCE(from->memory);
	stats->memory_peak = READ_ONCE(from->memory_peak);
	stats->counters[LUAJIT_TRACES] = READ_ONCE(from->traces);
	stats->counters[LUAJIT_MCODE] = READ_ONCE(from->mcode);
}

static void luajit_code(struct engine_vm *vm, engine_code_fn *add, void *arg)
{
	port_code(vm_of(vm), add, arg);
}

static void luajit_idle(struct engine_vm *vm)
{
	port_idle(vm_of(vm));
}

static void luajit_destroy(struct engine_vm *vm)
{
	port_destroy(vm_of(vm));
}

const struct engine_ops luajit_engine = {
	.name = "luajit",
	.id = SYSCRIPT_ENGINE_LUAJIT,
	.prints = 1,
	.formats = SYSCRIPT_LUA_SOURCE + 1,
	.contexts = IN_PROCESS,
	.counters = { [LUAJIT_TRACES] = "traces", [LUAJIT_MCODE] = "mcode" },
	.held = 1U << LUAJIT_MCODE,
	.init = port_init,
	.exit = port_exit,
	.create = luajit_create,
#ifdef __KERNEL__
	.atomic = &atomic_ops,
#else
	.lint = luajit_lint,
#endif
	.call = luajit_call,
	.interrupt = luajit_interrupt,
	.end = luajit_end,
	.stats = luajit_stats,
	.code = luajit_code,
	.idle = luajit_idle,
	.age = port_age,
	.destroy = luajit_destroy,
};
