/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry points for instrumented code. Arguments are in r8 to r11, which the caller does not
 * preserve; all other registers are preserved.
 *
 *   r11  the site		r10  the pointer whose object is meant (rare checks only)
 *   r9   the address	r8   the length of what is accessed
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/percpu.h>
#include <asm/page_types.h>

#include "check.h"
#include "compat.h"
#include "site.h"

#define HI(site)	(8 * KGCC_SITE_HI)(site)
#define HITS(site)	(8 * KGCC_SITE_COUNT)(site)

	.text

/* \slot: the cache entry of \pointer on this CPU */
.macro FIND_SLOT pointer, slot
	imulq	$KGCC_SLOT_FACTOR, \pointer, \slot
	shrq	$(KGCC_SLOT_LOW - KGCC_SLOT_SHIFT), \slot
	andq	$(((1 << KGCC_SLOT_BITS) - 1) << KGCC_SLOT_SHIFT), \slot
	addq	PER_CPU_VAR(kgcc_kept), \slot
	cmpq	KGCC_KEPT_POINTER(\slot), \pointer
.endm

/* Jumps to \slow unless \length bytes from r9 on are within the object of \slot. */
.macro CHECK_BOUNDS length, slot, temp, slow
	movq	%r9, \temp
	subq	KGCC_KEPT_START(\slot), \temp
	addq	\length, \temp
	jc	\slow
	cmpq	KGCC_KEPT_SIZE(\slot), \temp
	ja	\slow
.endm

/*
 * Is the entry still valid? Changes \temp. A witness on a stack that is gone, or in unmapped
 * memory, makes it invalid.
 */
.macro READ_WITNESS slot, temp, slow
	movq	KGCC_KEPT_WITNESS(\slot), \temp
.Lread\@:
	movq	(\temp), \temp
	_ASM_EXTABLE(.Lread\@, \slow)
	cmpq	KGCC_KEPT_VALUE(\slot), \temp
	jne	\slow
.endm

/* Jumps to \label while \key is on: hits are counted or timed. */
.macro COUNT label, key=kgcc_counting
.Lat\@:	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	.pushsection __jump_table, "aw"
	.balign 8
	.long	.Lat\@ - ., \label - .
	.quad	\key - .
	.popsection
.endm

/* No ENDBR: these are only called directly. */
.macro ENTRY_OF name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	ANNOTATE_NOENDBR
.endm

.macro END_OF name
	.size	\name, . - \name
.endm

/*
 * Checks return the object's bytes from the pointer on in r9; 0: unknown. The pointer may be in any
 * register without another argument, so there is an entry for each.
 */

/* Checks the bytes up to the site's HI, from the pointer on. */
.macro FIELD pointer
ENTRY_OF kgcc_field_\pointer
	FIND_SLOT %\pointer, %r8
	jne	.Lslow\@
	movq	KGCC_KEPT_ROOM(%r8), %r9
	cmpq	HI(%r11), %r9
	jb	.Lslow\@
	READ_WITNESS %r8, %r10, .Lslow\@
	RET
.Lslow\@:
	movq	%\pointer, %r10
	movq	%\pointer, %r9
	movq	HI(%r11), %r8
	jmp	slow
END_OF kgcc_field_\pointer
.endm

/* Checks HI bytes from an address in r9 that was computed from the pointer. */
.macro RANGE pointer
ENTRY_OF kgcc_range_\pointer
	FIND_SLOT %\pointer, %r8
	jne	.Lslow\@
	CHECK_BOUNDS HI(%r11), %r8, %r10, .Lslow\@
	READ_WITNESS %r8, %r10, .Lslow\@
	movq	KGCC_KEPT_ROOM(%r8), %r9
	RET
.Lslow\@:
	movq	%\pointer, %r10
	movq	HI(%r11), %r8
	jmp	slow
END_OF kgcc_range_\pointer
.endm

/* Like RANGE, with a length in r8. */
.macro LENGTH pointer
ENTRY_OF kgcc_length_\pointer
	FIND_SLOT %\pointer, %r10
	jne	.Lother\@
	pushq	%rcx
	CHECK_BOUNDS %r8, %r10, %rcx, .Lslow\@
	READ_WITNESS %r10, %rcx, .Lslow\@
	movq	KGCC_KEPT_ROOM(%r10), %r9
	popq	%rcx
	RET
.Lslow\@:
	popq	%rcx
.Lother\@:
	movq	%\pointer, %r10
	jmp	slow
END_OF kgcc_length_\pointer
.endm

.irp pointer, rax, rbx, rcx, rdx, rsi, rdi, rbp, r12, r13, r14, r15
	FIELD	\pointer
	RANGE	\pointer
	LENGTH	\pointer
.endr

.macro SAVE
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
.endm

.macro RESTORE
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
.endm

/* Counts an execution of the site; preserves all registers. */
SYM_FUNC_START_LOCAL(counted)
	incl	HITS(%r11)
	COUNT	.Ltime, kgcc_timing
	RET
.Ltime:
	SAVE
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	movq	%r11, %rdi
	call	kgcc_profile_hit
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	RESTORE
	RET
SYM_FUNC_END(counted)

/* Not cached, or out of bounds: r9 = kgcc_check(site, pointer, address, length, sp). */
SYM_FUNC_START_LOCAL(slow)
	SAVE
	movq	%r11, %rdi
	movq	%r10, %rsi
	movq	%r9, %rdx
	movq	%r8, %rcx
	leaq	40(%rsp), %r8
	COUNT	.Lcount_slow
	call	kgcc_check
.Lchecked:
	movq	%rax, %r9
	RESTORE
	RET
.Lcount_slow:
	call	kgcc_check_counted
	jmp	.Lchecked
SYM_FUNC_END(slow)

/* Calls \function(site, word, return address). */
.macro REPORT function
	SAVE
	movq	%r11, %rdi
	movq	%r10, %rsi
	movq	40(%rsp), %rdx
	call	\function
	RESTORE
	RET
.endm

/* An access outside a variable. */
ENTRY_OF kgcc_outside
	REPORT kgcc_check_outside
END_OF kgcc_outside

/* A rule's check failed. */
ENTRY_OF kgcc_rule
	REPORT kgcc_check_rule
END_OF kgcc_rule

/*
 * Links the record in r10 into the task's list, if it lies on the task's stack: interrupts have
 * other stacks. Its "alive" number encodes the positions of the locals relative to the record, so
 * if the function is entered again at the same place, cached lookups are valid again. The
 * function's arguments come last; they may move if the function aligns its stack.
 */
ENTRY_OF kgcc_enter
	COUNT	.Lcount_enter
.Lenter:
	movq	PER_CPU_VAR(KGCC_CURRENT), %r9
	movq	kgcc_task_stack(%r9), %r9
	movq	%r10, %r8
	subq	%r9, %r8
	cmpq	$THREAD_SIZE, %r8
	jae	1f
	movq	8(%r9), %r8
	movq	%r8, (%r10)
	movq	%r10, 8(%r9)
	movq	16(%r10), %r8
	movq	24(%r10), %r9
	movq	24(%r10, %r9, 8), %r9
	subq	%r10, %r9
	shlq	$32, %r9
	xorq	%r9, %r8
	movq	%r8, 8(%r10)
1:	RET
.Lcount_enter:
	call	counted
	jmp	.Lenter
END_OF kgcc_enter

/* And out of it. */
ENTRY_OF kgcc_leave
	movq	PER_CPU_VAR(KGCC_CURRENT), %r9
	movq	kgcc_task_stack(%r9), %r9
	movq	(%r10), %r8
	movq	%r8, 8(%r9)
	movq	$0, 8(%r10)
	RET
END_OF kgcc_leave
