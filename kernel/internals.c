// SPDX-License-Identifier: GPL-2.0
/* See internals.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <asm/unistd.h>

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

/* -- Deferred releases --------------------------------------------------------- */

task_work_func_t internals_release_file __ro_after_init;

/* Releases a file and sees what gets queued. */
static int __init find_release_file(void)
{
	struct file *file = filp_open("/", O_PATH, 0);
	const struct callback_head *work;

	if (IS_ERR(file))
		return PTR_ERR(file);
	fput(file);
	raw_spin_lock_irq(&current->pi_lock);
	for (work = READ_ONCE(current->task_works); work; work = work->next)
		if ((void *)work >= (void *)file && (void *)work < (void *)(file + 1))
			internals_release_file = work->func;
	raw_spin_unlock_irq(&current->pi_lock);
	return internals_release_file ? 0 : missing("releases files");
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

int __init internals_init(void)
{
	int err = find_syscalls();

	find_task_time();
	if (!err)
		err = find_release_file();
	return err ? err : find_load_fpu();
}
