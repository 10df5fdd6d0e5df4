/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room for the jumps of arch_syscalls.h, whose targets syscall_jump_table.c writes when the
 * module is loaded.  No SYM_FUNC_START(): it begins with an endbr64 where the kernel has IBT, and
 * these are called directly.
 */
#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>

#include "arch_syscalls.h"

	.text

SYM_START(syscall_entry_none, SYM_L_LOCAL, SYM_A_NONE)
	mov $-ENOSYS, %rax
	RET
SYM_FUNC_END(syscall_entry_none)

#define SYSCALL(name, kinds, flags)		\
	.balign SYSCALL_ENTRY_SIZE, 0xcc;		\
	SYM_START(syscall_entry_##name, SYM_L_GLOBAL, SYM_A_NONE);	\
	ANNOTATE_NOENDBR;			\
	jmp.d32 syscall_entry_none;			\
	SYM_FUNC_END(syscall_entry_##name);		\
	.set entries, entries + 1;

	.balign SYSCALL_ENTRY_SIZE, 0xcc
SYM_INNER_LABEL(entries_first, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	.set entries, 0
#include "syscalls.def"
	/* An assembly error if a jump is longer than its room. */
	.org entries_first + entries * SYSCALL_ENTRY_SIZE, 0xcc
