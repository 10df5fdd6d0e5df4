/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's macros for stubs.S: symbols, registers that C functions preserve (the kernel's code
 * has no FPU registers), and the mitigation of Spectre-BHB.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/assembler.h>
#include <asm/cpucaps.h>

.macro START name
	.globl \name
	.type \name, %function
	.balign 4
\name:
	hint #34	/* bti c */
.endm

.macro STUB name
	.globl \name
	.type \name, %function
	.balign 4
\name:
.endm

/* The frame pointer, x29, is then sp. */
.macro SAVE_ALL
	stp x29, x30, [sp, #-96]!
	mov x29, sp
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
.endm

.macro RESTORE_ALL
	ldp x27, x28, [sp, #80]
	ldp x25, x26, [sp, #64]
	ldp x23, x24, [sp, #48]
	ldp x21, x22, [sp, #32]
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #96
.endm

/*
 * Clears the branch history, as the kernel does at its entry: by an instruction, or else by as many
 * branches as machine.history says. Changes x9 and the flags.
 */
.macro BARRIER
alternative_if ARM64_SPECTRE_BHB
	hint #22	/* clearbhb */
	ldr w9, [x25, #MACHINE_AT_HISTORY]
	cbz w9, . + 16
	b . + 4
	subs w9, w9, #1
	b.ne . - 8
	dsb nsh
	isb
alternative_else_nop_endif
.endm
