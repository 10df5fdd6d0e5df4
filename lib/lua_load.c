// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A script needs an engine that runs it: in the kernel where it may be, else here.  Where the
 * one fails, the other takes its arena (lua_arena.c).
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_base.h"
#include "lua_vm.h"

/* The image and machine code of up to twice its size; messages of batches, and the rest. */
#define CODE_FACTOR	3
#define CODE_BASE	(256UL << 10)

/* -- The engine ------------------------------------------------------------------- */

/* The limit is of what the script has, which is in the arena; not of its runtime. */
int lua_vm_load_here(struct vm *vm)
{
	struct engine_image image = {
		.data = (const char *)vm->image, .len = vm->image_len,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	};
	struct run *run = vm->run;
	unsigned long limit = run->memory_limit;
	unsigned int flags = run->flags;
	int err = lua_base_here(vm->base, &image.base, run->error) ?: lua_vm_leave_module(vm);

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
	err = lua_base_register(vm->base, kernel, &reg);
	if (err != -EINVAL || reg.time_limit == run->call_time_limit)
		return err;
	/* The module may allow less than a registration may take here. */
	again.time_limit = run->call_time_limit;
	return lua_base_register(vm->base, kernel, &again);
}

static int load_in_kernel(struct vm *vm)
{
	int err = register_in_kernel(vm, &vm->kernel);

	if (err)
		return err;
	run_own(vm->run)->kernel_id = vm->kernel.id;
	vm->call->engine++;
	return 0;
}

/*
 * As for LuaJIT's scripts; and where less memory may be locked than the arena takes, the
 * user's share of scripts is used up, or others have taken the room for machine code, of
 * which run->error then tells.
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

/* The text is left out where it is as ordinary as that there is no device. */
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

/* -- With compiled functions ------------------------------------------------------ */

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

/* Both are there for a moment, in which they share the arena: if the limits let them. */
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

/* With @image in place of the one that it has: true.  Or that stays, if it can. */
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

/* The image stays, and the kernel has had the registration's time limit for it. */
int lua_vm_limit_calls(struct vm *vm)
{
	if (vm->inner || vm->run->time_limit == vm->run->call_time_limit ||
	    reload_in_kernel(vm))
		return 0;
	return lua_vm_load(vm);
}
