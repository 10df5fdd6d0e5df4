/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Registers of x86-64 in generated code:
 *
 *   rax rdi rsi rdx rcx r8   r0 to r5; the sixth argument of a system call is r0
 *   rbx r13 r14 r15          r6 to r9: a function that writes one saves it
 *   rbp                      the frame's beginning, in bytes from the arena's start; always less
 *                            than the arena's size
 *   r12                      the arena's address; constant between calls of stubs
 *   r9                       struct machine
 *   r10 r11                  masked addresses; scratch within one instruction
 */
#ifndef CONFINED_X86_REGISTERS_H
#define CONFINED_X86_REGISTERS_H

enum {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
	R8, R9, R10, R11, R12, R13, R14, R15,
};

/*
 * For the verifier: the frame, struct machine, and what stubs report: the number of an instruction
 * and, confined_fault_access, an address.
 */
#define V_FRAME		RBP
#define V_MACHINE	R9
#define V_PC		R11
#define V_ADDRESS	R10
#define V_SCRATCH	(V_BIT(R10) | V_BIT(R11))
#define V_REPORTED	V_SCRATCH
/* No instruction may write these, or read them as values. */
#define V_SECRET	(V_BIT(RSP) | V_BIT(V_MACHINE) | V_BIT(R12))

/* endbr64, on which indirect branches must land. */
#define V_LANDING	0xf3, 0x0f, 0x1e, 0xfa
#define V_LANDING_NAME	"endbr64"

typedef u16 verify_set;

/* Instructions begin at multiples of this. */
#define V_INSN_ALIGN	1
/* Has operations on two registers with the result in a third? */
#define JIT_THREE_OPERANDS false
/* Registers that keep addresses in the arena: none is needed. */
#define JIT_PLACES	0
#define V_PLACES	0
/* Words on the stack that a routine pushes before it may call: calls push return addresses. */
#define V_LINKED	0
/* Words on the stack by which thunks get a sixth argument: above it is machine.run's register. */
#define V_SIXTH		2
/* The most bytes of IMAGE_CALL_TRY's routine, and of each step of a lookup by number. */
#define JIT_ROUTINE	64
/* Direct calls reach this far. */
#define JIT_REACH	(2UL << 30)

#endif /* CONFINED_X86_REGISTERS_H */
