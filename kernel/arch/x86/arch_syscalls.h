/* SPDX-License-Identifier: GPL-2.0 */
/*
 * syscall_entry_NAME() is a direct jump to __x64_sys_NAME(), in text that is written when the
 * module is loaded. x64_sys_call() would reach the function by a binary search, and a pointer by a
 * retpoline, or by a fault on kernels with IBT, which seal functions that they only call directly.
 */
#ifndef SYSCRIPT_ARCH_SYSCALLS_H
#define SYSCRIPT_ARCH_SYSCALLS_H

#define SYSCALL_ENTRY_SIZE	8

#define ARCH_SYSCALL_ENTRY(name)	\
	asmlinkage long syscall_entry_##name(const struct pt_regs *regs);

#ifndef __ASSEMBLY__
struct run;

/* Calls that newer architectures lack are made as they are. */
static __always_inline bool arch_is_old_call(unsigned int nr)
{
	return false;
}

static inline long arch_old_call(struct run *run, long nr, const long *args)
{
	return -ENOSYS;
}
#endif

/* For exports.c. */
#define ARCH_SYSCALL_EXPORT(name)	EXPORT(syscall_entry_##name);

#endif /* SYSCRIPT_ARCH_SYSCALLS_H */
