// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A script needs memory that it shares with its runtime, and an engine that runs it: in the
 * kernel where it may be, else here.  What it needs is laid out in one arena, so that either
 * can run it, and so can one after the other.
 *
 * The arena, from its beginning:
 *
 *   a page that nothing lies in, so that 0 is no address
 *   the compound's data
 *   the call, and for each slot of calls in the kernel what is its own
 *   memory for Lua: as much as the limit says
 *   from the next page on: the script
 *   the compound's stack
 *
 * All that the script can write is in there, so what is read there is not believed.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_base.h"
#include "lua_vm.h"
#include "user/arena.h"

#define PAGE		4096UL
/*
 * Enough for LUAI_MAXCCALLS, 200, calls of string.gsub() by itself; after half of them the stack
 * is left, where it can be (lua-runtime/finish.h).
 */
#define STACK_SIZE	(640U << 10)
#define NATIVE_SIZE	(192U << 10)
/*
 * And for compiled functions that call one another, so many bytes and frames: what is
 * deeper is interpreted, so that it ends by an error.
 */
#define COMPILED_STACK	(96U << 10)
#define COMPILED_NATIVE	(COMPILED_STACK / 64 * 40)
#define STACK_SPARE	64
#define SLOTS		(TURN_SLOTS + 1)
/* For large buffers; they stay when one engine takes another's place. */
#define LARGE_SIZE	(768U << 10)
/* The image and machine code of up to twice its size; messages of batches, and the rest. */
#define CODE_FACTOR	3
#define CODE_BASE	(NATIVE_SIZE + COMPILED_NATIVE + (256UL << 10))

/* -- The arena -------------------------------------------------------------------- */

/* There is enough: lua_vm_make_arena() has asked for all that is taken. */
static void *take_memory(struct vm *vm, size_t size)
{
	char *p = vm->at;

	vm->at += (size + 15) & -16UL;
	return p;
}

int lua_vm_make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len)
{
	size_t size = ARENA_START + file->memory_size + file->align +
		      STACK_SIZE + COMPILED_STACK + STACK_SPARE +
		      sizeof(struct runtime_call) + SYSCRIPT_NAME_LEN +
		      SLOTS * (sizeof(struct runtime_io) + sizeof(void *)) +
		      source_len + 256 + vm->run->memory_limit + PAGE;

	vm->shift = IMAGE_ARENA_SHIFT_MIN;
	while (1UL << vm->shift < size)
		vm->shift++;
	vm->arena = arena_map(vm->shift);
	if (!vm->arena)
		return -ENOMEM;
	vm->at = vm->arena + ARENA_START;
	return 0;
}

int lua_vm_place_compound(struct vm *vm, const struct cosy_file *file)
{
	const struct image_header header = {
		.arena_shift = vm->shift,
		.stack_end = (1UL << vm->shift) - STACK_SPARE,
		.stack_size = STACK_SIZE + COMPILED_STACK,
		.native_size = NATIVE_SIZE + COMPILED_NATIVE,
	};
	char *data = vm->arena + LUA_DATA_OFFSET(file);

	vm->at = data + file->memory_size;
	take_memory(vm, -(unsigned long)vm->at & 15);
	vm->base = lua_base_get(file, data - vm->arena, &header);
	if (vm->base)
		vm->image = lua_base_extend(vm->base, &vm->image_len);
	if (!vm->image)
		return -ENOMEM;
	if (!lua_base_open(vm->base, vm->run->memory_limit, vm->arena))
		file_load_data(file, data);
	return 0;
}

static void place_slots(struct vm *vm)
{
	vm->ios = take_memory(vm, SLOTS * sizeof(*vm->ios));
	vm->frames = take_memory(vm, SLOTS * sizeof(*vm->frames));
	for (int i = 0; i < SLOTS; i++) {
		vm->frames[i] = &vm->ios[i];
		vm->ios[i].call = vm->call;
	}
}

void lua_vm_place_call(struct vm *vm, const struct engine_image *source)
{
	struct run *run = vm->run;
	long large = run_scratch(run);
	struct runtime_call *call = take_memory(vm, sizeof(*call));
	char name[SYSCRIPT_NAME_LEN + 1], *text;
	int len = snprintf(name, sizeof(name), "@%s", run->name[0] ? run->name : "script");

	vm->call = call;
	place_slots(vm);
	vm->image->stop = (char *)&call->stop - vm->arena;
	call->version = RUNTIME_VERSION;
	call->size = sizeof(*call);
	call->only = run->only;
	call->libraries = run->libraries;
	memcpy(call->calls, run->calls, sizeof(call->calls));
	call->check = run->flags & SYSCRIPT_CHECK;
	call->another = vm->another;
	call->engine = 0;
	call->arena = (unsigned long)vm->arena;
	call->arena_size = 1UL << vm->shift;
	call->floor = (unsigned long)vm->arena + vm->image->stack_end - COMPILED_STACK;
	call->large = large > 0 ? large : 0;
	call->large_size = LARGE_SIZE;
	call->heap_size = run->memory_limit;
	call->heap = take_memory(vm, run->memory_limit);
	take_memory(vm, -(unsigned long)vm->at & (PAGE - 1));
	text = take_memory(vm, source->len + 1);
	call->source = memcpy(text, source->data, source->len);
	call->source_len = source->len;
	call->name = memcpy(take_memory(vm, sizeof(name)), name, len + 1);
}

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
	int err = lua_base_here(vm->base, &image.base, run->error);

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
