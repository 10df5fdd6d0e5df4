/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's system calls, entries_NAME() for those of syscalls.def: the functions that
 * its entry for the processor calls, and nothing around them.
 *
 * Each is a jump to __x64_sys_NAME(), so that it is called directly: x64_sys_call()
 * compares its way to the same function, and a pointer would be a retpoline, and a
 * fault on kernels with IBT, which have sealed what they only call directly.
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

/* Their numbers. */
extern const u16 entries_numbers[];

/* Makes the call with @index. */
long entries_call(unsigned int index, const struct pt_regs *regs);

/* 0; -ENOMEM; or -ENOENT, after a message, if the kernel's table is not as expected. */
int __init entries_init(void);

#endif
#endif /* SYSCRIPT_ENTRIES_H */
