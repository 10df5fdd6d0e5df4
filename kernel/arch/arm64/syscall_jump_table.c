// SPDX-License-Identifier: GPL-2.0
/*
 * Implements syscall_jump_table.h: when the module is loaded, finds each system call's function by
 * the name that the kernel's own table has for its number. The table itself has a symbol only on
 * some kernels.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/version.h>

#include "syscall_jump_table.h"
#include "symbols.h"
#include "syscalls_nr.h"

syscall_entry_fn *syscall_entries[SYSCALL_ENTRY_COUNT] __ro_after_init;

long syscall_entry_call(unsigned int index, const struct pt_regs *regs)
{
	return syscall_entries[index](regs);
}

const u16 syscall_entry_numbers[] = {
#define SYSCALL(name, kinds, flags)	__NR_##name,
#include "syscalls.def"
};

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

/* Do the names lead to the functions? */
static bool __init calls_work(void)
{
	static const struct pt_regs none;
	pid_t parent;

	rcu_read_lock();
	parent = task_tgid_vnr(rcu_dereference(current->real_parent));
	rcu_read_unlock();
	return syscall_entry_getppid(&none) == parent;
}

int __init syscall_entry_init(void)
{
	unsigned int i;

	for (i = 0; i < SYSCALL_ENTRY_COUNT; i++)
		syscall_entries[i] = find_call(syscall_entry_numbers[i]);
	if (calls_work())
		return 0;
	pr_err("this kernel's system calls cannot be made from here\n");
	return -ENOENT;
}
