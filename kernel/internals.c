// SPDX-License-Identifier: GPL-2.0
/* See internals.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/unistd.h>

#include "compat.h"
#include "fpu.h"
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

/* -- FPU registers ------------------------------------------------------------- */

static void no_load(void)
{
}

DEFINE_STATIC_CALL(internals_load_fpu, no_load);

static void __init look_at_fpu(struct fpu_regs *regs)
{
	fpu_lock(false);
	fpu_take(regs);
	fpu_restore(regs);
	fpu_unlock(false);
}

/* Do registers that the kernel takes for its own use come back? */
static bool __init fpu_comes_back(void)
{
	struct fpu_regs before = { 0 }, others, after = { 0 };
	bool taken;

	look_at_fpu(&before);
	memcpy(&others, &before, sizeof(others));
	memset(others.xmm, ~before.xmm[0][0], sizeof(others.xmm));
	kernel_fpu_begin();
	fpu_restore(&others);
	kernel_fpu_end();
	taken = test_thread_flag(TIF_NEED_FPU_LOAD);
	look_at_fpu(&after);
	return taken && !test_thread_flag(TIF_NEED_FPU_LOAD) &&
	       !memcmp(&before, &after, sizeof(before));
}

static int __init find_load_fpu(void)
{
	void *load = symbols_find("switch_fpu_return");

	if (load)
		static_call_update(internals_load_fpu, load);
	return load && fpu_comes_back() ? 0 : missing("loads FPU registers");
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
	return find_syscalls() ?: find_load_fpu();
}
