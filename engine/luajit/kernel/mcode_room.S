/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room for machine code: no file contents, but "ax", so that the module loader
 * maps the pages read-only and executable, near the VM.
 */
#include "mcode.h"

	.section .syscript.mcode, "ax", @nobits
	.balign 4096
	.globl syscript_mcode
syscript_mcode:
	.skip MCODE_PAGES * 4096

	.section .note.GNU-stack, "", @progbits
