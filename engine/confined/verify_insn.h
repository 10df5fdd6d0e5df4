/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between the verifier and its part for one processor: one machine instruction,
 * and what is known where it stands.
 */
#ifndef CONFINED_VERIFY_INSN_H
#define CONFINED_VERIFY_INSN_H

#include "verify.h"

/* Registers, and sets of them: machine.h says what each one is for. */
#define V_RAX		0
#define V_FRAME		5	/* rbp */
#define V_MACHINE	9	/* r9 */
#define V_NUMBER	11	/* r11: the instruction, for stubs */
#define V_BIT(reg)	(1U << (reg))
#define V_SECRET	(V_BIT(4) | V_BIT(V_MACHINE) | V_BIT(12)) /* rsp, r9, r12 */
#define V_KEPT		(V_SECRET | V_BIT(V_FRAME))
#define V_SCRATCH	(V_BIT(10) | V_BIT(V_NUMBER))
#define V_SAVED		(V_BIT(3) | V_BIT(13) | V_BIT(14) | V_BIT(15)) /* r6 to r9 */
#define V_ARGS		(V_BIT(7) | V_BIT(6) | V_BIT(2) | V_BIT(1) | V_BIT(8))

enum verify_kind {
	V_PLAIN,	/* goes on after it; nothing but what the other fields say */
	V_MASK,		/* reg &= imm, on 32 bits: it is at most imm then */
	V_MOVE_FRAME,	/* the frame += or -= imm, on 32 bits */
	V_CHARGE,	/* machine.fuel -= imm */
	V_ROOM,		/* compares the stack pointer with machine.native */
	V_LOAD_RUN,	/* r9 = machine.run */
	V_PUSH, V_POP,
	V_DIVIDE,
	V_JUMP, V_BRANCH, V_CALL,	/* by rel from the instruction's end */
	V_RETURN,
	V_LANDING,
};

/* Conditions of branches that mean something here. */
enum { V_OTHER, V_ABOVE_EQUAL, V_EQUAL, V_NOT_NEGATIVE };

/**
 * struct verify_insn - a machine instruction
 * @reads:  registers whose values matter, but for those of an address
 * @writes: registers that it changes
 * @field:  looks into struct machine
 * @arena:  accesses up to 8 bytes of the arena at @index, or NO_INDEX, plus @disp
 * @align:  atomically, so that the address has to be a multiple of this; or 0
 * @divide: its part in a division, for verify_division()
 * @number: writes a constant to V_NUMBER
 */
struct verify_insn {
	u8 len, kind, cond, reg;
	u16 reads, writes;
	bool field, arena, number;
	u8 index, align, divide;
	s32 disp, imm, rel;
};
#define NO_INDEX	0xff

/* What V_MACHINE holds. */
enum { HAS_MACHINE, HAS_RUN, HAS_NOTHING };

#define V_SLOTS		12

/**
 * struct verify_state - what holds before an instruction, whichever way led there
 * @unset:   registers that may hold something of the kernel's
 * @masked:  those that are less than the arena's size
 * @by4:     those that are multiples of 4; @by8: of 8
 * @held:    slots of the stack that hold the machine's address, from the return
 *           address on
 * @depth:   slots pushed since the routine began
 * @divide:  how far a division has come, for verify_division()
 * @machine: what V_MACHINE holds
 * @fenced:  confined_barrier was called, and no branch came since
 * @dead:    no way leads here, as far as is known
 * @credit:  bytes of code that fuel has been paid for
 */
struct verify_state {
	u16 unset, masked, by4, by8, held;
	u8 depth, divide, machine;
	bool fenced, dead;
	s32 credit;
};

/* verify_step.c: carries @s over @in, which is no branch.  Returns why not, or NULL. */
const char *verify_step(const struct verify *v, struct verify_state *s,
			const struct verify_insn *in);

/*
 * verify_x86.c.
 *
 * verify_decode(): the instruction at the beginning of @left bytes.  Returns false
 * where that is none that may be here.
 *
 * verify_division(): how far a division is after @in; what comes after V_DIVIDE is
 * V_DIVIDED if it cannot trap.
 */
bool verify_decode(const u8 *code, u32 left, struct verify_insn *in);
u8 verify_division(u8 before, const struct verify_insn *in);
#define V_DIVIDED	0x80

/* The bytes of @try before its call of @dispatch, and those between that and its return. */
extern const u8 verify_try_begin[], verify_try_end[];
extern const u32 verify_try_begin_len, verify_try_end_len;

/* Is @code, 4 bytes, where indirect branches may land? */
bool verify_landing(const u8 *code);

#endif /* CONFINED_VERIFY_INSN_H */
