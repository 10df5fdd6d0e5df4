// SPDX-License-Identifier: GPL-2.0
/*
 * The confined engine in the kernel: the operations of engine.h, and what
 * generated code asks for.
 */
#include <linux/bsearch.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "../check.h"
#include "../machine.h"
#include "arena.h"
#include "code.h"
#include "engine.h"
#include "gates.h"
#include "run_own.h"
#include "syscalls.h"
#include "syscalls_nr.h"
#include "usermode.h"

/* Below the native stack's limit: C up to where run.c leaves it, interrupts. */
#define STACK_RESERVE	(16U << 10)
#define ARGS_MAX	5

/*
 * What code may use of the task's stack: system calls find it as much shorter than
 * from outside, and it has 16 KiB.  Code that wants more gets a stack of its own.
 */
#define TASK_STACK_MAX	512

struct engine_vm {
	struct machine machine;
	struct run *run;
	struct arena *arena;
	struct code *code;
	struct image_header image;
	void *stack;			/* of its own, or NULL */
	size_t stack_size;
};

/* -- System calls ------------------------------------------------------------------ */

#define SYSCALLS_MAX	512
#define NO_CALL		0xffff

static const char *const excluded[SYSCALLS_MAX] = {
#define SYSCALL_EXCLUDED(name, reason) [__NR_##name] = (reason),
#include "syscalls.def"
};

/* The index of the call with a number, in entries.h. */
static u16 calls[SYSCALLS_MAX] __ro_after_init;

struct jit_gate code_gate(u32 nr)
{
	const struct gate *gate = &gates_preemptible[calls[nr]];

	return (struct jit_gate){ gate_address(gate), gate->args };
}

/* The gates of all of them, by address. */
static struct jit_gate gates[SYSCALLS_MAX] __ro_after_init;
static unsigned int ngates __ro_after_init;

static int compare_gates(const void *a, const void *b)
{
	u64 one = ((const struct jit_gate *)a)->address;
	u64 other = ((const struct jit_gate *)b)->address;

	return one < other ? -1 : one > other;
}

static void calls_init(void)
{
	unsigned int nr;

	memset(calls, 0xff, sizeof(calls));
#define SYSCALL(name, kinds, flags)	calls[__NR_##name] = ENTRIES_##name;
#include "syscalls.def"
	for (nr = 0; nr < SYSCALLS_MAX; nr++)
		if (calls[nr] != NO_CALL)
			gates[ngates++] = code_gate(nr);
	sort(gates, ngates, sizeof(*gates), compare_gates, NULL);
}

int code_gate_args(u64 address)
{
	struct jit_gate key = { .address = address }, *gate;

	gate = bsearch(&key, gates, ngates, sizeof(*gates), compare_gates);
	return gate ? gate->args : -1;
}

bool image_syscall_known(u32 nr, const char **why)
{
	if (nr < SYSCALLS_MAX && calls[nr] != NO_CALL)
		return true;
	if (nr < SYSCALLS_MAX && excluded[nr])
		*why = excluded[nr];
	return false;
}

/* IMAGE_CALL_SYSCALL: the number and the arguments are the program's. */
static u64 call_by_number(struct engine_vm *vm, u64 nr, u64 address)
{
	u64 offset = address & ((1UL << vm->image.arena_shift) - 1);
	long args[6];

	if (nr >= SYSCALLS_MAX)
		return -ENOSYS;
	nr = array_index_nospec(nr, SYSCALLS_MAX);
	if (calls[nr] == NO_CALL)
		return -ENOSYS;
	/* Into the guard, if it must be; what is read, others may be writing. */
	memcpy(args, vm->arena->base + offset, sizeof(args));
	return run_syscall(vm->run, calls[nr], args);
}

/* All other calls have gates. */
u64 machine_call(const u64 *args, struct machine *machine, u32 call)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);

	return call_by_number(vm, args[0], args[1]);
}

static void confined_end(struct engine_vm *vm)
{
	confined_stop(&vm->machine);
}

void machine_poll(struct machine *machine)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);

	machine->seen = jiffies;
	run_poll(vm->run);
	machine->fuel = MACHINE_FUEL;
	if (vm->run->doom)
		machine->end = MACHINE_STOP;
}

/* -- engine.h ------------------------------------------------------------------------ */

static long enter(void *arg)
{
	struct engine_vm *vm = arg;

	confined_enter(&vm->machine, vm->code->entry);
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

	if (run->doom) {
		scnprintf(run->error, RUN_ERROR_LEN, "insn %u: %s", vm->machine.pc,
			  doom_text(run->doom));
		return run->doom;
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
	machine->flags = &current_thread_info()->flags;
	machine->seen = jiffies;
	run_script(vm->run, enter, vm, vm->stack ? vm->stack + vm->stack_size : NULL);
	return finish(vm, call);
}

static void want_stack(struct engine_vm *vm)
{
	u32 size = vm->image.native_size ?: IMAGE_NATIVE_DEFAULT;

	if (size > TASK_STACK_MAX)
		vm->stack_size = ALIGN(size, 16) + STACK_RESERVE;
}

static int make_stack(struct engine_vm *vm)
{
	if (!vm->stack_size)
		return 0;
	vm->stack = __vmalloc(vm->stack_size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return vm->stack ? 0 : -ENOMEM;
}

/* What one program takes: its code is shared, but each pays for it. */
static unsigned long memory_of(const struct engine_vm *vm)
{
	return sizeof(*vm) + vm->stack_size +
	       (vm->code ? vm->code->size + vm->code->len : 0);
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

static int get_arena(struct run *run, struct engine_vm *vm,
		     const struct engine_image *image)
{
	vm->arena = arena_get(image->shared, vm->image.arena_shift, run->error,
			      RUN_ERROR_LEN);
	return PTR_ERR_OR_ZERO(vm->arena);
}

/* The rest, with code: what is not needed any more if this fails is freed here. */
static int make_vm(struct run *run, struct engine_vm *vm, const struct engine_image *image)
{
	int err = check_memory(run, memory_of(vm));

	if (!err)
		err = make_stack(vm);
	if (err)
		return err;
	err = get_arena(run, vm, image);
	if (err) {
		vfree(vm->stack);
		return err;
	}
	machine_init(&vm->machine, &vm->image);
	vm->machine.user = vm->arena->user;
	vm->machine.base = (unsigned long)vm->arena->base;
	vm->machine.rare = USERMODE_FLAGS;
	vm->machine.clock = &jiffies;
	return 0;
}

static int make_all(struct run *run, struct engine_vm *vm,
		    const struct engine_image *image)
{
	int err;

	/* Then there is nothing to run. */
	if (run->flags & SYSCRIPT_CHECK)
		return code_check(image->data, image->len, run->error, RUN_ERROR_LEN);
	err = check_sizes(run, vm, image);
	if (err)
		return err;
	err = code_get(&vm->code, image->data, image->len,
		       run->memory_limit - memory_of(vm), run->error, RUN_ERROR_LEN);
	if (err)
		return err;
	err = make_vm(run, vm, image);
	if (err)
		code_put(vm->code);
	return err;
}

static int confined_create(struct run *run, const struct engine_image *image)
{
	struct engine_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	int err;

	if (!vm)
		return -ENOMEM;
	err = make_all(run, vm, image);
	if (err) {
		kfree(vm);
		return err;
	}
	vm->run = run;
	vm->machine.run = run;
	run->vm = vm;
	return 0;
}

static void confined_stats(struct engine_vm *vm, struct engine_stats *stats)
{
	stats->memory = memory_of(vm);
	stats->memory_peak = stats->memory;
	stats->counters[0] = vm->code ? vm->code->size : 0;
	stats->counters[1] = vm->arena ? arena_size(vm->arena) : 0;
}

static void confined_code(struct engine_vm *vm, engine_code_fn *add, void *arg)
{
	unsigned long start;

	if (!vm->code)
		return;
	start = (unsigned long)vm->code->entry;
	add(arg, start, start + vm->code->size, 0);
}

static void confined_destroy(struct engine_vm *vm)
{
	if (vm->code) {
		arena_put(vm->arena);
		vfree(vm->stack);
		code_put(vm->code);
	}
	kfree(vm);
}

static int confined_init(void)
{
	calls_init();
	return code_init();
}

const struct engine_ops confined_engine = {
	.name = "confined",
	.id = SYSCRIPT_ENGINE_CONFINED,
	.formats = 1,
	.preemptible = 1,
	.counters = { "mcode", "pinned" },
	.held = 1 << 0 | 1 << 1,
	.owner = THIS_MODULE,
	.init = confined_init,
	.exit = code_exit,
	.create = confined_create,
	.call = confined_call,
	.end = confined_end,
	.stats = confined_stats,
	.code = confined_code,
	.destroy = confined_destroy,
};
