/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program in CONTEXT_ATOMIC may run on all CPUs at once, so each CPU has a seat: its own
 * machine state.  All seats run the same code in one arena, which the kernel owns; each has a
 * part of the stack, the image's stack_size bytes, from stack_end downwards, with the view at its
 * end.
 */
#ifndef CONFINED_SEAT_H
#define CONFINED_SEAT_H

#include <linux/syscript_program.h>
#include <linux/types.h>

#include "engine.h"

#include "../machine.h"

/* Bytes of the kernel's current stack that the machine code uses, without C functions. */
#define SEAT_NATIVE_MAX	1024

/* Fuel for the call of a function, which may touch some cache lines. */
#define COST_FUNCTION	32

struct engine_vm;
struct seat_error;

/* A CPU's seat. */
struct seat {
	struct syscript_seat head;
	struct machine machine __aligned(64);
};

/* Can @vm's image have seats?  0, or -EINVAL with the reason in vm->run->error. */
int seat_check(const struct engine_vm *vm);
/* Makes the seats, after arena and code exist. 0 or -ENOMEM. */
int seat_make(struct engine_vm *vm);
void seat_free(struct engine_vm *vm);

/* Calls IMAGE_FUNCTION and above; other numbers end the run with MACHINE_FUNCTION.  Returns r0. */
u64 seat_call(struct machine *machine, const u64 *args, u32 function);

/* Operations for struct engine_ops; the others are declared in engine.h. */
unsigned long seats(const struct engine_vm *vm, struct hook_program *program);
void seat_error(struct syscript_seat *head, struct seat_error *error);
void seat_text(const struct seat_error *error, char *text, unsigned long len);

#endif /* CONFINED_SEAT_H */
