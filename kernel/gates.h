/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run_gates (run.h) for the machine code of preemptible engines, which calls them
 * directly: the run comes after the arguments that are in registers, so that no
 * argument has to move.  The same rules, without what is there for engines that
 * are not preemptible.
 */
#ifndef SYSCRIPT_GATES_H
#define SYSCRIPT_GATES_H

#include <linux/types.h>

#include "run.h"

/**
 * struct gate - a system call, in the order of syscalls.def
 * @fn:   in a doomed run it does not return, where the engine has engine_ops.end()
 * @args: how many arguments the call takes; @fn reads no others
 */
struct gate {
	long (*fn)(long a, long b, long c, long d, long e, struct run *run, long f);
	u8 args;
};

extern const struct gate gates_preemptible[];

#endif /* SYSCRIPT_GATES_H */
