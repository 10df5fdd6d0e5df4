// SPDX-License-Identifier: GPL-2.0
/*
 * Implements percpu_ctx.h. A per-CPU context is used with bottom halves off, so on its CPU only
 * functions called by the program can try to use it again: head.event marks it as in use.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "../vm.h"
#include "hook.h"
#include "percpu_ctx.h"

static_assert(IMAGE_FUNCTIONS_MAX == SYSCRIPT_FUNCTIONS_MAX);
/* percpu_ctxs(), stubs.S */
static_assert(!offsetof(struct percpu_ctx, head));
static_assert(offsetof(struct percpu_ctx, head.event) == PERCPU_CTX_AT_EVENT);
static_assert(offsetof(struct percpu_ctx, machine) == PERCPU_CTX_AT_MACHINE);

/* Frames lie below the view, so the view's size is a multiple of 16, like theirs. */
static u32 view_room(const struct engine_vm *vm)
{
	return ALIGN(vm->run->view_size, 16);
}

int ctx_check(const struct engine_vm *vm)
{
	const struct image_header *im = &vm->image;
	struct run *run = vm->run;
	u64 stacks = (u64)nr_cpu_ids * im->stack_size;

	if (stacks > im->stack_end || im->stack_size < view_room(vm)) {
		scnprintf(run->error, RUN_ERROR_LEN,
			  "a stack of %u bytes up to %u: each of %u CPUs needs %u for what the program sees, and its frames",
			  im->stack_size, im->stack_end, nr_cpu_ids, view_room(vm));
		return -EINVAL;
	}
	if (!im->native_size || im->native_size > PERCPU_CTX_NATIVE_MAX) {
		scnprintf(run->error, RUN_ERROR_LEN,
			  "native_size is %u: the kernel's stack has 1 .. %u bytes for a program",
			  im->native_size, PERCPU_CTX_NATIVE_MAX);
		return -EINVAL;
	}
	return 0;
}

u64 ctx_call(struct machine *machine, const u64 *args, u32 function)
{
	struct percpu_ctx *ctx = container_of(machine, struct percpu_ctx, machine);
	struct syscript_event *event = ctx->head.event;
	const struct hook_program *program = event->ctx->program;

	if (unlikely(function >= program->nfunctions)) {
		machine->end = MACHINE_FUNCTION;
		return 0;
	}
	function = array_index_nospec(function, IMAGE_FUNCTIONS_MAX);
	machine->fuel -= COST_FUNCTION;
	/*
	 * Functions may charge more than the fuel that is left, and code may check it much later.
	 */
	if (unlikely(machine->fuel < 0)) {
		machine->end = MACHINE_STOP;
		return 0;
	}
	return program->functions[function](event, (const s64 *)args);
}

static void ctx_init(struct percpu_ctx *ctx, const struct engine_vm *vm, unsigned int cpu)
{
	struct machine *machine = &ctx->machine;

	machine_init(machine, &vm->image);
	machine->frame = vm->image.stack_end - cpu * vm->image.stack_size - view_room(vm);
	machine->stack = vm->image.stack_end - (cpu + 1) * vm->image.stack_size;
	machine->user = vm->machine.user;
	machine->base = vm->machine.base;
	machine->atomic = true;
	machine->args[0] = machine->user + machine->frame;
	ctx->head.view = (void *)(unsigned long)machine->base + machine->frame;
	machine->entry = vm->machine.entry;
	ctx->head.base = (void *)(unsigned long)machine->base;
	ctx->head.mask = (1UL << vm->image.arena_shift) - 1;
	ctx->head.fuel = &machine->fuel;
}

int ctx_make(struct engine_vm *vm)
{
	unsigned int cpu;

	vm->ctxs = __alloc_percpu_gfp(sizeof(struct percpu_ctx), SMP_CACHE_BYTES,
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!vm->ctxs)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		ctx_init(per_cpu_ptr(vm->ctxs, cpu), vm, cpu);
	return 0;
}

void ctx_free(struct engine_vm *vm)
{
	free_percpu(vm->ctxs);
}

unsigned long percpu_ctxs(const struct engine_vm *vm, struct hook_program *program)
{
	struct percpu_ctx *ctx;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		ctx = per_cpu_ptr(vm->ctxs, cpu);
		ctx->head.program = program;
		ctx->machine.budget = program->fuel;
	}
	return (unsigned long)vm->ctxs;
}

/* Also restores the machine's state after a successful call. */
void ctx_error(struct syscript_percpu_ctx *head, struct ctx_error *error)
{
	struct machine *machine = &container_of(head, struct percpu_ctx, head)->machine;

	if (machine->end == MACHINE_DONE)
		return;
	error->end = machine->end;
	error->pc = machine->pc;
	error->value = machine->value;
	machine_begin(machine);
}

/* The reason that a Lua program gives. */
static const char *reason_of(const struct ctx_error *error)
{
	static const char *const reasons[] = {
		[IMAGE_NIL] = "nil where a value is needed",
		[IMAGE_ZERO] = "a division by 0",
		[IMAGE_RANGE] = "a number beyond 2^53",
		[IMAGE_ERROR] = "error()",
		[IMAGE_TABLE] = "a table that no longer exists",
		[IMAGE_INDEX] = "an index that the array does not have",
	};

	if (error->end == MACHINE_STOP)
		return "over its budget";
	if (error->end != MACHINE_ABORT || error->value >= ARRAY_SIZE(reasons))
		return NULL;
	return reasons[array_index_nospec(error->value, ARRAY_SIZE(reasons))];
}

void ctx_text(const struct ctx_error *error, char *text, unsigned long len)
{
	const struct machine machine = {
		.end = error->end, .pc = error->pc, .value = error->value,
	};

	if (error->line && reason_of(error))
		scnprintf(text, len, "%u: %s", error->line, reason_of(error));
	else if (error->end == MACHINE_STOP)
		scnprintf(text, len, "insn %u: over its budget", error->pc);
	else
		machine_text(&machine, text, len);
}
