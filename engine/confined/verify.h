/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verifier: reads machine code before it may run, and knows nothing of how it
 * was generated.
 */
#ifndef CONFINED_VERIFY_H
#define CONFINED_VERIFY_H

#include "port.h"
#include "arch/registers.h"

/* Registers are numbered as in machine code, and sets of them have a bit for each. */
#define V_BIT(reg)	(1U << (reg))

/**
 * struct verify_state - what holds before an instruction, whichever way led there
 * @credit: bytes of code that have been paid for in fuel, and are still to come
 * @masked: registers that are less than the arena's size
 * @by4:    those that are multiples of 4; @by8: of 8
 * @unset:  those that may hold a value of the kernel
 * @depth:  words pushed since the routine began
 * @room:   calls after which there is still room on the stack for one that checks it
 * @calls:  the routine may call others: the fuel that its caller has paid is not counted
 */
struct verify_state {
	u32 credit;
	u16 masked, by4, by8, unset;
	u8 depth, room;
	bool calls;
};

/* What V_ROOM sees: a function's call of a routine that calls another one. */
#define V_ROOM_CALLS	2
/* Bytes of code that a unit of fuel pays for. */
#define V_FUEL_BYTES	256

/**
 * struct verify_label - a place that is branched to, or called
 * @at:    in bytes of the code
 * @known: what holds there; it is checked on each way there
 */
struct verify_label {
	u32 at;
	struct verify_state known;
};

/* The cost of looking up a number beyond the base's; paid before the jump. */
#define V_BEYOND_CREDIT	512

/**
 * struct verify_base - verified code that other code extends
 * @exec:        where it runs
 * @arena_shift: of its arena
 * @labels:      those of its labels that other code may go to, in order
 * @nlabels:     how many there are
 */
struct verify_base {
	u64 exec;
	u32 arena_shift;
	const struct verify_label *labels;
	u32 nlabels;
};

/**
 * struct verify - machine code, and what it may refer to
 * @code:        its bytes
 * @size:        how many
 * @exec:        the address that they will run at
 * @arena_shift: the arena has 2^arena_shift bytes
 * @labels:      in the order of their places
 * @nlabels:     how many there are
 * @barrier:     gates are called right after confined_barrier
 * @gate_args:   how many arguments the gate at an address takes; below 0: no gate
 *               is there.  NULL: there are no gates
 * @base:        the code that it extends, or NULL
 * @beyond:      with @base: the place to which confined_beyond may lead
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
	int (*gate_args)(u64 address);
	const struct verify_base *base;
	u32 beyond;
};

/*
 * Returns 0, or -errno with the reason in @error: -EINVAL; or -EAGAIN where a constant
 * looks like a target of indirect branches: another key changes that.
 */
int verify_code(const struct verify *v, char *error, size_t error_len);

#endif /* CONFINED_VERIFY_H */
