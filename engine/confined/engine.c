// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The confined engine's operations for the core (engine.h), and the functions that generated code
 * calls; for both the module and libsyscript.
 */
#include "validate_image.h"
#include "engine.h"
#include "machine.h"
#include "vm.h"
#include "platform.h"
#include "syscalls_nr.h"

#define ARGS_MAX	5

/* -- System calls ------------------------------------------------------------------ */

#define SYSCALLS_MAX	512

enum {
#define SYSCALL(name, kinds, flags)	CALL_##name,
#include "syscalls.def"
};

static const struct {
	u16 nr;
	const char *reason;
} excluded[] = {
#define SYSCALL_EXCLUDED(name, reason) { __NR_##name, reason },
#include "syscalls.def"
};

/* For each system call its line in syscalls.def plus 1; 0 if it has none. */
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
	unsigned int i;

	if (confined_call_index(nr) >= 0)
		return true;
	for (i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++)
		if (excluded[i].nr == nr)
			*why = excluded[i].reason;
	return false;
}

static u64 call_by_number(struct engine_vm *vm, u64 nr, const long *args)
{
	int index = nr < SYSCALLS_MAX ? confined_call_index(nr) : -1;

	if (index < 0)
		return -ENOSYS;
	return run_may_call(vm->run, index) ? run_syscall(vm->run, index, args) : -EPERM;
}

/* IMAGE_CALL_SYSCALL: the call's number and arguments are in the arena. */
static noinline u64 call_from_arena(struct engine_vm *vm, u64 nr, u64 address)
{
	u64 offset = address & ((1UL << vm->image.arena_shift) - 1);
	long args[6];

	/* The read may reach into the guard page, and other threads may write there. */
	memcpy(args, (void *)(unsigned long)vm->machine.base + offset, sizeof(args));
	return call_by_number(vm, nr, args);
}

/*
 * Nothing here may use the current task.  The checker has refused calls other than
 * IMAGE_FUNCTION.
 */
static u64 call_atomic(const u64 *args, struct machine *machine, u32 call)
{
	if (call >= IMAGE_FUNCTION)
		return ctx_call(machine, args, call - IMAGE_FUNCTION);
	machine->end = MACHINE_STOP;
	return -EOPNOTSUPP;
}

/*
 * IMAGE_BATCH_USE needs no library right: the arena is the program's. Other batches of memory are
 * util's.
 */
static bool may_batch(const struct run *run, u64 op)
{
	if (likely(!run->only) || op == IMAGE_BATCH_USE)
		return true;
	if ((op >= IMAGE_BATCH_STAT && op <= IMAGE_BATCH_ENTRIES) || op == IMAGE_BATCH_READ_FILE)
		return run_may_use(run, SYSCRIPT_LIBRARY_FS);
	if ((op >= IMAGE_BATCH_MESSAGES && op <= IMAGE_BATCH_SEND) || op == IMAGE_BATCH_ACCEPT ||
	    op >= IMAGE_BATCH_FRAMES_OPEN)
		return run_may_use(run, SYSCRIPT_LIBRARY_NET);
	return run_may_use(run, SYSCRIPT_LIBRARY_UTIL);
}

/* -- Ending runs ------------------------------------------------------------------------ */

/*
 * A program that can be called again must not be stopped in the middle of a change to its data.
 * So it is told to end by itself, within a time limit. True until that limit has passed.
 */
static bool ends_itself(struct engine_vm *vm)
{
	struct run *run = vm->run;
	u64 *word = (u64 *)(unsigned long)(vm->machine.base + vm->image.stop);

	if (!vm->image.stop || !run_stop_passes(run->stop_reason))
		return false;
	if (!vm->stop_by) {
		*(volatile u64 *)word = 1;
		vm->stop_by = run->time + IMAGE_STOP_TIME;
		vm->left_at = 0;
	}
	return run->time < vm->stop_by;
}

/*
 * Fuel of a run that was told to end: little, so that it ends soon, and varying, so that it runs
 * out at different instructions of a loop: a compiled function can be left only in its own code,
 * not in the base's.
 */
#define FUEL_TO_END	1024

static s64 fuel_to_end(struct engine_vm *vm)
{
	vm->told += 41;
	return vm->told % FUEL_TO_END;
}

/* How does a stopped run end whose fuel has run out? */
static u32 end_at_poll(struct engine_vm *vm)
{
	if (!ends_itself(vm))
		return MACHINE_STOP;
	if (!vm->machine.try_sp || !vm->first_insn || vm->machine.pc < vm->first_insn)
		return MACHINE_DONE;
	vm->left_at = vm->machine.pc;
	return MACHINE_CATCH;
}

static void confined_end(struct engine_vm *vm)
{
	if (!ends_itself(vm))
		confined_stop(&vm->machine);
	vm->machine.fuel = fuel_to_end(vm);
}

/* -- Calls --------------------------------------------------------------------------- */

static u64 call_batch(struct engine_vm *vm, u64 op, u64 address)
{
	u64 ret;

	if (!may_batch(vm->run, op))
		return -EPERM;
	ret = vm->stop_by && op != IMAGE_BATCH_USE ? -EINTR : batches_call(vm, op, address);
	if (vm->run->stop_reason && !ends_itself(vm))
		vm->machine.end = MACHINE_STOP;
	return ret;
}

static noinline u64 call_process(const u64 *args, struct machine *machine, u32 call)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);

	if (likely(call == IMAGE_CALL_BATCH))
		return call_batch(vm, args[0], args[1]);
	if (call == IMAGE_CALL_SYSCALL)
		return call_from_arena(vm, args[0], args[1]);
	return call_by_number(vm, call - IMAGE_SYSCALL, (const long *)args);
}

/* Platforms without thunks make calls with a constant number here, too. */
u64 machine_call(const u64 *args, struct machine *machine, u32 call)
{
	/* Tail calls, so that neither needs the other's stack frame. */
	return machine->atomic ? call_atomic(args, machine, call) :
				 call_process(args, machine, call);
}

void machine_poll(struct machine *machine)
{
	struct engine_vm *vm;

	/* Must not sleep, or react to signals of the interrupted task. */
	if (machine->atomic) {
		machine->end = MACHINE_STOP;
		return;
	}
	vm = container_of(machine, struct engine_vm, machine);
	vm_look(vm);
	run_poll(vm->run);
	machine->fuel = IMAGE_FUEL;
	if (vm->run->stop_reason) {
		machine->end = end_at_poll(vm);
		machine->fuel = fuel_to_end(vm);
	}
}

/*
 * Minimum growth of the stack; otherwise it doubles, because growing takes a few thousand
 * instructions.
 */
#define STACK_STEP	(8U << 10)

/* The new lower end of a stack that is to include @frame, page-aligned. */
static s64 stack_wanted(const struct engine_vm *vm, s64 frame)
{
	s64 has = vm->image.stack_end - vm->machine.stack;
	s64 lowest = (s64)vm->image.stack_end - vm->image.stack_size;
	s64 wanted = (frame - (has > STACK_STEP ? has : STACK_STEP)) & ~4095L;

	return wanted > lowest ? wanted : lowest;
}

/*
 * A frame at @frame does not fit. Gives the stack more memory if its limit allows; otherwise ends
 * the run.
 */
void machine_stack(struct machine *machine, u32 frame)
{
	struct engine_vm *vm = container_of(machine, struct engine_vm, machine);
	s64 at = (s32)frame, wanted;

	machine->end = MACHINE_STACK;
	/* A per-CPU context's machine is not in a struct engine_vm. */
	if (machine->atomic || at >= machine->stack ||
	    at < (s64)vm->image.stack_end - vm->image.stack_size)
		return;
	wanted = stack_wanted(vm, at);
	if (vm_use(vm, wanted, machine->stack - wanted)) {
		machine->end = MACHINE_MEMORY;
		return;
	}
	machine->stack = wanted;
	machine->end = MACHINE_DONE;
}

/* -- engine.h ------------------------------------------------------------------------ */

static const char *reason_text(int reason)
{
	switch (reason) {
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
	int reason = run->stop_reason;

	if (reason) {
		scnprintf(run->error, RUN_ERROR_LEN, "insn %u: %s",
			  vm->stop_by && vm->left_at ? vm->left_at : vm->machine.pc,
			  reason_text(reason));
		return reason;
	}
	if (vm->machine.end != MACHINE_DONE) {
		machine_text(&vm->machine, run->error, RUN_ERROR_LEN);
		return -EPROTO;
	}
	call->nresults = 1;
	call->results[0] = vm->machine.value;
	return 0;
}

/* A base is only extended, so it has neither an arena nor a stack. */
static bool is_base(const struct engine_vm *vm)
{
	return vm->run->flags & SYSCRIPT_BASE;
}

static inline void take_args(struct machine *machine, const struct syscript_call *call,
			     unsigned int nargs)
{
	unsigned int i;

	for (i = 0; i < nargs; i++)
		machine->args[i] = call->args[i];
	for (; i < ARGS_MAX; i++)
		machine->args[i] = 0;
}

static int confined_call(struct engine_vm *vm, struct syscript_call *call)
{
	struct machine *machine = &vm->machine;
	unsigned int nargs = call->nargs;

	if (unlikely(is_base(vm))) {
		scnprintf(vm->run->error, RUN_ERROR_LEN, "a base cannot be called, only extended");
		return -EPROTO;
	}
	if (unlikely(nargs > ARGS_MAX)) {
		scnprintf(vm->run->error, RUN_ERROR_LEN, "%u arguments: at most %u",
			  nargs, ARGS_MAX);
		return -ERANGE;
	}
	/* Compounds have two arguments. */
	if (likely(nargs == 2))
		take_args(machine, call, 2);
	else
		take_args(machine, call, nargs);
	if (unlikely(!vm_begin(vm))) {
		scnprintf(vm->run->error, RUN_ERROR_LEN, "no memory for the call");
		return -ENOMEM;
	}
	machine_begin(machine);
	vm->stop_by = 0;
	vm_look(vm);
	run_script(vm->run, confined_enter, machine, vm_stack_end(vm));
	vm_end(vm);
	return finish(vm, call);
}

static void want_stack(struct engine_vm *vm)
{
	u32 size = vm->image.native_size ?: IMAGE_NATIVE_DEFAULT;

	if (size > IMAGE_STACK_SHARED && vm->run->context == CONTEXT_PROCESS)
		vm->stack_size = (size + 15) / 16 * 16 + IMAGE_STACK_RESERVE;
}

/* The memory charged to one program: each user of shared code is charged for it. */
static unsigned long memory_of(const struct engine_vm *vm)
{
	return sizeof(*vm) + vm_stack_memory(vm) + vm->memory + vm_arena_memory(vm) +
	       vm->batches.memory + vm->run->kept;
}

static int check_arena(struct run *run, const struct engine_vm *vm,
		       const struct engine_image *image)
{
	unsigned long arena = 1UL << vm->image.arena_shift;

	if (is_base(vm)) {
		if (!image->shared && !image->shared_len)
			return 0;
		scnprintf(run->error, RUN_ERROR_LEN, "a base has no shared memory");
		return -EINVAL;
	}
	if (run->context == CONTEXT_ATOMIC)
		return vm_check_contents(vm, image);
	if (image->shared_len == arena && !(image->shared & (arena - 1)))
		return 0;
	scnprintf(run->error, RUN_ERROR_LEN,
		  "the image needs shared memory of %lu bytes, at a multiple of its size",
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

/* Checks the sizes that do not depend on code, before anything is allocated. */
static int check_sizes(struct run *run, struct engine_vm *vm,
		       const struct engine_image *image)
{
	const struct image_header *base = vm_base_header(image);
	int err = image_check_header((const void *)image->data, image->len, base, run->error,
				     RUN_ERROR_LEN);

	if (err)
		return err;
	memcpy(&vm->image, image->data, sizeof(vm->image));
	vm->first_insn = base ? base->ninsns : 0;
	if (!is_base(vm))
		want_stack(vm);
	return check_arena(run, vm, image) ?: check_memory(run, memory_of(vm) + image->len);
}

/* Makes the parts that need the code. On failure frees them. */
static int make_vm(struct engine_vm *vm, const struct engine_image *image)
{
	int err = check_memory(vm->run, memory_of(vm));

	if (err || is_base(vm))
		return err;
	machine_init(&vm->machine, &vm->image);
	if (vm->beyond)
		vm->machine.beyond = vm->beyond;
	err = vm_get_stack(vm);
	if (err)
		return err;
	err = vm_get_arena(vm, image);
	if (err)
		vm_put_stack(vm);
	return err;
}

/*
 * System calls with a constant number become direct calls in machine code, which scripts with
 * other rights may share. So the checked image is searched for such calls once per script. Calls
 * by a base, which has no rights of its own, are checked against the rights of the script that
 * extends it.
 */
static int check_rights(struct run *run, const struct engine_image *image)
{
	const struct image_header *header = (const void *)image->data;
	const struct image_insn *insns = (const void *)(image->data + sizeof(*header) +
		header->nfuncs * sizeof(struct image_func) +
		(header->ntable + 1) / 2 * 2 * sizeof(u32));
	bool base = run->flags & SYSCRIPT_BASE;
	u32 i;

	run->any_rights = base;
	for (i = 0; (run->only || base) && i < header->ninsns; i++) {
		u32 nr = insns[i].imm - IMAGE_SYSCALL;

		if (insns[i].code != (INSN_JMP | INSN_CALL) || insns[i].src ||
		    insns[i].imm < IMAGE_SYSCALL || insns[i].imm >= IMAGE_FUNCTION)
			continue;
		run->any_rights = 0;
		if (run_may_call(run, confined_call_index(nr)))
			continue;
		scnprintf(run->error, RUN_ERROR_LEN,
			  "insn %u: makes system call %u, which this script may not", i, nr);
		return -ENOEXEC;
	}
	return 0;
}

static int make_all(struct engine_vm *vm, const struct engine_image *image)
{
	struct run *run = vm->run;
	int err = check_sizes(run, vm, image);

	if (err)
		return err;
	err = vm_get_code(vm, image, run->memory_limit - memory_of(vm));
	if (err)
		return err;
	err = check_rights(run, image) ?: make_vm(vm, image);
	if (err) {
		vm_put_code(vm);
		return err;
	}
	vm->memory_max = run->memory_limit - memory_of(vm);
	vm_sync_code(vm);
	return 0;
}

static int confined_create(struct run *run, const struct engine_image *image)
{
	struct engine_vm *vm;
	int err;

	if (run->flags & SYSCRIPT_CHECK)
		return vm_check_image(run, image) ?: check_rights(run, image);
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
	stats->counters[1] = vm_pinned(vm);
}

static void confined_code(struct engine_vm *vm, engine_code_fn *add, void *arg)
{
	unsigned long start = (unsigned long)vm->code_start;

	add(arg, start, start + vm->code_size, 0);
}

static void confined_destroy(struct engine_vm *vm)
{
	batches_release(vm);
	if (!is_base(vm))
		vm_put_arena(vm);
	vm_put_stack(vm);
	vm_put_code(vm);
	platform_free(vm);
}

const struct engine_ops confined_engine = {
	.name = "confined",
	.id = SYSCRIPT_ENGINE_CONFINED,
	.formats = 1,
	.extensible = 1,
	.contexts = VM_CONTEXTS,
	.counters = { "mcode", "pinned" },
	.held = 1 << 0 | 1 << 1,
	.init = vm_init,
	.exit = vm_exit,
	.create = confined_create,
	.call = confined_call,
	.enter = confined_enter,
	.end = confined_end,
	.stats = confined_stats,
	.code = confined_code,
	.destroy = confined_destroy,
	VM_OPS
};
