// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Loads a script into an engine: in the kernel if possible, otherwise in this process. If one
 * engine fails, the other takes over the arena (lua_arena.c).
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_shared_image.h"
#include "lua_vm.h"

/* Memory for the image, machine code of up to twice its size, messages of batches, and the rest. */
#define CODE_FACTOR	3
#define CODE_BASE	(256UL << 10)

/* -- The engine ------------------------------------------------------------------- */

/* The memory limit is for the script's memory, which is in the arena, not for its runtime. */
int lua_vm_load_here(struct vm *vm)
{
	struct engine_image image = {
		.data = (const char *)vm->image, .len = vm->image_len,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	};
	struct run *run = vm->run;
	unsigned long limit = run->memory_limit;
	unsigned int flags = run->flags;
	int err = shared_image_here(vm->base, &image.base, run->error) ?: lua_vm_leave_module(vm);

	if (err)
		return err;
	run->memory_limit = ~0UL;
	run->flags &= ~SYSCRIPT_CHECK;
	err = confined_engine.create(run, &image);
	run->memory_limit = limit;
	run->flags = flags;
	vm->inner = err ? NULL : run->vm;
	vm->call->engine += !err;
	run->vm = (struct engine_vm *)vm;
	return err;
}

static int register_in_kernel(struct vm *vm, struct compound *kernel)
{
	struct run *run = vm->run;
	struct syscript_register reg = {
		.image = (unsigned long)vm->image, .image_len = vm->image_len,
		.memory_limit = CODE_FACTOR * vm->image_len + CODE_BASE,
		.time_limit = vm->is_loaded ? run->call_time_limit : run->time_limit,
		.wall_limit = run->wall_limit, .grace = run->grace,
		.error = (unsigned long)run->error, .error_len = RUN_ERROR_LEN,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	}, again;
	int err;

	snprintf(reg.name, sizeof(reg.name), "%s", run->name);
	if (run->only) {
		reg.flags |= SYSCRIPT_ONLY;
		reg.libraries = run->libraries;
		memcpy(reg.calls, run->calls, sizeof(reg.calls));
	}
	again = reg;
	err = shared_image_register(vm->base, kernel, &reg);
	if (err != -EINVAL || reg.time_limit == run->call_time_limit)
		return err;
	/* The module may allow a shorter time for calls than for this registration. */
	again.time_limit = run->call_time_limit;
	return shared_image_register(vm->base, kernel, &again);
}

static int load_in_kernel(struct vm *vm)
{
	int err = register_in_kernel(vm, &vm->kernel);

	if (err)
		return err;
	run_priv(vm->run)->kernel_id = vm->kernel.id;
	vm->call->engine++;
	return 0;
}

/*
 * Loads in the kernel or, if that is unavailable, in this process, as for LuaJIT's scripts. Also
 * if the arena exceeds RLIMIT_MEMLOCK, the user's share of scripts is used up, or other users
 * have the area for machine code: then run->error says so.
 */
static int load_anywhere(struct vm *vm)
{
	int err = load_in_kernel(vm);
	bool scarce = err == -ENOMEM || err == -ENOBUFS || err == -EDQUOT;

	if (!scarce && !device_unavailable(err))
		return err;
	if (!scarce)
		vm->run->error[0] = '\0';
	return lua_vm_load_here(vm);
}

/* Returns -EOPNOTSUPP if it fails, with the reason as text unless only the device is missing. */
static int load_or_leave(struct vm *vm)
{
	struct run *run = vm->run;
	int err = load_in_kernel(vm);

	if (!err)
		return 0;
	if (device_unavailable(err))
		run->error[0] = '\0';
	else if (!run->error[0])
		snprintf(run->error, RUN_ERROR_LEN, "%s", syscript_strerror(err));
	return -EOPNOTSUPP;
}

int lua_vm_load(struct vm *vm)
{
	if (vm->another)
		return load_or_leave(vm);
	switch (vm->backend) {
	case SYSCRIPT_BACKEND_USER:
		return lua_vm_load_here(vm);
	case SYSCRIPT_BACKEND_KERNEL:
		return load_in_kernel(vm);
	case SYSCRIPT_BACKEND_AUTO:
		break;
	}
	return compound_engine_is_there() ? load_anywhere(vm) : lua_vm_load_here(vm);
}

int lua_vm_load_kept(struct vm *vm)
{
	int err;

	if (vm->backend == SYSCRIPT_BACKEND_USER)
		return lua_vm_load_here(vm);
	err = load_in_kernel(vm);
	if (vm->backend == SYSCRIPT_BACKEND_AUTO && !vm->another && device_unavailable(err)) {
		vm->run->error[0] = '\0';
		err = lua_vm_load_here(vm);
	}
	vm->another = false;
	return err;
}

/* -- Loading again with compiled functions ------------------------------------------------ */

static bool reload_here(struct vm *vm)
{
	struct engine_vm *old = vm->inner;

	if (lua_vm_load_here(vm)) {
		vm->inner = old;
		return false;
	}
	confined_engine.destroy(old);
	return true;
}

/* Both registrations exist for a moment and share the arena, if the limits allow it. */
static bool reload_in_kernel(struct vm *vm)
{
	struct compound old = vm->kernel;
	int err = load_in_kernel(vm);

	compound_close(&old);
	return !err || !load_in_kernel(vm);
}

static bool load_again(struct vm *vm)
{
	return vm->inner ? reload_here(vm) : reload_in_kernel(vm);
}

/* Loads @image in place of the current image: true. Otherwise keeps the current one if possible. */
bool lua_vm_reload(struct vm *vm, struct image_header *image, size_t len, int *err)
{
	struct image_header *old = vm->image;
	size_t old_len = vm->image_len;

	image->stop = old->stop;
	vm->image = image;
	vm->image_len = len;
	if (load_again(vm)) {
		free(old);
		return true;
	}
	vm->image = old;
	vm->image_len = old_len;
	free(image);
	vm->run->error[0] = '\0';
	if (!vm->inner)
		*err = lua_vm_load(vm);
	return false;
}

/*
 * Registers the same image with the time limit of calls, after the kernel has used the limit of
 * the registration.
 */
int lua_vm_limit_calls(struct vm *vm)
{
	if (vm->inner || vm->run->time_limit == vm->run->call_time_limit ||
	    reload_in_kernel(vm))
		return 0;
	return lua_vm_load(vm);
}
