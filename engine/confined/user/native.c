// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Implements the part of ../vm.h on code in processes, by machine code in mapped files. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "user/arch/arch.h"
#include "../vm.h"
#include "memory.h"

static bool has_atomics(const struct checked *checked)
{
	u32 i;

	for (i = 0; i < checked->image->ninsns; i++)
		if (!(checked->marks[i] & MARK_SECOND) &&
		    INSN_CLASS(checked->insns[i].code) == INSN_STX &&
		    INSN_MODE(checked->insns[i].code) == INSN_ATOMIC)
			return true;
	return false;
}

static int make(struct code *code, struct jit *jit, char *error)
{
	if (!arch_has_atomics() && has_atomics(jit->checked)) {
		snprintf(error, RUN_ERROR_LEN,
			 "this processor lacks atomic instructions (LSE): compile the image without atomic operations");
		return -EOPNOTSUPP;
	}
	if (getrandom(&jit->key, sizeof(jit->key), GRND_NONBLOCK) != sizeof(jit->key))
		jit->key = 0;
	return code_make(code, jit, error, RUN_ERROR_LEN);
}

static int generate(struct code *code, const struct engine_image *image, char *error)
{
	struct checked checked;
	struct jit jit = {
		.checked = &checked, .base = image->base ? &image->base->code->base : NULL,
	};
	int err = image_check(image->data, image->len, CONTEXT_PROCESS, vm_base_header(image),
			      &checked, error, RUN_ERROR_LEN);

	if (err)
		return err;
	err = make(code, &jit, error);
	image_release(&checked);
	return err;
}

/* A size above @max also exceeds the limit, which is checked next. */
int vm_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max)
{
	struct code *code = calloc(1, sizeof(*code));
	int err = code ? generate(code, image, vm->run->error) : -ENOMEM;

	(void)max;
	if (err) {
		free(code);
		return err;
	}
	vm->code = code;
	vm->machine.entry = image->base ? image->base->machine.entry : code->exec;
	vm->beyond = code->beyond;
	vm->code_start = code->exec;
	vm->code_size = code->size;
	vm->memory = code->size;
	return 0;
}

void vm_put_code(struct engine_vm *vm)
{
	code_free(vm->code);
	free(vm->code);
}
