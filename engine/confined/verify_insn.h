/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between the verifier and its part for one processor: one instruction, or a sequence of
 * them that is checked as one.
 *
 * To accept something new:
 *   - an instruction with operands: a line in opcodes[] of verify_x86.c;
 *   - a sequence of instructions that are safe only together: its bytes in patterns[]
 *     there, with the registers that it reads and writes; and, if more than that has to
 *     hold, a kind here and a case in check_insn() of verify.c;
 *   - another fact about registers: a field of struct verify_state, a line in missing()
 *     of verify.c, and in verify_step() whatever makes it true or false.
 * Then a line in GOOD and lines in WRONG of tests/unit/test_confined_verify.py, and its
 * meaning in tests/confined/model.py, or make prove fails.
 */
#ifndef CONFINED_VERIFY_INSN_H
#define CONFINED_VERIFY_INSN_H

#include "verify.h"

#define V_KEPT		(V_SECRET | V_BIT(V_FRAME))

enum verify_kind {
	V_PLAIN,	/* goes on after it; the other fields say all about it */
	V_MASK,		/* reg &= imm, on 32 bits: it is at most imm then */
	V_MOVE_FRAME,	/* the frame += or -= imm, on 32 bits */
	V_PUSH, V_POP,
	V_JUMP, V_BRANCH, V_CALL,
	V_RETURN,
	/* Rows of instructions */
	V_ENTRY,	/* where indirect branches land; rax = 0 */
	V_CHARGE,	/* machine.fuel -= imm; below 0 a call */
	V_ROOM,		/* a call if the stack is below machine.native */
	V_UNLESS,	/* a call, or not */
	V_GATE,		/* a call with machine.run in r9, which is restored */
	V_TRY,		/* a call, with confined_throw's data on the stack */
};

/**
 * struct verify_insn - an instruction, or a row of them
 * @slots:   words that it has on the stack while it calls
 * @reads:   registers whose values matter, except those of an address
 * @writes:  registers that it changes
 * @leaves:  those that hold a value of the kernel afterwards
 * @arena:   accesses up to 8 bytes of the arena at @index, or NO_INDEX, plus @disp
 * @align:   atomically, so that the address has to be a multiple of this; or 0
 * @to:      the target of its jump or call, from its own beginning
 * @barrier: the target of its call before that, or 0
 */
struct verify_insn {
	u8 len, kind, reg, slots;
	u16 reads, writes, leaves;
	bool arena;
	u8 index, align;
	s32 disp, imm;
	s64 to, barrier;
};
#define NO_INDEX	0xff

/* Words that a routine may push. */
#define V_SLOTS		12

/* verify_step.c: carries @s over @in, which is no branch.  Returns why not, or NULL. */
const char *verify_step(const struct verify *v, struct verify_state *s,
			const struct verify_insn *in);

/*
 * verify_x86.c: what begins with the first of @left bytes.  Returns false where that is
 * nothing that may be here.
 */
bool verify_decode(const u8 *code, u32 left, struct verify_insn *in);

/* Are @code's 4 bytes where indirect branches may land? */
static inline bool verify_landing(const u8 *code)
{
	static const u8 landing[] = { V_LANDING };

	return code[0] == landing[0] && code[1] == landing[1] && code[2] == landing[2] &&
	       code[3] == landing[3];
}

#endif /* CONFINED_VERIFY_INSN_H */
