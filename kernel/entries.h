/* SPDX-License-Identifier: GPL-2.0 */
/*
 * entries_NAME() for each system call of syscalls.def: calls the kernel's function without the
 * work of the system call entry.
 *
 * Each is a direct jump to __x64_sys_NAME(). x64_sys_call() would reach it by a binary search,
 * and a pointer by a retpoline, or by a fault on kernels with IBT, which seal functions that they
 * only call directly.
 */
#ifndef SYSCRIPT_ENTRIES_H
#define SYSCRIPT_ENTRIES_H

#define ENTRIES_SIZE	8

#ifndef ENTRIES_ASM

#include <linux/init.h>
#include <linux/linkage.h>
#include <linux/types.h>

struct pt_regs;

/* May sleep, except those with SC_FAST. -ENOSYS if the kernel does not have the call. */
#define SYSCALL(name, kinds, flags)	\
	asmlinkage long entries_##name(const struct pt_regs *regs);
#include "syscalls.def"

/* Indexes of system calls: line numbers of syscalls.def. */
enum {
#define SYSCALL(name, kinds, flags)	ENTRIES_##name,
#include "syscalls.def"
	ENTRIES_COUNT
};

/* Numbers of system calls. */
extern const u16 entries_numbers[];

/* Makes the call with @index. */
long entries_call(unsigned int index, const struct pt_regs *regs);

/* 0; -ENOMEM; or -ENOENT, after a message, if the kernel's table is not as expected. */
int __init entries_init(void);

#endif
#endif /* SYSCRIPT_ENTRIES_H */
