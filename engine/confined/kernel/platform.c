// SPDX-License-Identifier: GPL-2.0
/*
 * Implements vm.h for the kernel: code in the module's text, arenas of the module's pages or
 * of pinned ones.
 */
#include <linux/bsearch.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "../vm.h"
#include "arena.h"
#include "code.h"
#include "arch_syscalls.h"
#include "syscall_thunks.h"
#include "kernel/run_priv.h"
#include "usermode.h"

/* -- Code --------------------------------------------------------------------------- */

struct jit_thunk code_thunk(u32 nr)
{
	const struct thunk *thunk = &syscall_thunks[confined_call_index(nr)];

	if (arch_is_old_call(nr))
		return (struct jit_thunk){ 0 };
	return (struct jit_thunk){ thunk_address(thunk), thunk->args };
}

/* The thunks of all system calls, sorted by address. */
#define THUNKS_MAX	512
static struct jit_thunk thunks[THUNKS_MAX] __ro_after_init;
static unsigned int ngates __ro_after_init;

static int compare_thunks(const void *a, const void *b)
{
	u64 one = ((const struct jit_thunk *)a)->address;
	u64 other = ((const struct jit_thunk *)b)->address;

	return one < other ? -1 : one > other;
}

static void thunks_init(void)
{
	unsigned int nr;

	for (nr = 0; nr < THUNKS_MAX; nr++)
		if (confined_call_index(nr) >= 0 && !arch_is_old_call(nr))
			thunks[ngates++] = code_thunk(nr);
	sort(thunks, ngates, sizeof(*thunks), compare_thunks, NULL);
}

int code_thunk_args(u64 address)
{
	struct jit_thunk key = { .address = address }, *thunk;

	thunk = bsearch(&key, thunks, ngates, sizeof(*thunks), compare_thunks);
	return thunk ? thunk->args : -1;
}

static struct code *base_of(const struct engine_image *image)
{
	return image->base ? image->base->code : NULL;
}

int vm_check_image(struct run *run, const struct engine_image *image)
{
	return code_check(image->data, image->len, base_of(image), run->error, RUN_ERROR_LEN);
}

int vm_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max)
{
	int err = code_get(&vm->code, image->data, image->len, vm->run->context, base_of(image),
			   max, vm->run->error, RUN_ERROR_LEN);

	if (err)
		return err;
	vm->machine.entry = image->base ? image->base->machine.entry : vm->code->entry;
	vm->beyond = vm->code->beyond;
	vm->code_start = vm->code->entry;
	vm->code_size = vm->code->size;
	vm->memory = vm->code->memory;
	return 0;
}

void vm_sync_code(const struct engine_vm *vm)
{
	code_sync(vm->code);
}

void vm_put_code(struct engine_vm *vm)
{
	code_put(vm->code);
}

/* -- Arenas --------------------------------------------------------------------------- */

/* Shared tables are at the arena's end, and other programs write there. */
static int check_shared(const struct engine_vm *vm, const struct engine_image *image)
{
	unsigned long size = 1UL << vm->image.arena_shift;
	unsigned long shared = vm->run->nshared << PAGE_SHIFT;

	if (!shared || (shared < size && image->shared_len <= size - shared &&
			vm->image.stack_end <= size - shared))
		return 0;
	scnprintf(vm->run->error, RUN_ERROR_LEN,
		  "%lu bytes of shared tables at the end of a memory of %lu: stacks or data reach there",
		  shared, size);
	return -EINVAL;
}

int vm_check_contents(const struct engine_vm *vm, const struct engine_image *image)
{
	if (image->shared_len > 1UL << vm->image.arena_shift) {
		scnprintf(vm->run->error, RUN_ERROR_LEN,
			  "%lu bytes to begin with, in a memory of %lu", image->shared_len,
			  1UL << vm->image.arena_shift);
		return -EINVAL;
	}
	return check_shared(vm, image) ?: ctx_check(vm);
}

size_t vm_arena_memory(const struct engine_vm *vm)
{
	if (vm->run->context != CONTEXT_ATOMIC)
		return 0;
	return (1UL << vm->image.arena_shift) + num_possible_cpus() * sizeof(struct percpu_ctx);
}

static int make_arena(struct engine_vm *vm, const struct engine_image *image)
{
	struct arena *arena = arena_make(image->shared, image->shared_len,
					 vm->image.arena_shift, vm->run->shared_pages,
					 vm->run->nshared);
	int err;

	if (IS_ERR(arena))
		return PTR_ERR(arena);
	vm->arena = arena;
	vm->machine.user = arena->user;
	vm->machine.base = (unsigned long)arena->base;
	err = ctx_make(vm);
	if (err)
		arena_put(arena);
	return err;
}

/* Bytes of the stack that are allocated from the beginning; see machine_stack(). */
#define STACK_FIRST	(4UL << 10)

static unsigned long first_of_stack(const struct image_header *image)
{
	return min_t(unsigned long, image->stack_size,
		     STACK_FIRST + (image->stack_end & (PAGE_SIZE - 1)));
}

static int tell_memory(struct engine_vm *vm, const char *what, int err)
{
	if (err == -ENOMEM)
		scnprintf(vm->run->error, RUN_ERROR_LEN,
			  "no memory for the %s: its control group has no more, or this user's scripts have as much as they may (module parameter max_arenas)",
			  what);
	return err;
}

static int use_first(struct engine_vm *vm)
{
	unsigned long first = first_of_stack(&vm->image);
	int err = mapped_use(vm->mapped, vm->image.stack_end - first, first) ?: vm_see(vm);

	vm->machine.stack = vm->image.stack_end - first;
	return err;
}

static int share_mapped(struct engine_vm *vm)
{
	int err;

	vm->machine.user = vm->mapped->user;
	err = use_first(vm);
	if (err)
		mapped_put(vm->mapped, vm->view);
	return err;
}

static int pin_arena(struct engine_vm *vm, const struct engine_image *image)
{
	struct arena *arena = arena_get(image->shared, vm->image.arena_shift, vm->run->error,
					RUN_ERROR_LEN);

	if (IS_ERR(arena))
		return PTR_ERR(arena);
	vm->arena = arena;
	vm->machine.user = arena->user;
	vm->machine.base = (unsigned long)arena->base;
	return 0;
}

static int get_arena(struct engine_vm *vm, const struct engine_image *image)
{
	struct mapped *mapped = mapped_get(image->shared, vm->image.arena_shift);

	if (IS_ERR(mapped))
		return tell_memory(vm, "arena", PTR_ERR(mapped));
	vm->machine.rare = USERMODE_FLAGS;
	vm->machine.clock = &jiffies;
	vm->mapped = mapped;
	return mapped ? tell_memory(vm, "arena", share_mapped(vm)) : pin_arena(vm, image);
}

int vm_get_arena(struct engine_vm *vm, const struct engine_image *image)
{
	return vm->run->context == CONTEXT_ATOMIC ? make_arena(vm, image) :
						    get_arena(vm, image);
}

void vm_put_arena(struct engine_vm *vm)
{
	ctx_free(vm);
	if (vm->arena)
		return arena_put(vm->arena);
	mapped_put(vm->mapped, vm->view);
}

int vm_see(struct engine_vm *vm)
{
	int err = mapped_see(vm->mapped, &vm->view);

	if (!err)
		vm->machine.base = (unsigned long)vm->view->base;
	return err;
}

/* To be called on the task's stack. */
struct part {
	struct engine_vm *vm;
	unsigned long offset, len;
	int err;
};

static long use_part(void *arg)
{
	struct part *part = arg;
	struct engine_vm *vm = part->vm;

	part->err = mapped_use(vm->mapped, part->offset, part->len);
	if (!part->err && mapped_has_more(vm->mapped, vm->view))
		part->err = vm_see(vm);
	return 0;
}

int vm_use(struct engine_vm *vm, unsigned long offset, unsigned long len)
{
	struct part part = { vm, offset, len };

	if (vm->mapped)
		run_outside(vm->run, use_part, &part);
	return part.err;
}

/* -- Stacks --------------------------------------------------------------------------- */

int vm_get_stack(struct engine_vm *vm)
{
	if (!vm->stack_size)
		return 0;
	vm->stacks = stacks_get(vm->stack_size);
	return vm->stacks ? 0 : tell_memory(vm, "stack", -ENOMEM);
}

/* The last run may be unfinished, because its task ended in the middle. */
void vm_put_stack(struct engine_vm *vm)
{
	if (vm->stack)
		vm_end(vm);
	if (vm->stacks)
		stacks_put(vm->stacks);
}

int confined_mmap(struct vm_area_struct *vma)
{
	return mapped_mmap(vma);
}

int vm_age(void)
{
	return code_age();
}

int vm_init(void)
{
	thunks_init();
	return code_init();
}

void vm_exit(void)
{
	code_exit();
}
