// SPDX-License-Identifier: GPL-2.0
/* See internals.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <asm/unistd.h>

#include "compat.h"
#include "internals.h"
#include "symbols.h"

#define ENDBR_SIZE	4

static int __init missing(const char *what)
{
	pr_err("this kernel %s in a way that is not known here\n", what);
	return -ENOENT;
}

/* -- System calls -------------------------------------------------------------- */

const sys_call_ptr_t *internals_syscalls __initdata;

static int __init find_syscalls(void)
{
	const sys_call_ptr_t *table = symbols_find("sys_call_table");
	unsigned long getppid = (unsigned long)symbols_find("__x64_sys_getppid");
	unsigned long entry = table ? (unsigned long)table[__NR_getppid] : 0;

	if (!getppid || (entry != getppid && entry != getppid - ENDBR_SIZE))
		return missing("keeps its system calls");
	internals_syscalls = table;
	return 0;
}

/* -- A task's time ------------------------------------------------------------- */

static u64 accounted_time(struct task_struct *task)
{
	return READ_ONCE(task->se.sum_exec_runtime);
}

DEFINE_STATIC_CALL(internals_task_time, accounted_time);

/* Without it time is known to a second on CPUs that have no tick. */
static void __init find_task_time(void)
{
	void *found = symbols_find("task_sched_runtime");

	if (found)
		static_call_update(internals_task_time, found);
}

/* -- Files that are opened ------------------------------------------------------ */

static struct file *open_copied(struct filename *name, int flags, umode_t mode)
{
	return filp_open(name->name, flags, mode);
}

DEFINE_STATIC_CALL(internals_open_name, open_copied);

/* It saves the copy of the name. */
static void __init find_open_name(void)
{
	void *found = COMPAT_PLAIN_FILENAME ? symbols_find("file_open_name") : NULL;

	if (found)
		static_call_update(internals_open_name, found);
}

int __init internals_init(void)
{
	find_task_time();
	find_open_name();
	return find_syscalls();
}
