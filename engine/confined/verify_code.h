/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verifier checks machine code before it may run, without knowing how it was generated, so
 * that the code generator need not be trusted.
 */
#ifndef CONFINED_VERIFY_CODE_H
#define CONFINED_VERIFY_CODE_H

#include "port.h"
#include "arch/registers.h"

/* Registers are numbered as in machine code, and sets of them have a bit for each. */
#define V_BIT(reg)	(1U << (reg))

/**
 * struct verify_state - facts that hold before an instruction on every path to it
 * @credit: bytes of code that fuel was paid for, and that have not been executed yet
 * @masked: registers that are less than the arena's size
 * @by4:    registers that are multiples of 4; @by8: of 8
 * @unset:  registers that may hold a value of the kernel
 * @depth:  words pushed since the routine began; where calls leave the return address in a register
 *          (V_LINKED), it is the first word, and while @depth is 0 the register holds it
 * @room:   nested calls that still fit on the stack, before a routine that checks it
 * @calls:  the routine may call others: the fuel that its caller has paid is not counted
 */
struct verify_state {
	u32 credit;
	verify_set masked, by4, by8, unset;
	u8 depth, room;
	bool calls;
};

/* The value of @room after V_ROOM: a routine may be called, and may call another. */
#define V_ROOM_CALLS	2
/* Bytes of code that a unit of fuel pays for. */
#define V_FUEL_BYTES	256

/**
 * struct verify_label - a target of branches or calls
 * @at:    offset in the code
 * @known: facts that hold there; checked on each edge to it
 */
struct verify_label {
	u32 at;
	struct verify_state known;
};

/* The cost of looking up a number that the base does not have; paid before the jump. */
#define V_BEYOND_CREDIT	512

/**
 * struct verify_base - verified code that other code extends
 * @exec:        address at which it runs
 * @arena_shift: log2 of its arena's size
 * @labels:      labels that other code may jump to or call, by offset
 * @nlabels:     number of @labels
 */
struct verify_base {
	u64 exec;
	u32 arena_shift;
	const struct verify_label *labels;
	u32 nlabels;
};

/**
 * struct verify - machine code, and the addresses that it may refer to
 * @code:        its bytes
 * @size:        number of bytes
 * @exec:        address at which it will run
 * @arena_shift: the arena has 2^arena_shift bytes
 * @labels:      sorted by offset
 * @nlabels:     number of @labels
 * @barrier:     thunks are called right after confined_barrier
 * @thunk_args:   returns the number of arguments of the thunk at an address; negative if there is
 *               no thunk.  NULL: there are no thunks
 * @base:        the code that it extends, or NULL
 * @beyond:      with @base: the address to which confined_beyond may jump
 *
 * Code that is accepted is safe whatever @labels say: they are hints that are checked.
 */
struct verify {
	const u8 *code;
	u32 size;
	u64 exec;
	u32 arena_shift;
	const struct verify_label *labels;
	u32 nlabels;
	bool barrier;
	int (*thunk_args)(u64 address);
	const struct verify_base *base;
	u32 beyond;
};

/*
 * Returns 0, or -errno with the reason in @error: -EINVAL; or -EAGAIN if a constant contains
 * V_LANDING, which another key avoids; or -EINTR, see image_pause().
 */
int verify_code(const struct verify *v, char *error, size_t error_len);

#endif /* CONFINED_VERIFY_CODE_H */
