/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Macros for functions in assembly that leave the thread's stack or its registers: they save all
 * registers that C functions preserve, because nothing else does until they are back. The kernel's
 * C code has no FPU registers.
 */
#ifdef __KERNEL__
#define FRAME_SIZE	96
#define PRIVATE(name)
#else
#define FRAME_SIZE	160
#define PRIVATE(name)	.hidden name
#endif

/* Reached by direct calls and jumps only. */
.macro STUB name
	.globl \name
	PRIVATE(\name)
	.type \name, %function
	.balign 4
\name:
.endm

/* May be called by address. */
.macro START name
	STUB \name
	hint #34	/* bti c */
.endm

/* The frame pointer, x29, is then sp. */
.macro SAVE_ALL
	stp x29, x30, [sp, #-FRAME_SIZE]!
	mov x29, sp
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
#ifndef __KERNEL__
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
#endif
.endm

.macro RESTORE_ALL
#ifndef __KERNEL__
	ldp d14, d15, [sp, #144]
	ldp d12, d13, [sp, #128]
	ldp d10, d11, [sp, #112]
	ldp d8, d9, [sp, #96]
#endif
	ldp x27, x28, [sp, #80]
	ldp x25, x26, [sp, #64]
	ldp x23, x24, [sp, #48]
	ldp x21, x22, [sp, #32]
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #FRAME_SIZE
.endm
