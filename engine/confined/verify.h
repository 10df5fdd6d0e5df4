/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verifier: reads machine code before it may run, and knows nothing of how it
 * was generated.
 */
#ifndef CONFINED_VERIFY_H
#define CONFINED_VERIFY_H

#include "port.h"

/**
 * struct verify - machine code, and what it may refer to
 * @code:        its bytes
 * @size:        how many
 * @exec:        the address that they will run at
 * @arena_shift: the arena has 2^arena_shift bytes
 * @dispatch:    where the routine for calls by number begins, in bytes of @code
 * @try:         where that of IMAGE_CALL_TRY does, after it
 * @funcs:       where the functions begin, in order, after that
 * @nfuncs:      how many there are
 * @barrier:     gates are called right after confined_barrier
 * @gate_args:   how many arguments the gate at an address takes; below 0: no gate
 *               is there.  NULL: there are no gates
 *
 * Whatever @dispatch to @funcs say, code that is accepted is safe: they say what to
 * look for, and it has to be there.
 */
struct verify {
	const u8 *code;
	u32 size;
	u64 exec;
	u32 arena_shift;
	u32 dispatch, try;
	const u32 *funcs;
	u32 nfuncs;
	bool barrier;
	int (*gate_args)(u64 address);
};

/*
 * Returns 0; -EINVAL with the reason in @error; -EAGAIN with it where a constant
 * looks like a landing of indirect branches, which another key changes; or -ENOMEM.
 */
int verify_code(const struct verify *v, char *error, size_t error_len);

#endif /* CONFINED_VERIFY_H */
