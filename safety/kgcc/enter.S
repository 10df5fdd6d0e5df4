/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What instrumented code calls.  Arguments come in r8 to r11, which the caller does
 * not keep; all other registers are as they were.
 *
 *   r11  the site		r10  the pointer whose object counts, of checks that are rare
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

/* \slot: what is kept for \pointer on this CPU */
.macro FIND_SLOT pointer, slot
	imulq	$KGCC_SLOT_FACTOR, \pointer, \slot
	shrq	$(KGCC_SLOT_LOW - KGCC_SLOT_SHIFT), \slot
	andq	$(((1 << KGCC_SLOT_BITS) - 1) << KGCC_SLOT_SHIFT), \slot
	addq	PER_CPU_VAR(kgcc_kept), \slot
	cmpq	KGCC_KEPT_POINTER(\slot), \pointer
.endm

/* \length bytes from r9 on, in the object of \slot: or jumps to \slow. */
.macro CHECK_BOUNDS length, slot, temp, slow
	movq	%r9, \temp
	subq	KGCC_KEPT_START(\slot), \temp
	addq	\length, \temp
	jc	\slow
	cmpq	KGCC_KEPT_SIZE(\slot), \temp
	ja	\slow
.endm

/*
 * Is it still true?  Changes \temp.  The witness may be of a stack that is gone, or of
 * memory that is mapped no more: then it is not.
 */
.macro READ_WITNESS slot, temp, slow
	movq	KGCC_KEPT_WITNESS(\slot), \temp
.Lread\@:
	movq	(\temp), \temp
	_ASM_EXTABLE(.Lread\@, \slow)
	cmpq	KGCC_KEPT_VALUE(\slot), \temp
	jne	\slow
.endm

/* A jump while \key is on: hits are counted, or timed. */
.macro COUNT label, key=kgcc_counting
.Lat\@:	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	.pushsection __jump_table, "aw"
	.balign 8
	.long	.Lat\@ - ., \label - .
	.quad	\key - .
	.popsection
.endm

/* No ENDBR: there are only direct calls of these. */
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
 * Checks leave the object's bytes from the pointer on in r9; 0: not known.  The pointer is
 * in any register that none of the arguments is in: each has its own entries.
 */

/* Bytes up to the site's HI, from the pointer on. */
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

/* HI bytes from an address in r9 that was computed from the pointer. */
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

/* The same, of a length in r8. */
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

/* An execution of the site, which changes no register. */
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

/* Not kept, or not within: r9 = kgcc_check(site, pointer, address, length, sp). */
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

/* The site and one word: \function(site, word, return address). */
.macro REPORT function
	SAVE
	movq	%r11, %rdi
	movq	%r10, %rsi
	movq	40(%rsp), %rdx
	call	\function
	RESTORE
	RET
.endm

/* An access outside of a variable. */
ENTRY_OF kgcc_outside
	REPORT kgcc_check_outside
END_OF kgcc_outside

/* A rule's check that does not hold. */
ENTRY_OF kgcc_rule
	REPORT kgcc_check_rule
END_OF kgcc_rule

/*
 * The record in r10 is put into the list of the task's stack, if it lies on that:
 * interrupts have stacks of their own.  It is alive by a number that says where which
 * locals lie, seen from the record: if the function is entered there again, what was
 * looked up before is valid again.  A function's arguments may lie elsewhere, if it aligns
 * its stack, and come last.
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
