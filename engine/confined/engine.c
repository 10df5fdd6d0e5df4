// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The confined engine's operations for the core (engine.h), and what generated code
 * asks for, in both places.
 */
#include "check.h"
#include "engine.h"
#include "machine.h"
#include "place.h"
#include "platform.h"
#include "syscalls_nr.h"

#define ARGS_MAX	5

/* -- System calls ------------------------------------------------------------------ */

#define SYSCALLS_MAX	512

enum {
#define SYSCALL(name, kinds, flags)	CALL_##name,
#include "syscalls.def"
};

static const char *const excluded[SYSCALLS_MAX] = {
#define SYSCALL_EXCLUDED(name, reason) [__NR_##name] = (reason),
#include "syscalls.def"
};

/* One more than the line of the call with a number; 0: there is none. */
static const u16 calls[SYSCALLS_MAX] = {
#define SYSCALL(name, kinds, flags)	[__NR_##name] = CALL_##name + 1,
#include "syscalls.def"
};

int confined_call_index(u32 nr)
{
	return nr < SYSCALLS_MAX ? calls[image_index(nr, SYSCALLS_MAX)] - 1 : -1;
}

bool image_syscall_known(u32 nr, const char **why)
{
	if (confined_call_index(nr) >= 0)
		return true;
	if (nr < SYSCALLS_MAX && excluded[nr])
		*why = excluded[nr];
	return false;
}

static u64 call_by_number(struct engine_vm *vm, u64 nr, const long *args)
{
	int index = nr < SYSCALLS_MAX ? confined_call_index(nr) : -1;

	return index < 0 ? -ENOSYS : run_syscall(vm->run, index, args);
}

/* IMAGE_CALL_SYSCALL: the number and the arguments are the program's. */
static u64 call_from_arena(struct engine_vm *vm, u64 nr, u64 address)
{
	u64 offset = address & ((1UL << vm->image.arena_shift) - 1);
	long args[6];

	/* From the guard, if it must be; what is read, others may be writing. */
	memcpy(args, (void *)(unsigned long)vm->machine.base + offset, sizeof(args));
	return call_by_number(vm, nr, args);
}

/* Calls with a constant number come here where the platform has no gates for them. */
u64 machine_call(const u64 *args, struct machine *machine, u32 call)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);

	if (call == IMAGE_CALL_SYSCALL)
		return call_from_arena(vm, args[0], args[1]);
	return call_by_number(vm, call - IMAGE_SYSCALL, (const long *)args);
}

static void confined_end(struct engine_vm *vm)
{
	confined_stop(&vm->machine);
}

void machine_poll(struct machine *machine)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);

	place_look(vm);
	run_poll(vm->run);
	machine->fuel = IMAGE_FUEL;
	if (vm->run->doom)
		machine->end = MACHINE_STOP;
}

/* -- engine.h ------------------------------------------------------------------------ */

static long enter(void *arg)
{
	struct engine_vm *vm = arg;

	confined_enter(&vm->machine, vm->entry);
	return 0;
}

static const char *doom_text(int doom)
{
	switch (doom) {
	case -ETIME: return "over the time limit";
	case -ETIMEDOUT: return "over the wall-clock limit";
	case -EINTR: return "a signal is pending";
	case -ECANCELED: return "killed";
	case -EOPNOTSUPP: return "the thread is watched";
	}
	return "stopped";
}

static int finish(struct engine_vm *vm, struct syscript_call *call)
{
	struct run *run = vm->run;
	int doom = run->doom;

	if (doom) {
		scnprintf(run->error, RUN_ERROR_LEN, "insn %u: %s", vm->machine.pc,
			  doom_text(doom));
		return doom;
	}
	if (vm->machine.end != MACHINE_DONE) {
		machine_text(&vm->machine, run->error, RUN_ERROR_LEN);
		return -EPROTO;
	}
	call->nresults = 1;
	call->results[0] = vm->machine.value;
	return 0;
}

static int confined_call(struct engine_vm *vm, struct syscript_call *call)
{
	struct machine *machine = &vm->machine;
	unsigned int i;

	if (unlikely(call->nargs > ARGS_MAX)) {
		scnprintf(vm->run->error, RUN_ERROR_LEN, "%u arguments: there can be %u",
			  call->nargs, ARGS_MAX);
		return -ERANGE;
	}
	memset(machine->args, 0, sizeof(machine->args));
	for (i = 0; i < call->nargs; i++)
		machine->args[i] = call->args[i];
	machine_begin(machine);
	place_look(vm);
	run_script(vm->run, enter, vm, vm->stack ? vm->stack + vm->stack_size : NULL);
	return finish(vm, call);
}

static void want_stack(struct engine_vm *vm)
{
	u32 size = vm->image.native_size ?: IMAGE_NATIVE_DEFAULT;

	if (size > IMAGE_STACK_SHARED)
		vm->stack_size = (size + 15) / 16 * 16 + IMAGE_STACK_RESERVE;
}

static int make_stack(struct engine_vm *vm)
{
	if (!vm->stack_size)
		return 0;
	vm->stack = place_get_stack(vm->stack_size);
	return vm->stack ? 0 : -ENOMEM;
}

/* What one program takes: its code may be shared, but each pays for it. */
static unsigned long memory_of(const struct engine_vm *vm)
{
	return sizeof(*vm) + vm->stack_size + vm->memory;
}

static int check_arena(struct run *run, const struct engine_vm *vm,
		       const struct engine_image *image)
{
	unsigned long arena = 1UL << vm->image.arena_shift;

	if (image->shared_len == arena && !(image->shared & (arena - 1)))
		return 0;
	scnprintf(run->error, RUN_ERROR_LEN,
		  "the image wants shared memory of %lu bytes, at a multiple of that",
		  arena);
	return -EINVAL;
}

static int check_memory(struct run *run, unsigned long memory)
{
	if (memory <= run->memory_limit)
		return 0;
	scnprintf(run->error, RUN_ERROR_LEN, "%lu bytes of memory, over the limit of %lu",
		  memory, run->memory_limit);
	return -ENOBUFS;
}

/* As far as they can be known without its code: nothing has been taken so far. */
static int check_sizes(struct run *run, struct engine_vm *vm,
		       const struct engine_image *image)
{
	int err = image_check_header((const void *)image->data, image->len, run->error,
				     RUN_ERROR_LEN);

	if (err)
		return err;
	memcpy(&vm->image, image->data, sizeof(vm->image));
	want_stack(vm);
	return check_arena(run, vm, image) ?: check_memory(run, memory_of(vm) + image->len);
}

/* The rest, with code: what is not needed any more if this fails is freed here. */
static int make_vm(struct engine_vm *vm, const struct engine_image *image)
{
	int err = check_memory(vm->run, memory_of(vm));

	if (err)
		return err;
	machine_init(&vm->machine, &vm->image);
	err = make_stack(vm);
	if (err)
		return err;
	err = place_get_arena(vm, image);
	if (err && vm->stack)
		place_put_stack(vm->stack, vm->stack_size);
	return err;
}

static int make_all(struct engine_vm *vm, const struct engine_image *image)
{
	struct run *run = vm->run;
	int err = check_sizes(run, vm, image);

	if (err)
		return err;
	err = place_get_code(vm, image, run->memory_limit - memory_of(vm));
	if (err)
		return err;
	err = make_vm(vm, image);
	if (err)
		place_put_code(vm);
	return err;
}

static int confined_create(struct run *run, const struct engine_image *image)
{
	struct engine_vm *vm;
	int err;

	if (run->flags & SYSCRIPT_CHECK)
		return place_check_image(run, image);
	vm = platform_zalloc(sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	vm->run = run;
	vm->machine.run = run;
	err = make_all(vm, image);
	if (err)
		platform_free(vm);
	else
		run->vm = vm;
	return err;
}

static void confined_stats(struct engine_vm *vm, struct engine_stats *stats)
{
	stats->memory = memory_of(vm);
	stats->memory_peak = stats->memory;
	stats->counters[0] = vm->code_size;
	stats->counters[1] = vm->pinned;
}

static void confined_code(struct engine_vm *vm, engine_code_fn *add, void *arg)
{
	unsigned long start = (unsigned long)vm->entry;

	add(arg, start, start + vm->code_size, 0);
}

static void confined_destroy(struct engine_vm *vm)
{
	place_put_arena(vm);
	if (vm->stack)
		place_put_stack(vm->stack, vm->stack_size);
	place_put_code(vm);
	platform_free(vm);
}

const struct engine_ops confined_engine = {
	.name = "confined",
	.id = SYSCRIPT_ENGINE_CONFINED,
	.formats = 1,
	.preemptible = 1,
	.counters = { "mcode", "pinned" },
	.held = 1 << 0 | 1 << 1,
	.init = place_init,
	.exit = place_exit,
	.create = confined_create,
	.call = confined_call,
	.end = confined_end,
	.stats = confined_stats,
	.code = confined_code,
	.destroy = confined_destroy,
};
