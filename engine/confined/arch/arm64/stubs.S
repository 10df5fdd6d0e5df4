/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Calls between C and generated code, whose registers are in registers.h.
 *
 * Generated code has a stack of its own, addressed by x28, for return addresses and saved
 * registers; sp does not change in it. That stack is machine.native_top's, or part of the
 * thread's.
 *
 * Generated code may have trained the branch predictors against kernel code that runs next, so
 * each exit from it, for a call or at the end, clears the branch history (BARRIER).
 */
#include "../../machine.h"

#include "../../../../core/arch/arm64/frame.S"

#ifdef __KERNEL__
#include "stubs.h"
#else
.macro BARRIER
.endm

	.section .note.GNU-stack, "", %progbits
#endif

/* What leaf functions may use of the stack below machine.native: see validate_image.c. */
#define LEAVES	512

	.text

.macro STUB_END name
	.size \name, . - \name
.endm

/*
 * Unconditional jumps. A processor may run on behind one (straight-line speculation), there into a
 * stub with registers of another: so a barrier follows, which is never executed.
 */
.macro STOP
	dsb nsh
	isb
.endm

.macro RETURN
	ret
	STOP
.endm

.macro JUMP to
	b \to
	STOP
.endm

/* Gives generated code a part of the thread's stack. */
.macro STACK_HERE
	mov x28, sp
	ldr x9, [x25, #MACHINE_AT_NATIVE_SIZE]
	sub x9, x28, x9
	str x9, [x25, #MACHINE_AT_NATIVE]
	sub x9, x9, #LEAVES
	and sp, x9, #-16
.endm

/* Sets all registers of generated code but those of arguments and x26, and calls it. */
.macro ENTER
	ldr x24, [x25, #MACHINE_AT_BASE]
	ldr w23, [x25, #MACHINE_AT_FRAME]
	add x27, x24, w23, uxtw
	ldr x16, [x25, #MACHINE_AT_ENTRY]
	mov x6, xzr
	mov x19, xzr
	mov x20, xzr
	mov x21, xzr
	mov x22, xzr
	blr x16
.endm

/*
 * long confined_enter(void *machine)
 *
 * Calls function 0 of the image.  Returns 0.
 */
START confined_enter
	SAVE_ALL
	mov x25, x0
	str x29, [x25, #MACHINE_AT_HOME]
	ldr x28, [x25, #MACHINE_AT_NATIVE_TOP]
	cbz x28, 1f
	ldr x9, [x25, #MACHINE_AT_NATIVE_SIZE]
	sub x9, x28, x9
	str x9, [x25, #MACHINE_AT_NATIVE]
	JUMP 2f
1:	STACK_HERE
2:	ldr x26, [x25, #MACHINE_AT_FUEL]
	ldp x0, x1, [x25, #MACHINE_AT_ARGS]
	ldp x2, x3, [x25, #MACHINE_AT_ARGS + 16]
	ldr x4, [x25, #MACHINE_AT_ARGS + 32]
	ENTER
	str x6, [x25, #MACHINE_AT_VALUE]
	str x26, [x25, #MACHINE_AT_FUEL]
	BARRIER
.Lhome:
	ldr x9, [x25, #MACHINE_AT_HOME]
	mov sp, x9
	RESTORE_ALL
	mov x0, xzr
	RETURN
STUB_END confined_enter

#ifdef __KERNEL__
/*
 * s64 syscript_ctx_run(struct syscript_percpu_ctx *ctx)
 *
 * As confined_enter(), for a machine in the state that machine_begin() makes and successful runs
 * leave behind; frees the context at the end.
 */
START syscript_ctx_run
	SAVE_ALL
	add x25, x0, #PERCPU_CTX_AT_MACHINE
	str x29, [x25, #MACHINE_AT_HOME]
	STACK_HERE
	ldr x26, [x25, #MACHINE_AT_BUDGET]
	ldr x0, [x25, #MACHINE_AT_ARGS]
	mov x1, xzr
	mov x2, xzr
	mov x3, xzr
	mov x4, xzr
	ENTER
	BARRIER
	mov x0, x6
.Lctx_home:
	ldr x9, [x25, #MACHINE_AT_HOME]
	mov sp, x9
	str xzr, [x25, #(PERCPU_CTX_AT_EVENT - PERCPU_CTX_AT_MACHINE)]
	RESTORE_ALL
	RETURN
STUB_END syscript_ctx_run
#endif

/* Ends a run from any depth; only x25 must be valid. syscript_ctx_run() then returns S64_MIN. */
STUB confined_leave
.Lleave:
#ifdef __KERNEL__
	BARRIER
	ldrb w9, [x25, #MACHINE_AT_ATOMIC]
	cbz w9, .Lhome
	mov x0, #1 << 63
	JUMP .Lctx_home
#else
	JUMP .Lhome
#endif
STUB_END confined_leave

/* void confined_stop(struct machine *machine): confined_leave for C. */
START confined_stop
	mov x25, x0
	mov w9, #MACHINE_STOP
	str w9, [x25, #MACHINE_AT_END]
	JUMP .Lleave
STUB_END confined_stop

/*
 * Generated code jumps to or calls these stubs with the instruction's number in w17.  They do not
 * return.
 */
STUB confined_fault_function
	mov w9, #MACHINE_FUNCTION
.Lfault:
	str w9, [x25, #MACHINE_AT_END]
	str w17, [x25, #MACHINE_AT_PC]
	str x26, [x25, #MACHINE_AT_FUEL]
	JUMP .Lleave
STUB_END confined_fault_function

/*
 * x16: a number outside of the image's table; w17: the instruction's number.  Preserves all
 * registers except x9.
 */
STUB confined_beyond
	ldr x9, [x25, #MACHINE_AT_BEYOND]
	br x9
	STOP
STUB_END confined_beyond

/* x16: the address */
STUB confined_fault_access
	str x16, [x25, #MACHINE_AT_VALUE]
	mov w9, #MACHINE_ACCESS
	JUMP .Lfault
STUB_END confined_fault_access

STUB confined_abort
	str x0, [x25, #MACHINE_AT_VALUE]
	mov w9, #MACHINE_ABORT
	JUMP .Lfault
STUB_END confined_abort

/* r1: the thrown value.  Pops what IMAGE_CALL_TRY has pushed. */
STUB confined_throw
.Lthrow:
	ldr x16, [x25, #MACHINE_AT_TRY]
	cbz x16, 1f
	mov x28, x16
	mov x6, x0
	ldr x16, [x28], #8
	str x16, [x25, #MACHINE_AT_TRY]
	ldr x22, [x28], #8
	ldr x21, [x28], #8
	ldr x20, [x28], #8
	ldr x19, [x28], #8
	ldr x23, [x28], #8
	add x27, x24, w23, uxtw
	ldr x30, [x28], #8
	RETURN
1:	str x0, [x25, #MACHINE_AT_VALUE]
	mov w9, #MACHINE_THROW
	JUMP .Lfault
STUB_END confined_throw

/*
 * Before a call of C: stores what it may look at, and pushes the program's registers that it may
 * change, of which the first five are machine_call()'s arguments, and x30.
 */
.macro LEAVE_CODE
	str w17, [x25, #MACHINE_AT_PC]
	str x26, [x25, #MACHINE_AT_FUEL]
	stp x0, x1, [sp, #-64]!
	stp x2, x3, [sp, #16]
	stp x4, x6, [sp, #32]
	str x30, [sp, #48]
.endm

/* Calls @function(x25, @second), preserving all of the program's registers except scratch ones. */
.macro TO_C_KEEPING function second
	LEAVE_CODE
	BARRIER
	mov x0, x25
	.ifnb \second
	mov w1, \second
	.endif
	bl \function
	ldr x30, [sp, #48]
	ldp x4, x6, [sp, #32]
	ldp x2, x3, [sp, #16]
	ldp x0, x1, [sp], #64
	ldr x26, [x25, #MACHINE_AT_FUEL]
	ldr w16, [x25, #MACHINE_AT_END]
	cmp w16, #MACHINE_DONE	/* overwrites C's flags, which branches can read */
.endm

/* After C that may have moved the arena. x27 stays in it, whatever w23 is. */
.macro FOLLOW_ARENA
	sub x27, x27, x24
	ldr x24, [x25, #MACHINE_AT_BASE]
	add x27, x27, x24
.endm

/*
 * Fuel has run out. w17: the instruction's number.  Preserves all registers except scratch ones.
 * If nothing needs attention, no C code is called.
 */
STUB confined_poll
	ldr x16, [x25, #MACHINE_AT_FLAGS]
	ldr x9, [x25, #MACHINE_AT_RARE]
	ldr x16, [x16]
	tst x16, x9
	b.ne 1f
	ldr x16, [x25, #MACHINE_AT_CLOCK]
	ldr x9, [x25, #MACHINE_AT_SEEN]
	ldr x16, [x16]
	cmp x16, x9
	b.ne 1f
	mov x26, #MACHINE_FUEL
	RETURN
1:	TO_C_KEEPING machine_poll
	b.ne 2f
	RETURN
2:	cmp w16, #MACHINE_CATCH
	b.ne .Lleave
	str wzr, [x25, #MACHINE_AT_END]
	mov x0, #-1		/* IMAGE_STOPPED */
	JUMP .Lthrow
STUB_END confined_poll

/*
 * No room for the frame at w23, or for a return address. w17: the instruction's number. Preserves
 * all registers except scratch ones, x24 and x27: the arena may have a new address. Returns only if
 * there is room for return addresses, even if the frame still does not fit.
 */
STUB confined_fault_stack
	ldr x16, [x25, #MACHINE_AT_NATIVE]
	cmp x28, x16
	b.hs 1f
	mov w9, #MACHINE_STACK
	JUMP .Lfault
1:	TO_C_KEEPING machine_stack, w23
	FOLLOW_ARENA
	b.ne .Lleave
	RETURN
STUB_END confined_fault_stack

/* For kernels that need it. */
STUB confined_return
	RETURN
STUB_END confined_return

/* BARRIER, preserving all of the program's registers. */
STUB confined_barrier
	BARRIER
	RETURN
STUB_END confined_barrier

/*
 * w16: insn.imm; w17: the instruction's number. Returns only r0; x24 and x27 may change as above.
 */
STUB confined_thunk
	LEAVE_CODE
	BARRIER
	mov x0, sp
	mov x1, x25
	mov w2, w16
	bl machine_call
	mov x6, x0
	ldr x30, [sp, #48]
	add sp, sp, #64
	FOLLOW_ARENA
	ldr x26, [x25, #MACHINE_AT_FUEL]
	ldr w16, [x25, #MACHINE_AT_END]
	cbnz w16, .Lleave
	mov x0, xzr
	mov x1, xzr
	mov x2, xzr
	mov x3, xzr
	ands x4, xzr, xzr
	RETURN
STUB_END confined_thunk
