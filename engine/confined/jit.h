/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The code generator: machine code for an image that the checker has passed.
 */
#ifndef CONFINED_JIT_H
#define CONFINED_JIT_H

#include "check.h"

/**
 * struct jit_gate - a function of the platform's that makes one system call
 * @address: takes r1 to r5 and machine.run as a C function takes arguments, and after
 *           them, where @args is 6, r0; returns r0; within 2 GB.  Its stack need not
 *           be aligned
 * @args:    how many of r1 to r5 and r0 it looks at
 */
struct jit_gate {
	u64 address;
	u8 args;
};

/**
 * struct jit - what to generate
 * @checked: the image
 * @key:     random: constants of more than 16 bits, which whoever wrote the image
 *           chose, appear in the code xor'ed with it.  0: as they are
 * @code:    where to write it, room for @size bytes; NULL to find out @size
 * @exec:    the address that it will run at
 * @size:    bytes
 * @gate:    finds the gate of a system call that image_syscall_known(); NULL: all
 *           calls go by way of machine_call()
 * @barrier: before a gate stands confined_barrier
 * @offsets: room for ninsns + nfuncs numbers: where the code of each instruction
 *           begins, then where that of each function does
 */
struct jit {
	const struct checked *checked;
	u64 key;
	u8 *code;
	u64 exec;
	u32 size;
	struct jit_gate (*gate)(u32 nr);
	bool barrier;
	u32 *offsets;
};

/*
 * Twice: without @code for @size and @offsets, then with it.  Returns 0, or
 * -EFBIG where @size does not do.
 */
int jit_generate(struct jit *jit);

#endif /* CONFINED_JIT_H */
