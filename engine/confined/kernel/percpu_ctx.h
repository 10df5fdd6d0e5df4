/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program in CONTEXT_ATOMIC may run on all CPUs at once, so each CPU has a context: its
 * own machine state.  All contexts run the same code in one arena, which the kernel owns;
 * each has a part of the stack, the image's stack_size bytes, from stack_end downwards, with the
 * view at its end.
 */
#ifndef CONFINED_PERCPU_CTX_H
#define CONFINED_PERCPU_CTX_H

#include <linux/syscript_program.h>
#include <linux/types.h>

#include "engine.h"

#include "../machine.h"

/* Bytes of the kernel's current stack that the machine code uses, without C functions. */
#define PERCPU_CTX_NATIVE_MAX	1024

/* Fuel for the call of a function, which may touch some cache lines. */
#define COST_FUNCTION	32

struct engine_vm;
struct ctx_error;

/* A CPU's context. */
struct percpu_ctx {
	struct syscript_percpu_ctx head;
	struct machine machine __aligned(64);
};

/* Can @vm's image have per-CPU contexts?  0, or -EINVAL with the reason in vm->run->error. */
int ctx_check(const struct engine_vm *vm);
/* Makes the ctxs, after arena and code exist. 0 or -ENOMEM. */
int ctx_make(struct engine_vm *vm);
void ctx_free(struct engine_vm *vm);

/* Calls IMAGE_FUNCTION and above; other numbers end the run with MACHINE_FUNCTION.  Returns r0. */
u64 ctx_call(struct machine *machine, const u64 *args, u32 function);

/* Operations for struct engine_ops; the others are declared in engine.h. */
unsigned long percpu_ctxs(const struct engine_vm *vm, struct hook_program *program);
void ctx_error(struct syscript_percpu_ctx *head, struct ctx_error *error);
void ctx_text(const struct ctx_error *error, char *text, unsigned long len);

#endif /* CONFINED_PERCPU_CTX_H */
