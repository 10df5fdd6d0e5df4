/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between the verifier and its decoder for an architecture: an instruction, or a
 * sequence that is checked as one.
 *
 * To accept something new:
 *
 * - an instruction with operands: add a line to opcodes[] of verify_x86.c, or to rows[] of
 *   verify_arm64.c;
 * - a sequence of instructions that are safe only together: add its bytes to patterns[] there,
 *   with the registers that it reads and writes; and, if it has further conditions, a kind here
 *   and a case in check_insn() of verify_code.c;
 * - another fact about registers: add a field to struct verify_state, a line to missing() of
 *   verify_code.c, and to verify_step() whatever makes the fact true or false.
 *
 * Then add a line to GOOD and lines to WRONG in tests/unit/test_confined_verify.py, and its meaning
 * to tests/confined/model.py; otherwise make prove fails.
 */
#ifndef CONFINED_VERIFY_INSN_H
#define CONFINED_VERIFY_INSN_H

#include "verify_code.h"

#define V_KEPT		(V_SECRET | V_BIT(V_FRAME))

enum verify_kind {
	V_PLAIN,	/* falls through; described by the other fields */
	V_MASK,		/* reg &= imm, 32 bits: the result is at most imm */
	V_MASK_COPY,	/* the same of another register: reg = other & imm */
	V_MOVE_FRAME,	/* the frame pointer += or -= imm, in 32 bits */
	V_PUSH, V_POP,
	V_LINK, V_UNLINK,	/* the return address's push and pop, with V_LINKED */
	V_JUMP, V_BRANCH, V_CALL,
	V_RETURN,
	/* Sequences of instructions */
	V_ENTRY,	/* a landing pad of indirect branches; r0 = 0 */
	V_CHARGE,	/* machine.fuel -= imm; calls if negative */
	V_ROOM,		/* calls if the stack pointer is below machine.native */
	V_UNLESS,	/* a conditional call */
	V_THUNK,		/* a call with machine.run in r9, which is restored */
	V_TRY,		/* a call, with data for confined_throw on the stack */
};

/**
 * struct verify_insn - an instruction, or a sequence
 * @slots:   words on the stack during its call
 * @reads:   registers whose values matter, except those of an address
 * @writes:  registers that it changes
 * @leaves:  registers that hold a value of the kernel afterwards
 * @places:  of V_PLACES, registers that hold an address in the arena afterwards
 * @arena:   accesses up to 8 bytes of the arena at @index, or NO_INDEX, plus @disp
 * @runs_on: a jump or return after which a processor may execute what follows, speculatively
 * @align:   for an atomic access: required alignment; otherwise 0
 * @to:      target of its jump or call, relative to its own beginning
 * @barrier: target of an earlier call in the sequence, or 0
 */
struct verify_insn {
	u8 len, kind, reg, slots;
	verify_set reads, writes, leaves, places;
	bool arena, runs_on;
	u8 index, align;
	s32 disp, imm;
	s64 to, barrier;
};
#define NO_INDEX	0xff

/* The most words that a routine may push. */
#define V_SLOTS		12

/*
 * In verify_step.c: updates the facts @s for @in, which is not a branch. Returns NULL, or why @in
 * is refused.
 */
const char *verify_step(const struct verify *v, struct verify_state *s,
			const struct verify_insn *in);

/*
 * In arch/: decodes the instruction or sequence at @code, of which @left bytes are
 * present.  Returns false if it is not accepted.
 */
bool verify_decode(const u8 *code, u32 left, struct verify_insn *in);

/* Are the 4 bytes at @code a landing pad of indirect branches? */
static inline bool verify_landing(const u8 *code)
{
	static const u8 landing[] = { V_LANDING };

	return code[0] == landing[0] && code[1] == landing[1] && code[2] == landing[2] &&
	       code[3] == landing[3];
}

#endif /* CONFINED_VERIFY_INSN_H */
