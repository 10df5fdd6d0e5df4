/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Registers of A64 in generated code:
 *
 *   x6 x0 to x4       r0 to r5
 *   x19 to x22        r6 to r9: a function that writes one saves it
 *   w23               the frame's beginning, in bytes from the arena's start; always less than
 *                     the arena's size
 *   x24               the arena's address; constant between calls of stubs
 *   x25               struct machine
 *   x26               machine.fuel, which stubs store before they call C, and load afterwards
 *   x27               the frame's address, or that of an earlier frame: always in the arena
 *   x28               the stack of return addresses and saved registers, downwards
 *   x30               the return address, until a function pushes it
 *   x10 to x13        addresses in the arena, on a straight line: never values
 *   x9 x16 x17        masked addresses, and constants; scratch within one instruction. x9 also
 *                     holds addresses of the kernel, within sequences of verify_arm64.c
 *
 * The processor's stack pointer stays on the thread's own stack, because Linux takes bit 14 of it
 * for an overflow.
 */
#ifndef CONFINED_ARM64_REGISTERS_H
#define CONFINED_ARM64_REGISTERS_H

enum {
	X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15,
	X16, X17, X18, X19, X20, X21, X22, X23, X24, X25, X26, X27, X28, X29, X30, XZR,
};

/*
 * For the verifier: the frame, struct machine, and what stubs report: the number of an instruction
 * and, confined_fault_access, an address.
 */
#define V_FRAME		X23
#define V_FRAME_PLACE	X27
#define V_MACHINE	X25
#define V_PC		X17
#define V_ADDRESS	X16
#define V_PLACES	(V_BIT(X10) | V_BIT(X11) | V_BIT(X12) | V_BIT(X13))
#define V_SCRATCH	(V_BIT(X9) | V_REPORTED)
#define V_REPORTED	(V_BIT(V_ADDRESS) | V_BIT(V_PC))
/* No instruction may write other registers, or read them as values. */
#define V_PROGRAM	(0x1fU | V_BIT(X6) | V_BIT(X19) | V_BIT(X20) | V_BIT(X21) | V_BIT(X22))
#define V_SECRET	(~(V_PROGRAM | V_SCRATCH | V_BIT(V_FRAME)))

/* bti c, on which indirect branches must land. */
#define V_LANDING	0x5f, 0x24, 0x03, 0xd5
#define V_LANDING_NAME	"bti c"

typedef u32 verify_set;

/* Instructions begin at multiples of this. */
#define V_INSN_ALIGN	4
/* Has operations on two registers with the result in a third? */
#define JIT_THREE_OPERANDS true
/* Registers that keep addresses in the arena. */
#define JIT_PLACES	4
/* Words on the stack that a routine pushes before it may call: its return address. */
#define V_LINKED	1
/* Words on the stack by which thunks get a sixth argument: it is in a register. */
#define V_SIXTH		0
/* The most bytes of IMAGE_CALL_TRY's routine, and of each step of a lookup by number. */
#define JIT_ROUTINE	128
/* Direct calls reach this far. */
#define JIT_REACH	(128UL << 20)

#endif /* CONFINED_ARM64_REGISTERS_H */
