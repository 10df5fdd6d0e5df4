/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The confined engine's programs, and its platform layer: memory for code, arenas and stacks,
 * which the kernel and processes allocate in different ways.  kernel/platform.c implements it, and
 * the files in user/.
 */
#ifndef CONFINED_VM_H
#define CONFINED_VM_H

#include "batch_calls.h"
#include "engine.h"
#include "../include/uapi/syscript_image.h"
#include "port.h"
#include "machine.h"
#include "run.h"

struct code;
struct arena;
struct mapped;
struct percpu_ctx;
struct stacks;
struct view;

/**
 * struct engine_vm - a program
 * @beyond:    for an extension: the value of machine.beyond; else 0
 * @first_insn: number of its first instruction
 * @stop_by:    limit on run.time of a run that was told to end; otherwise 0
 * @told:       varies the result of fuel_to_end()
 * @left_at:    where such a run was in its own code when it was made to end; 0: nowhere yet
 * @code_start: address of its own machine code
 * @code_size:  bytes of machine code
 * @memory:     bytes of machine code, and of the retained part of the image
 * @memory_max: further bytes that the program may use for its batches
 * @arena:      its arena if that is pinned memory; or NULL
 * @mapped:     its arena if that is memory of the module; or NULL
 * @view:       the mapping of @mapped that the program uses
 * @stack:      the stack of the current run, in a process of all runs; NULL: the caller's
 */
struct engine_vm {
	struct machine machine;
	struct run *run;
	struct arena *arena;
	struct code *code;
	struct image_header image;
	const void *code_start;
	u64 beyond;
	u32 first_insn;
	unsigned long stop_by;
	u32 told, left_at;
	size_t code_size, memory, memory_max;
	void *stack;
	size_t stack_size;
	struct mapped *mapped;
	struct view *view;
	struct stacks *stacks;
	struct percpu_ctx __percpu *ctxs;	/* CONTEXT_ATOMIC: kernel/percpu_ctx.h */
	struct batches batches;
};

/* The header of the image that @image extends, or NULL. */
static inline const struct image_header *vm_base_header(const struct engine_image *image)
{
	return image->base ? &image->base->image : NULL;
}

/* The functions below return 0, or -errno with the reason in vm->run->error. */
int vm_check_image(struct run *run, const struct engine_image *image);
/* The image and its machine code together may have @max bytes. */
int vm_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max);
void vm_put_code(struct engine_vm *vm);
/* Sets the machine's @base and @user; in CONTEXT_ATOMIC, also makes per-CPU contexts. */
int vm_get_arena(struct engine_vm *vm, const struct engine_image *image);
void vm_put_arena(struct engine_vm *vm);
/* Allocates @len bytes at @offset in the arena: 0 or -errno. May change the machine's @base. */
int vm_use(struct engine_vm *vm, unsigned long offset, unsigned long len);
/* Provides the stack that runs of @vm need if @vm's stack_size is not 0: 0 or -ENOMEM. */
int vm_get_stack(struct engine_vm *vm);
void vm_put_stack(struct engine_vm *vm);

#ifdef __KERNEL__
#include "arch_home.h"
#include "kernel/arena.h"
#include "kernel/mapped.h"
#include "kernel/percpu_ctx.h"
#include "kernel/stacks.h"

#define VM_CONTEXTS	(IN_PROCESS | IN_ATOMIC | IN_SHARED)
#define VM_OPS	.ctxs = percpu_ctxs, .ctx_error = ctx_error, .ctx_text = ctx_text, \
	.age = vm_age,

/* engine_ops.age */
int vm_age(void);

/* CONTEXT_ATOMIC: do the arena's initial contents and all CPUs' stacks fit into it? */
int vm_check_contents(const struct engine_vm *vm, const struct engine_image *image);
/*
 * The arena's part of the program's memory; 0 in a process, which has allocated the arena itself.
 */
size_t vm_arena_memory(const struct engine_vm *vm);
/* For a complete program: makes its code visible to all CPUs that may run it. */
void vm_sync_code(const struct engine_vm *vm);

/* A program's charge for its stack, which the process's programs share. */
static inline size_t vm_stack_memory(const struct engine_vm *vm)
{
	return 0;
}

/* Updates the machine after the process has touched more of its arena: 0 or -ENOMEM. */
int vm_see(struct engine_vm *vm);

/*
 * To be called before a run: provides a stack and a complete view of the arena; false: no memory.
 */
static inline bool vm_begin(struct engine_vm *vm)
{
	if (vm->mapped && unlikely(mapped_has_more(vm->mapped, vm->view)) && vm_see(vm))
		return false;
	if (vm->stack_size)
		vm->stack = stacks_take(vm->stacks, vm->stack_size);
	return vm->stack || !vm->stack_size;
}

/*
 * The end of the stack to which run_script() has to switch, or NULL; other stacks are told to the
 * machine.
 */
static inline void *vm_stack_end(struct engine_vm *vm)
{
	void *end = vm->stack ? vm->stack + vm->stack_size : NULL;

	if (ARCH_SWITCHES_STACKS)
		return end;
	vm->machine.native_top = (unsigned long)end;
	return NULL;
}

static inline void vm_end(struct engine_vm *vm)
{
	if (!vm->stack_size)
		return;
	stacks_give(vm->stacks, vm->stack, vm->stack_size);
	vm->stack = NULL;
}

/* Bytes of the arena that stay allocated. */
static inline size_t vm_pinned(const struct engine_vm *vm)
{
	if (vm->mapped)
		return READ_ONCE(vm->mapped->held) << PAGE_SHIFT;
	return vm->arena ? arena_size(vm->arena) : 0;
}

/* To be called after the machine's clock and flags were checked, or just before. */
static inline void vm_look(struct engine_vm *vm)
{
	vm->machine.flags = &current_thread_info()->flags;
	vm->machine.seen = jiffies;
}
#else
#define VM_CONTEXTS	IN_PROCESS
#define noinline	__attribute__((noinline))
#define VM_OPS

static inline int vm_check_contents(const struct engine_vm *vm, const struct engine_image *image)
{
	(void)vm, (void)image;
	return -EOPNOTSUPP;
}

static inline size_t vm_arena_memory(const struct engine_vm *vm)
{
	(void)vm;
	return 0;
}

static inline void vm_sync_code(const struct engine_vm *vm)
{
	(void)vm;
}

static inline size_t vm_stack_memory(const struct engine_vm *vm)
{
	return vm->stack_size;
}

static inline bool vm_begin(struct engine_vm *vm)
{
	(void)vm;
	return true;
}

static inline void *vm_stack_end(struct engine_vm *vm)
{
	return vm->stack ? (char *)vm->stack + vm->stack_size : NULL;
}

static inline void vm_end(struct engine_vm *vm)
{
	(void)vm;
}

static inline size_t vm_pinned(const struct engine_vm *vm)
{
	(void)vm;
	return 0;
}

static inline u64 ctx_call(struct machine *machine, const u64 *args, u32 function)
{
	(void)machine, (void)args, (void)function;
	return -EOPNOTSUPP;
}

/* Nothing to do in a process: each check calls machine_poll(). */
static inline void vm_look(struct engine_vm *vm)
{
	(void)vm;
}
#endif

int vm_init(void);
void vm_exit(void);

/* In engine.c: the index in syscalls.def of system call @nr, or -1. */
int confined_call_index(u32 nr);

#endif /* CONFINED_VM_H */
