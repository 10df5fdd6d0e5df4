// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements the part of ../vm.h on code in processes, for architectures without a code generator:
 * a program keeps its checked image, which the interpreter runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../validate_image.h"
#include "../vm.h"

/**
 * struct code - what the interpreter needs of a program
 * @image:   a copy of the image, into which @checked points
 * @checked: its facts
 * @base:    the same of the image that it extends, or NULL
 */
struct code {
	char *image;
	struct checked checked;
	const struct code *base;
};

/* stubs.S has it for generated code; the interpreter finds functions by itself. */
extern const u8 confined_fault_function[];
const u8 confined_fault_function[1];

static int keep(struct code *code, const struct engine_image *image, char *error)
{
	int err;

	code->image = malloc(image->len);
	if (!code->image)
		return -ENOMEM;
	memcpy(code->image, image->data, image->len);
	code->base = image->base ? image->base->code : NULL;
	err = image_check(code->image, image->len, CONTEXT_PROCESS, vm_base_header(image),
			  &code->checked, error, RUN_ERROR_LEN);
	if (err)
		free(code->image);
	return err;
}

/* A size above @max also exceeds the limit, which is checked next. */
int vm_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max)
{
	struct code *code = calloc(1, sizeof(*code));
	int err = code ? keep(code, image, vm->run->error) : -ENOMEM;

	(void)max;
	if (err) {
		free(code);
		return err;
	}
	vm->code = code;
	vm->memory = image->len;
	return 0;
}

void vm_put_code(struct engine_vm *vm)
{
	image_release(&vm->code->checked);
	free(vm->code->image);
	free(vm->code);
}

long confined_enter(void *machine)
{
	const struct engine_vm *vm = container_of((struct machine *)machine, struct engine_vm,
						  machine);
	const struct code *base = vm->code->base;

	machine_interpret(&vm->code->checked, base ? &base->checked : NULL, machine);
	return 0;
}

/* Returns, unlike that of stubs.S: the interpreter looks at @machine->end after each call. */
void confined_stop(struct machine *machine)
{
	machine->end = MACHINE_STOP;
}
