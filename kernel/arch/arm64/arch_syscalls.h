/* SPDX-License-Identifier: GPL-2.0 */
/*
 * syscall_entry_NAME() calls __arm64_sys_NAME() by a pointer that is written when the module is
 * loaded, and never later: the module may be too far from the kernel for a direct call, and arm64
 * has no retpolines.
 */
#ifndef SYSCRIPT_ARCH_SYSCALLS_H
#define SYSCRIPT_ARCH_SYSCALLS_H

#include "syscalls_nr.h"

typedef long syscall_entry_fn(const struct pt_regs *regs);

extern syscall_entry_fn *syscall_entries[];

#define ARCH_SYSCALL_ENTRY(name)						\
	static __always_inline long syscall_entry_##name(const struct pt_regs *regs)	\
	{									\
		return syscall_entries[SYSCALL_ENTRY_##name](regs);		\
	}

struct run;

/* Has arm64 no call with the number @nr, which a newer one replaces? */
static __always_inline bool arch_is_old_call(unsigned int nr)
{
	return nr >= SYSCALL_OLD_FIRST;
}

/* In old_calls.c: makes the newer call. */
long arch_old_call(struct run *run, long nr, const long *args);

/* For exports.c: no engine in another module makes calls here. */
#define ARCH_SYSCALL_EXPORT(name)

#endif /* SYSCRIPT_ARCH_SYSCALLS_H */
