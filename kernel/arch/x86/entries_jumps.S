/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room for the jumps of entries.h, whose targets entries.c writes when the module is loaded.  No
 * SYM_FUNC_START(): it begins with an endbr64 where the kernel has IBT, and these are called
 * directly.
 */
#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>

#define ENTRIES_ASM
#include "entries.h"

	.text

SYM_START(entries_none, SYM_L_LOCAL, SYM_A_NONE)
	mov $-ENOSYS, %rax
	RET
SYM_FUNC_END(entries_none)

#define SYSCALL(name, kinds, flags)		\
	.balign ENTRIES_SIZE, 0xcc;		\
	SYM_START(entries_##name, SYM_L_GLOBAL, SYM_A_NONE);	\
	ANNOTATE_NOENDBR;			\
	jmp.d32 entries_none;			\
	SYM_FUNC_END(entries_##name);		\
	.set entries, entries + 1;

	.balign ENTRIES_SIZE, 0xcc
SYM_INNER_LABEL(entries_first, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	.set entries, 0
#include "syscalls.def"
	/* An assembly error if a jump is longer than its room. */
	.org entries_first + entries * ENTRIES_SIZE, 0xcc
