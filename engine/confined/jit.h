/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The code generator: machine code for an image that the checker has passed.
 */
#ifndef CONFINED_JIT_H
#define CONFINED_JIT_H

#include "check.h"
#include "verify.h"

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
 * @gate_args: for struct verify: what is at an address
 * @barrier: before a gate stands confined_barrier
 * @offsets: room for ninsns + nfuncs numbers: where the code of each instruction
 *           begins, then where that of each function does
 * @dispatch: where the routine for calls by number begins, in bytes of the code
 * @try:     where IMAGE_CALL_TRY's does
 */
struct jit {
	const struct checked *checked;
	u64 key;
	u8 *code;
	u64 exec;
	u32 size;
	struct jit_gate (*gate)(u32 nr);
	int (*gate_args)(u64 address);
	bool barrier;
	u32 *offsets;
	u32 dispatch, try;
};

/*
 * Twice: without @code for @size and @offsets, then with it.  Returns 0, or
 * -EFBIG where @size does not do.
 */
int jit_generate(struct jit *jit);

/* Then: verifies it, as verify_code() does. */
static inline int jit_verify(const struct jit *jit, char *error, size_t error_len)
{
	const struct image_header *im = jit->checked->image;
	struct verify v = {
		.code = jit->code, .size = jit->size, .exec = jit->exec,
		.arena_shift = im->arena_shift, .dispatch = jit->dispatch, .try = jit->try,
		.funcs = jit->offsets + im->ninsns, .nfuncs = im->nfuncs,
		.barrier = jit->barrier, .gate_args = jit->gate_args,
	};

	return verify_code(&v, error, error_len);
}

#endif /* CONFINED_JIT_H */
