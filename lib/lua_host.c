// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * See lua_host.h.  The arena, from its beginning:
 *
 *   a page that nothing lies in, so that 0 is no address
 *   the compound's data
 *   the call, the script
 *   memory for Lua: as much as the limit says
 *   the compound's stack
 *
 * All that the script can write is in there, so what is read there is not believed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/confined/image.h"
#include "../engine/confined/user/memory.h"
#include "../engine/lua-guest/guest.h"
#include "compound.h"
#include "lua_host.h"
#include "lua_image.h"
#include "user/user.h"

#define ARENA_START	4096
/* Enough for LUAI_MAXCCALLS, 200, calls of string.gsub() by itself. */
#define STACK_SIZE	(640U << 10)
#define NATIVE_SIZE	(192U << 10)
#define STACK_SPARE	64
/* The image and machine code of up to twice its size; and what comes on top. */
#define CODE_FACTOR	3
#define CODE_BASE	(NATIVE_SIZE + (64UL << 10))

/**
 * struct vm - a script
 * @backend: which the caller has asked for
 * @inner:   the compound in this process, or NULL
 * @kernel:  or in the kernel
 * @frame:   what the compound's argument leads to
 * @stopped: a run was ended in the middle: what it was at is in no good state
 */
struct vm {
	struct run *run;
	enum syscript_backend backend;
	struct engine_vm *inner;
	struct compound kernel;
	struct image_header *image;
	size_t image_len;
	char *arena, *at, *end;		/* what is free of it */
	uint32_t shift;
	struct guest_call *call, **frame;
	bool stopped;
};

static struct vm *vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

/* -- The arena -------------------------------------------------------------------- */

static void *take(struct vm *vm, size_t size)
{
	char *p = vm->at;

	size = (size + 15) & -16UL;
	if (size > (size_t)(vm->end - p))
		return NULL;
	vm->at += size;
	return p;
}

static int make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len)
{
	size_t size = ARENA_START + file->memory_size + file->align + STACK_SIZE + STACK_SPARE +
		      sizeof(struct guest_call) + SYSCRIPT_NAME_LEN + source_len + 256 +
		      vm->run->memory_limit;

	vm->shift = IMAGE_ARENA_SHIFT_MIN;
	while (1UL << vm->shift < size)
		vm->shift++;
	vm->arena = arena_map(vm->shift);
	if (!vm->arena)
		return -ENOMEM;
	size = 1UL << vm->shift;
	vm->at = vm->arena + ARENA_START;
	vm->end = vm->arena + size - STACK_SIZE - STACK_SPARE;
	return 0;
}

static int place_compound(struct vm *vm, const struct cosy_file *file)
{
	char *data = vm->at;

	data += -(unsigned long)data & (file->align - 1);
	vm->at = data + file->memory_size;
	take(vm, -(unsigned long)vm->at & 15);
	file_load_data(file, data);
	vm->image = file_place_image(file, data - vm->arena);
	if (!vm->image)
		return -ENOMEM;
	vm->image_len = file->image.n;
	vm->image->arena_shift = vm->shift;
	vm->image->stack_end = (1UL << vm->shift) - STACK_SPARE;
	vm->image->stack_size = STACK_SIZE;
	vm->image->native_size = NATIVE_SIZE;
	return 0;
}

static void place_call(struct vm *vm, const struct engine_image *source)
{
	const struct run *run = vm->run;
	struct guest_call *call = take(vm, sizeof(*call));
	char name[SYSCRIPT_NAME_LEN + 1], *text;
	int len = snprintf(name, sizeof(name), "@%s", run->name[0] ? run->name : "script");

	vm->frame = take(vm, sizeof(*vm->frame));
	*vm->frame = vm->call = call;
	call->size = sizeof(*call);
	call->check = run->flags & SYSCRIPT_CHECK;
	text = take(vm, source->len + 1);
	call->source = memcpy(text, source->data, source->len);
	call->source_len = source->len;
	call->name = memcpy(take(vm, sizeof(name)), name, len + 1);
	call->arena = (unsigned long)vm->arena;
	call->arena_size = 1UL << vm->shift;
	call->heap_size = run->memory_limit;
	call->heap = take(vm, run->memory_limit);
}

/* -- The engine ------------------------------------------------------------------- */

/* The limit is of what the script has, which is in the arena; not of its runtime. */
static int load_here(struct vm *vm)
{
	const struct engine_image image = {
		.data = (const char *)vm->image, .len = vm->image_len,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	};
	struct run *run = vm->run;
	unsigned long limit = run->memory_limit;
	unsigned int flags = run->flags;
	int err;

	run->memory_limit = ~0UL;
	run->flags &= ~SYSCRIPT_CHECK;
	err = confined_engine.create(run, &image);
	run->memory_limit = limit;
	run->flags = flags;
	vm->inner = err ? NULL : run->vm;
	run->vm = (struct engine_vm *)vm;
	return err;
}

static int load_in_kernel(struct vm *vm)
{
	struct run *run = vm->run;
	struct syscript_register reg = {
		.image = (unsigned long)vm->image, .image_len = vm->image_len,
		.memory_limit = CODE_FACTOR * vm->image_len + CODE_BASE,
		.time_limit = run->time_limit, .wall_limit = run->wall_limit,
		.grace = run->grace,
		.error = (unsigned long)run->error, .error_len = RUN_ERROR_LEN,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	};
	int err;

	snprintf(reg.name, sizeof(reg.name), "%s", run->name);
	err = compound_register(&vm->kernel, &reg);
	if (!err)
		run_own(run)->kernel_id = vm->kernel.id;
	return err;
}

/*
 * As for LuaJIT's scripts; and where less memory may be locked than the arena takes, or
 * others have taken the room for machine code, of which run->error then tells.
 */
static int load_anywhere(struct vm *vm)
{
	int err = load_in_kernel(vm);
	bool scarce = err == -ENOMEM || err == -ENOBUFS;

	if (!scarce && !device_unavailable(err))
		return err;
	if (!scarce)
		vm->run->error[0] = '\0';
	return load_here(vm);
}

static int load_engine(struct vm *vm)
{
	switch (vm->backend) {
	case SYSCRIPT_BACKEND_USER:
		return load_here(vm);
	case SYSCRIPT_BACKEND_KERNEL:
		return load_in_kernel(vm);
	case SYSCRIPT_BACKEND_AUTO:
		break;
	}
	return compound_engine_is_there() ? load_anywhere(vm) : load_here(vm);
}

static int enter_here(struct vm *vm)
{
	struct syscript_call call = { .nargs = 2, .args = { 0, (intptr_t)vm->frame } };

	int err = confined_engine.call(vm->inner, &call);

	vm->stopped = err;
	return err;
}

/*
 * What the script has is in the arena: where the kernel does not begin the run, because
 * the thread is watched, or the program has closed what it does not know, the same run
 * is made here.
 */
static int enter_kernel(struct vm *vm)
{
	long unused;
	int err = compound_call(&vm->kernel, 0, (intptr_t)vm->frame, &unused);

	if (!err)
		return 0;
	vm->stopped = compound_has_failed(&vm->kernel, err, vm->run->error, RUN_ERROR_LEN);
	if (vm->stopped || vm->backend == SYSCRIPT_BACKEND_KERNEL)
		return err;
	compound_close(&vm->kernel);
	run_own(vm->run)->kernel_id = 0;
	return load_here(vm) ?: enter_here(vm);
}

/* An instruction of Lua's own says nothing to a script's author. */
static void tell_end(struct run *run)
{
	char text[256];
	int where = 0;
	unsigned int insn;

	sscanf(run->error, "insn %u: %n", &insn, &where);
	snprintf(text, sizeof(text), "%s", run->error + where);
	snprintf(run->error, RUN_ERROR_LEN, "%s: %s", run->name[0] ? run->name : "script", text);
}

static void take_output(struct vm *vm)
{
	struct output *output = &vm->call->output;
	unsigned int len = output->len;

	output_write(&vm->run->output, output->text, len < OUTPUT_LEN ? len : OUTPUT_LEN);
	output->len = 0;
	output->cut = 0;
}

/* How the guest's call has ended: 0, or -errno with the text. */
static int outcome(struct vm *vm)
{
	struct run *run = vm->run;

	if (!vm->call->failed)
		return 0;
	snprintf(run->error, RUN_ERROR_LEN, "%.*s", GUEST_ERROR_LEN - 1, vm->call->error);
	switch (vm->call->failed) {
	case GUEST_MEMORY:
		return -ENOBUFS;
	case GUEST_RANGE:
		return -ERANGE;
	}
	return -EPROTO;
}

static int enter(struct vm *vm)
{
	struct run *run = vm->run;
	int err;

	run->error[0] = '\0';
	if (vm->stopped) {
		snprintf(run->error, RUN_ERROR_LEN,
			 "%s: an earlier call was ended in the middle: register it again",
			 run->name[0] ? run->name : "script");
		return -ENOTRECOVERABLE;
	}
	err = vm->inner ? enter_here(vm) : enter_kernel(vm);
	take_output(vm);
	if (!err)
		return outcome(vm);
	if (vm->stopped)
		tell_end(run);
	return err;
}

/* -- engine.h --------------------------------------------------------------------- */

static void lua_destroy(struct engine_vm *engine_vm)
{
	struct vm *vm = vm_of(engine_vm);

	if (vm->inner)
		confined_engine.destroy(vm->inner);
	compound_close(&vm->kernel);
	if (vm->arena)
		arena_unmap(vm->arena, vm->shift);
	free(vm->image);
	free(vm);
}

static int load_script(struct vm *vm)
{
	char told[RUN_ERROR_LEN];
	int err;

	/* Why it is not in the kernel, if there is more to say than that there is no device. */
	snprintf(told, sizeof(told), "%s", vm->run->error);
	err = enter(vm);
	if (!err)
		snprintf(vm->run->error, RUN_ERROR_LEN, "%s", told);
	return err == -EPROTO || err == -ERANGE ? -ENOEXEC : err;
}

static int make_vm(struct vm *vm, const struct engine_image *source)
{
	const struct cosy_file *file = lua_image(vm->run->error, RUN_ERROR_LEN);
	int err = file ? make_arena(vm, file, source->len) : -ENOSYS;

	if (!err)
		err = place_compound(vm, file);
	if (err)
		return err;
	place_call(vm, source);
	return load_engine(vm) ?: load_script(vm);
}

static int lua_create(struct run *run, const struct engine_image *source)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->run = run;
	vm->backend = source->format;
	run->vm = (struct engine_vm *)vm;
	err = make_vm(vm, source);
	if (err) {
		lua_destroy(run->vm);
		run->vm = NULL;
	}
	return err;
}

static int lua_call(struct engine_vm *engine_vm, struct syscript_call *call)
{
	struct vm *vm = vm_of(engine_vm);
	struct guest_call *frame = vm->call;
	int err;

	frame->nargs = call->nargs;
	memcpy(frame->args, call->args, call->nargs * sizeof(call->args[0]));
	err = enter(vm);
	if (err)
		return err;
	call->nresults = frame->nresults;
	memcpy(call->results, frame->results, sizeof(call->results));
	return 0;
}

static void lua_end(struct engine_vm *vm)
{
	confined_engine.end(vm_of(vm)->inner);
}

/* Before its callers look at these: the clock and the counters are the kernel's. */
static void take_counters(struct run *run, const struct syscript_info *info)
{
	WRITE_ONCE(run->time, info->run_time);
	WRITE_ONCE(run->syscalls, info->syscalls);
	WRITE_ONCE(run->preempt_max, info->preempt_max);
}

static void lua_stats(struct engine_vm *engine_vm, struct engine_stats *stats)
{
	struct vm *vm = vm_of(engine_vm);
	struct engine_stats inner = { 0 };
	struct syscript_info info;

	if (vm->inner) {
		confined_engine.stats(vm->inner, &inner);
	} else if (vm->kernel.registered && !compound_info(&vm->kernel, &info)) {
		inner.counters[0] = info.counters[0].value;
		inner.counters[1] = info.counters[1].value;
		take_counters(vm->run, &info);
	}
	stats->memory = vm->call ? READ_ONCE(vm->call->memory) : 0;
	stats->memory_peak = vm->call ? READ_ONCE(vm->call->memory_peak) : 0;
	stats->counters[0] = inner.counters[0];
	stats->counters[1] = inner.counters[1];
}

const struct engine_ops lua_engine = {
	.name = "confined",
	.id = SYSCRIPT_LUA_ON_CONFINED,
	.formats = SYSCRIPT_BACKEND_USER + 1,
	.preemptible = 1,
	.counters = { "mcode", "pinned" },
	.held = 1 << 0 | 1 << 1,
	.create = lua_create,
	.call = lua_call,
	.end = lua_end,
	.stats = lua_stats,
	.destroy = lua_destroy,
};
