// SPDX-License-Identifier: GPL-2.0
/*
 * Implements syscall_jump_table.h: when the module is loaded, finds each system call's function by
 * the name that the kernel's own table has for its number. The table itself has a symbol only on
 * some kernels.
 */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/version.h>

#include "syscall_jump_table.h"
#include "symbols.h"
#include "syscalls_nr.h"

syscall_entry_fn *syscall_entries[SYSCALL_ENTRY_COUNT] __ro_after_init;

long syscall_entry_call(unsigned int index, const struct pt_regs *regs)
{
	return syscall_entries[index](regs);
}

/* The functions' names by the numbers of system calls, from the header of the kernel's table. */
#undef __SYSCALL
#undef __SYSCALL_WITH_COMPAT
#define __SYSCALL_WITH_COMPAT(nr, sym, compat)	__SYSCALL(nr, sym)
#define __SYSCALL(nr, sym)	[nr] = "__arm64_" #sym,
static const char *const names[] __initconst = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#include <asm/syscall_table_64.h>
#else
#include <asm/unistd.h>
#endif
};

static long no_call(const struct pt_regs *regs)
{
	return -ENOSYS;
}

static syscall_entry_fn *__init find_call(unsigned int nr)
{
	void *found = NULL;

	if (nr < ARRAY_SIZE(names) && names[nr])
		found = symbols_find(names[nr]);
	return found ?: no_call;
}

int __init arch_syscalls_init(void)
{
	unsigned int i;

	for (i = 0; i < SYSCALL_ENTRY_COUNT; i++)
		syscall_entries[i] = find_call(syscall_entry_numbers[i]);
	return 0;
}
