/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Calls between C and generated code, whose registers are in registers.h.
 *
 * Generated code may have trained the branch predictors against kernel code that runs next. So
 * each exit from it, for a call or at the end, clears the branch history (BARRIER), and where
 * returns were skipped, overwrites the return predictions (STUFF).
 */
#include "../../machine.h"

#ifdef __KERNEL__
#include "stubs.h"
#else
#define START(name)	.globl name; .hidden name; .type name, @function; name: endbr64
#define START_ANY	START
#define STUB(name)	.globl name; .hidden name; .type name, @function; name:
#define FUNCTION_END(name)	.size name, . - name
#define STUB_END(name)	.size name, . - name
#define RETURN		ret; int3
#define CALL_RAX	call *%rax
#define JUMP_BEYOND	notrack jmp *MACHINE_AT_BEYOND(%r9)
#define INTRA_CALL
#define BARRIER
	.section .note.GNU-stack, "", @progbits
#endif

/* The next 32 returns are predicted to go to a harmless loop. */
.macro STUFF counter
	mov $16, \counter
771:	INTRA_CALL
	call 772f
	int3
772:	INTRA_CALL
	call 773f
	int3
773:	add $16, %rsp
	dec \counter
	jnz 771b
	lfence
.endm

	.text

/*
 * long confined_enter(void *machine)
 *
 * Calls function 0 of the image.  Returns 0.
 */
START_ANY(confined_enter)
	push %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rdi, %r9
	mov MACHINE_AT_ENTRY(%r9), %rax
	mov %rsp, MACHINE_AT_HOME(%r9)
	mov %rsp, %rdx
	sub MACHINE_AT_NATIVE_SIZE(%r9), %rdx
	mov %rdx, MACHINE_AT_NATIVE(%r9)
	mov MACHINE_AT_BASE(%r9), %r12
	mov MACHINE_AT_FRAME(%r9), %ebp
	mov MACHINE_AT_ARGS(%r9), %rdi
	mov 8 + MACHINE_AT_ARGS(%r9), %rsi
	mov 16 + MACHINE_AT_ARGS(%r9), %rdx
	mov 24 + MACHINE_AT_ARGS(%r9), %rcx
	mov 32 + MACHINE_AT_ARGS(%r9), %r8
	xor %ebx, %ebx
	xor %r13d, %r13d
	xor %r14d, %r14d
	xor %r15d, %r15d
	CALL_RAX
	mov %rax, MACHINE_AT_VALUE(%r9)
	BARRIER
.Lhome:
	mov MACHINE_AT_HOME(%r9), %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	xor %eax, %eax
	RETURN
FUNCTION_END(confined_enter)

#ifdef __KERNEL__
/*
 * s64 syscript_ctx_run(struct syscript_percpu_ctx *ctx), in rsi
 *
 * As confined_enter(), for a machine in the state that machine_begin() makes and successful runs
 * leave behind; frees the context at the end.  Called by syscript_ctx_run_here(), which expects no
 * register to be preserved.
 */
START(syscript_ctx_run)
	lea PERCPU_CTX_AT_MACHINE(%rsi), %r9
	mov MACHINE_AT_BUDGET(%r9), %rax
	mov %rax, MACHINE_AT_FUEL(%r9)
	mov MACHINE_AT_ENTRY(%r9), %rax
	mov %rsp, MACHINE_AT_HOME(%r9)
	mov %rsp, %rdx
	sub MACHINE_AT_NATIVE_SIZE(%r9), %rdx
	mov %rdx, MACHINE_AT_NATIVE(%r9)
	mov MACHINE_AT_BASE(%r9), %r12
	mov MACHINE_AT_FRAME(%r9), %ebp
	mov MACHINE_AT_ARGS(%r9), %rdi
	xor %esi, %esi
	xor %edx, %edx
	xor %ecx, %ecx
	xor %r8d, %r8d
	xor %ebx, %ebx
	xor %r13d, %r13d
	xor %r14d, %r14d
	xor %r15d, %r15d
	CALL_RAX
	BARRIER_RAX
.Lseat_home:
	movq $0, PERCPU_CTX_AT_EVENT - PERCPU_CTX_AT_MACHINE(%r9)
	RETURN
FUNCTION_END(syscript_ctx_run)
#endif

/*
 * Ends a run from any depth; only r9 must be valid. syscript_ctx_run() then returns S64_MIN.
 */
STUB(confined_leave)
.Lleave:
	BARRIER
	STUFF %ecx
#ifdef __KERNEL__
	cmpb $0, MACHINE_AT_ATOMIC(%r9)
	je .Lhome
	mov MACHINE_AT_HOME(%r9), %rsp
	mov $1, %eax
	shl $63, %rax
	jmp .Lseat_home
#else
	jmp .Lhome
#endif

.Lfault:
	mov %r11d, MACHINE_AT_PC(%r9)
	jmp .Lleave
STUB_END(confined_leave)

/* void confined_stop(struct machine *machine): confined_leave for C. */
START(confined_stop)
	mov %rdi, %r9
	movl $MACHINE_STOP, MACHINE_AT_END(%r9)
	jmp .Lleave
FUNCTION_END(confined_stop)

/*
 * Generated code jumps to or calls these stubs with the instruction's number in r11.  They do not
 * return.
 */
STUB(confined_fault_function)
	movl $MACHINE_FUNCTION, MACHINE_AT_END(%r9)
	jmp .Lfault
STUB_END(confined_fault_function)

/*
 * r10: a number outside of the image's table; r11: the instruction's number.  Preserves all
 * registers.
 */
STUB(confined_beyond)
	JUMP_BEYOND
STUB_END(confined_beyond)

/* r10: the address */
STUB(confined_fault_access)
	movl $MACHINE_ACCESS, MACHINE_AT_END(%r9)
	mov %r10, MACHINE_AT_VALUE(%r9)
	jmp .Lfault
STUB_END(confined_fault_access)

STUB(confined_abort)
	movl $MACHINE_ABORT, MACHINE_AT_END(%r9)
	mov %rdi, MACHINE_AT_VALUE(%r9)
	jmp .Lfault
STUB_END(confined_abort)

/* r1: the thrown value.  Pops what IMAGE_CALL_TRY has pushed. */
STUB(confined_throw)
.Lthrow:
	mov MACHINE_AT_TRY(%r9), %rax
	test %rax, %rax
	jz 1f
	mov %rax, %rsp
	STUFF %eax
	mov %rdi, %rax
	pop MACHINE_AT_TRY(%r9)
	pop %r15
	pop %r14
	pop %r13
	pop %rbx
	pop %rbp
	RETURN
1:	movl $MACHINE_THROW, MACHINE_AT_END(%r9)
	mov %rdi, MACHINE_AT_VALUE(%r9)
	jmp .Lfault
STUB_END(confined_throw)

/* Calls a C function; aligns the stack in a process. */
.macro TO_C function
#ifdef __KERNEL__
	push %r9
	call \function
	pop %r9
#else
	push %rbx
	push %r9
	mov %rsp, %rbx
	and $-16, %rsp
	call \function
	mov %rbx, %rsp
	pop %r9
	pop %rbx
#endif
.endm

/* Calls @function(r9, @second), preserving all of the program's registers except r10 and r11. */
.macro TO_C_KEEPING function second
	push %rax
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %r8
	BARRIER
	mov %r9, %rdi
	.ifnb \second
	mov \second, %esi
	.endif
	TO_C \function
	pop %r8
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	pop %rax
.endm

/*
 * Fuel has run out. r11: the instruction's number.  Preserves all registers except r10.  If
 * nothing needs attention, no C code is called, and the branch history need not be cleared,
 * because all branches up to the image's next instruction are direct.
 */
STUB(confined_poll)
	mov MACHINE_AT_FLAGS(%r9), %r10
	mov (%r10), %r10
	test %r10, MACHINE_AT_RARE(%r9)
	jnz 1f
	mov MACHINE_AT_CLOCK(%r9), %r10
	mov (%r10), %r10
	cmp %r10, MACHINE_AT_SEEN(%r9)
	jne 1f
	movq $MACHINE_FUEL, MACHINE_AT_FUEL(%r9)
	RETURN
1:	mov %r11d, MACHINE_AT_PC(%r9)
	TO_C_KEEPING machine_poll
	cmpl $MACHINE_DONE, MACHINE_AT_END(%r9)
	jne 2f
	RETURN
2:	cmpl $MACHINE_CATCH, MACHINE_AT_END(%r9)
	jne .Lleave
	movl $MACHINE_DONE, MACHINE_AT_END(%r9)
	mov $-1, %rdi		/* IMAGE_STOPPED */
	jmp .Lthrow
STUB_END(confined_poll)

/*
 * No room for the frame at ebp, or for a return address. r11: the instruction's number. Preserves
 * all registers except r10, and r12: the arena may have a new address. Returns only if there is
 * room for return addresses, even if the frame still does not fit.
 */
STUB(confined_fault_stack)
	lea 8(%rsp), %r10
	cmp MACHINE_AT_NATIVE(%r9), %r10
	jae 1f
	movl $MACHINE_STACK, MACHINE_AT_END(%r9)
	jmp .Lfault
1:	mov %r11d, MACHINE_AT_PC(%r9)
	TO_C_KEEPING machine_stack, %ebp
	mov MACHINE_AT_BASE(%r9), %r12
	cmpl $MACHINE_DONE, MACHINE_AT_END(%r9)
	jne .Lleave
	RETURN
STUB_END(confined_fault_stack)

/* Return for generated code where the kernel returns by a thunk: jumps to the kernel's thunk. */
STUB(confined_return)
	RETURN
STUB_END(confined_return)

#ifdef __KERNEL__
/*
 * BARRIER on processors that need a loop: enough taken branches to displace all earlier ones from
 * the history, as many as in the kernel's own loop.
 */
.macro CLEAR_HISTORY
	mov $5, %ecx
771:	mov $5, %eax
772:	jmp 773f
	nop
773:	sub $1, %eax
	jnz 772b
	sub $1, %ecx
	jnz 771b
	lfence
.endm

START(confined_clear_history)
	CLEAR_HISTORY
	RETURN
FUNCTION_END(confined_clear_history)

/* CLEAR_HISTORY, preserving rax. */
START(confined_clear_history_rax)
	mov %rax, %rdx
	CLEAR_HISTORY
	mov %rdx, %rax
	RETURN
FUNCTION_END(confined_clear_history_rax)
#endif

/* BARRIER, preserving all registers except r10 and r11. */
STUB(confined_barrier)
	push %rax
	push %rcx
	BARRIER
	pop %rcx
	pop %rax
	RETURN
STUB_END(confined_barrier)

/* r10: insn.imm; r11: the instruction's number. Returns only r0; r12 may change as above. */
STUB(confined_thunk)
	mov %r11d, MACHINE_AT_PC(%r9)
	push %rax
	push %r8
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	BARRIER
	mov %rsp, %rdi
	mov %r9, %rsi
	mov %r10d, %edx
	TO_C machine_call
	add $48, %rsp
	mov MACHINE_AT_BASE(%r9), %r12
	xor %edi, %edi
	xor %esi, %esi
	xor %edx, %edx
	xor %ecx, %ecx
	xor %r8d, %r8d
	cmpl $MACHINE_DONE, MACHINE_AT_END(%r9)
	jne .Lleave
	RETURN
STUB_END(confined_thunk)
