/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Switches between the thread's stack and a program's own; for x86-64: kernel/arch/x86/stack.S. */
#include "../../../arch/arm64/frame.S"

	.section .note.GNU-stack, "", %progbits
	.text

/*
 * long stack_on(long (*fn)(void *), void *arg, void *top, void **home)
 *
 * Calls fn(arg) on the stack that ends at @top, a multiple of 16, and stores the old stack pointer
 * in *home, for stack_abandon().
 */
START stack_on
	SAVE_ALL
	str x29, [x3]
	mov x4, x0
	mov x0, x1
	mov sp, x2
	blr x4
	mov sp, x29
.Lhome:
	RESTORE_ALL
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
