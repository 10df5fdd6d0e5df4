/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's mitigation of Spectre-BHB, for stubs.S. */
#include <asm/alternative.h>
#include <asm/assembler.h>
#include <asm/cpucaps.h>

/*
 * Clears the branch history, as the kernel does at its entry: by an instruction, or else by as many
 * branches as confined_history says. Changes x9 and the flags.
 */
.macro BARRIER
alternative_if ARM64_SPECTRE_BHB
	hint #22	/* clearbhb */
	adrp x9, confined_history
	ldr w9, [x9, #:lo12:confined_history]
	cbz w9, . + 16
	b . + 4
	subs w9, w9, #1
	b.ne . - 8
	dsb nsh
	isb
alternative_else_nop_endif
.endm
