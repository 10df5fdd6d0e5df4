/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run_thunks (run.h) for the machine code of preemptible engines, which calls thunks directly. The
 * run is passed after the arguments that are in registers, so that no argument has to move. The
 * rules of run.h hold, except those for non-preemptible engines.
 *
 * The callee may overwrite its stack arguments.  Machine code keeps its own values above them
 * across a call, so a thunk that would take no argument on the stack is declared with six.
 */
#ifndef SYSCRIPT_THUNKS_H
#define SYSCRIPT_THUNKS_H

#include <linux/types.h>

#include "run.h"

/**
 * struct thunk - a system call, in the order of syscalls.def
 * @fn:   in a stopped run it does not return if the engine has engine_ops.end()
 * @fn6:  in place of @fn for calls of six arguments
 * @args: number of arguments that are read
 */
struct thunk {
	long (*fn)(long a, long b, long c, long d, long e, struct run *run);
	long (*fn6)(long a, long b, long c, long d, long e, struct run *run, long f);
	u8 args;
};

static inline unsigned long thunk_address(const struct thunk *thunk)
{
	return thunk->fn ? (unsigned long)thunk->fn : (unsigned long)thunk->fn6;
}

extern const struct thunk syscall_thunks[];

#endif /* SYSCRIPT_THUNKS_H */
