/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between the caller's stack and the VM's own.
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

	.text

/*
 * long vm_on_stack(long (*fn)(void *), void *arg, void *top, void **home)
 *
 * Calls fn(arg) on the stack that ends at @top; *home is the way back, for
 * vm_off_stack() and vm_escape().
 */
START(vm_on_stack)
	push %rbp
	mov %rsp, %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rcx)
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
	lea vm_run(%rip), %rcx	/* mostly: saves a retpoline */
	cmp %rcx, %rax
	jne 1f
	call vm_run
	jmp 2f
1:	CALL_RAX
2:
	lea -40(%rbp), %rsp
.Lhome:
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	RETURN
END(vm_on_stack)

/*
 * long vm_off_stack(long (*fn)(void *), void *arg, void *home)
 *
 * Calls fn(arg) on the stack that vm_on_stack() came from, and returns.  In
 * the kernel @fn is always engine_outside().
 */
START(vm_off_stack)
	push %rbp
	mov %rsp, %rbp
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsp
	and $-16, %rsp
#ifdef __KERNEL__
	call engine_outside	/* what else: saves a retpoline */
#else
	CALL_RAX
#endif
	mov %rbp, %rsp
	pop %rbp
	RETURN
END(vm_off_stack)

/*
 * void vm_escape(long ret, void *home)
 *
 * Makes vm_on_stack() return @ret now, whatever runs on its stack.
 */
START(vm_escape)
	mov %rdi, %rax
	mov %rsi, %rsp
	jmp .Lhome
END(vm_escape)
NO_FRAME(vm_escape)
