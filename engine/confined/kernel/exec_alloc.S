/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The area for machine code of images: without contents in the file, but "ax", so that the module
 * loader maps it read-only and executable, near the stubs.
 */
#include "exec_alloc.h"

	.section .syscript.confined, "ax", @nobits
	.balign 4096
	.globl confined_room
confined_room:
	.skip EXEC_PAGES * 4096

	.section .note.GNU-stack, "", @progbits
