/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room for the machine code of images: no file contents, but "ax", so that the
 * module loader maps the pages read-only and executable, near the stubs.
 */
#include "room.h"

	.section .syscript.confined, "ax", @nobits
	.balign 4096
	.globl confined_room
confined_room:
	.skip ROOM_PAGES * 4096

	.section .note.GNU-stack, "", @progbits
