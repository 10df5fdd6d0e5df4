/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Switches between the thread's stack and a program's own; for x86-64: kernel/arch/x86/stack.S. */
	.section .note.GNU-stack, "", %progbits
	.text

.macro START name
	.globl \name
	.hidden \name
	.type \name, %function
	.balign 4
\name:	hint #34	/* bti c */
.endm

/*
 * long stack_on(long (*fn)(void *), void *arg, void *top, void **home)
 *
 * Calls fn(arg) on the stack that ends at @top, a multiple of 16, and stores the old stack pointer
 * in *home, for stack_abandon().
 */
START stack_on
	stp x29, x30, [sp, #-160]!
	mov x29, sp
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	str x29, [x3]
	mov x4, x0
	mov x0, x1
	mov sp, x2
	blr x4
	mov sp, x29
.Lhome:
	ldp d14, d15, [sp, #144]
	ldp d12, d13, [sp, #128]
	ldp d10, d11, [sp, #112]
	ldp d8, d9, [sp, #96]
	ldp x27, x28, [sp, #80]
	ldp x25, x26, [sp, #64]
	ldp x23, x24, [sp, #48]
	ldp x21, x22, [sp, #32]
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #160
	ret
	.size stack_on, . - stack_on

/*
 * void stack_abandon(long ret, void *home)
 *
 * Makes the stack_on() that stored @home return @ret now, whatever runs on its stack.
 */
START stack_abandon
	mov sp, x1
	b .Lhome
	.size stack_abandon, . - stack_abandon
