/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between the task's stack and an engine's own.
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

	.text

/*
 * long stack_on(long (*fn)(void *), void *arg, void *top, void **home)
 *
 * Calls fn(arg) on the stack that ends at @top; *home is the way back, for
 * stack_off() and stack_abandon().
 */
START(stack_on)
	SAVE_CALLEE_SAVED
	mov %rsp, (%rcx)
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
#ifdef __KERNEL__
	lea vm_run(%rip), %rcx	/* mostly: saves a retpoline */
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
END(stack_on)

/*
 * long stack_off(long (*fn)(void *), void *arg, void *home)
 *
 * Calls fn(arg) on the stack that stack_on() came from, and returns.  In
 * the kernel @fn is always run_sleepable().
 */
START(stack_off)
	push %rbp
	mov %rsp, %rbp
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
	and $-16, %rsp
#ifdef __KERNEL__
	call run_sleepable	/* what else: saves a retpoline */
#else
	CALL_RAX
#endif
	mov %rbp, %rsp
	pop %rbp
	RETURN
END(stack_off)

/*
 * void stack_abandon(long ret, void *home)
 *
 * Makes stack_on() return @ret now, whatever runs on its stack.
 */
START(stack_abandon)
	mov %rdi, %rax
	mov %rsi, %rsp
	jmp .Lhome
END(stack_abandon)
NO_FRAME(stack_abandon)
