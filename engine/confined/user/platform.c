// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements ../vm.h for processes: arenas and stacks in the process's memory. Code is in native.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "user/tools.h"
#include "user/arena.h"
#include "../validate_image.h"
#include "../vm.h"

#define PAGE	4096UL

/* -- Images --------------------------------------------------------------------- */

int vm_check_image(struct run *run, const struct engine_image *image)
{
	struct checked checked;
	int err = image_check(image->data, image->len, CONTEXT_PROCESS, vm_base_header(image),
			      &checked, run->error, RUN_ERROR_LEN);

	if (!err)
		image_release(&checked);
	return err;
}

/* -- Arenas and stacks ------------------------------------------------------------- */

int vm_get_arena(struct engine_vm *vm, const struct engine_image *image)
{
	int err = arena_guard((void *)image->shared, image->shared_len);

	if (err == -EEXIST)
		snprintf(vm->run->error, RUN_ERROR_LEN,
			 "the shared memory has neighbours: there must be %u free bytes on each side",
			 IMAGE_GUARD);
	if (err)
		return err;
	vm->machine.user = image->shared;
	vm->machine.base = image->shared;
	return 0;
}

void vm_put_arena(struct engine_vm *vm)
{
	arena_unguard((void *)(unsigned long)vm->machine.user);
}

/* The process owns the memory, and allocates it by touching it. */
int vm_use(struct engine_vm *vm, unsigned long offset, unsigned long len)
{
	(void)vm, (void)offset, (void)len;
	return 0;
}

/* The first page is a guard against stack overflows. */
static void *map_stack(size_t size)
{
	char *stack = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return NULL;
	if (mprotect(stack, PAGE, PROT_NONE)) {
		munmap(stack, PAGE + size);
		return NULL;
	}
	tools_stack(stack + PAGE, size);
	return stack + PAGE;
}

int vm_get_stack(struct engine_vm *vm)
{
	if (vm->stack_size)
		vm->stack = map_stack(vm->stack_size);
	return vm->stack || !vm->stack_size ? 0 : -ENOMEM;
}

void vm_put_stack(struct engine_vm *vm)
{
	if (vm->stack)
		munmap((char *)vm->stack - PAGE, PAGE + vm->stack_size);
}

int vm_init(void)
{
	return 0;
}

void vm_exit(void)
{
}
