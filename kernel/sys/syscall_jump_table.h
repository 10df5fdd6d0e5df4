/* SPDX-License-Identifier: GPL-2.0 */
/*
 * syscall_entry_NAME() for each system call of syscalls.def: calls the kernel's function without
 * the work of the system call entry. arch/ has the way from there to the function.
 */
#ifndef SYSCRIPT_SYSCALL_JUMP_TABLE_H
#define SYSCRIPT_SYSCALL_JUMP_TABLE_H

#include <linux/init.h>
#include <linux/linkage.h>
#include <linux/types.h>

struct pt_regs;

/* Indexes of system calls: line numbers of syscalls.def. */
enum {
#define SYSCALL(name, kinds, flags)	SYSCALL_ENTRY_##name,
#include "syscalls.def"
	SYSCALL_ENTRY_COUNT
};

#include "arch_syscalls.h"

/* May sleep, except those with SC_FAST. -ENOSYS if the kernel does not have the call. */
#define SYSCALL(name, kinds, flags)	ARCH_SYSCALL_ENTRY(name)
#include "syscalls.def"

/* Numbers of system calls. */
extern const u16 syscall_entry_numbers[];

/* Makes the call with @index. */
long syscall_entry_call(unsigned int index, const struct pt_regs *regs);

/* 0; -ENOMEM; or -ENOENT if the kernel's functions are not found as expected. */
int __init arch_syscalls_init(void);

#endif /* SYSCRIPT_SYSCALL_JUMP_TABLE_H */
