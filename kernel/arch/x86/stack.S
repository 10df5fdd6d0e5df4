/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Switches between the task's stack and an engine's own.
 *
 * Compiled for run.c, for the library, and with STACK_ATOMIC once more for LuaJIT's engine in the
 * kernel.  The usual callees are called directly, to avoid retpolines.
 */
#ifdef __KERNEL__
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#define CALL_RAX	CALL_NOSPEC rax
#define START(name)	SYM_FUNC_START(name)
#define END(name)	SYM_FUNC_END(name)
#define RETURN		RET
#define NO_FRAME(name)	STACK_FRAME_NON_STANDARD name
#else
#define CALL_RAX	call *%rax
#define START(name)	.globl name; .hidden name; .type name, @function; name: endbr64
#define END(name)	.size name, . - name
#define RETURN		ret
#define NO_FRAME(name)
	.section .note.GNU-stack,"",@progbits
#endif

.macro SAVE_CALLEE_SAVED
	push %rbp
	mov %rsp, %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
.endm

.macro RESTORE_CALLEE_SAVED
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
.endm

#ifdef STACK_ATOMIC
#define STACK_ON	atomic_stack_on
#define STACK_OFF	atomic_stack_off
#define STACK_SLEEPABLE	atomic_sleepable
#else
#define STACK_ON	stack_on
#define STACK_OFF	stack_off
#define STACK_SLEEPABLE	run_sleepable
#endif

	.text

/*
 * long stack_on(long (*fn)(void *), void *arg, void *top, void **home)
 *
 * Calls fn(arg) on the stack that ends at @top, and stores the old stack pointer in *home, for
 * stack_off() and stack_abandon().
 */
START(STACK_ON)
	SAVE_CALLEE_SAVED
	mov %rsp, (%rcx)
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
#ifdef STACK_ATOMIC
	lea vm_run(%rip), %rcx	/* the usual callee: a direct call saves a retpoline */
	cmp %rcx, %rax
	jne 1f
	call vm_run
	jmp 2f
#endif
1:	CALL_RAX
2:
	lea -40(%rbp), %rsp
.Lhome:
	RESTORE_CALLEE_SAVED
	RETURN
END(STACK_ON)

/*
 * long stack_off(long (*fn)(void *), void *arg, void *home)
 *
 * Calls fn(arg) on the stack that stack_on() came from, and returns.  In
 * the kernel @fn is always STACK_SLEEPABLE().
 */
START(STACK_OFF)
	push %rbp
	mov %rsp, %rbp
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
	and $-16, %rsp
#ifdef __KERNEL__
	call STACK_SLEEPABLE	/* the only callee: a direct call saves a retpoline */
#else
	CALL_RAX
#endif
	mov %rbp, %rsp
	pop %rbp
	RETURN
END(STACK_OFF)

#ifndef STACK_ATOMIC
/*
 * void stack_abandon(long ret, void *home)
 *
 * Makes the stack_on() that stored @home return @ret now, whatever runs on its stack.
 */
START(stack_abandon)
	mov %rdi, %rax
	mov %rsi, %rsp
	jmp .Lhome
END(stack_abandon)
NO_FRAME(stack_abandon)
#endif
