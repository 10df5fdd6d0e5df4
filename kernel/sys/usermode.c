// SPDX-License-Identifier: GPL-2.0
/*
 * Implements usermode.h. xfer_to_guest_mode_handle_work() does all of the work in one call, and
 * is exported.  But before 6.18 it takes a vCPU, whose fields it reads when a signal comes, and
 * it does nothing else while a signal is pending.  So the functions that it calls are called
 * here, on all kernels.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/static_call.h>

#include "deferred_exit.h"
#include "symbols.h"
#include "syscall_jump_table.h"
#include "usermode.h"

static void usermode_nothing(void)
{
}

static void no_memory(gfp_t gfp)
{
}

DEFINE_STATIC_CALL(usermode_run, usermode_nothing);		/* task_work_run() */
DEFINE_STATIC_CALL(usermode_over_high, no_memory);	/* mem_cgroup_handle_over_high() */
DEFINE_STATIC_CALL(usermode_io, usermode_nothing);		/* blkcg_maybe_throttle_current() */

/* Kernel threads have no task works, and an exiting task has run its last. */
static bool may_work(void)
{
	return !deferred_exit_is_queued() && !test_thread_flag(TIF_NOTIFY_SIGNAL) &&
	       !(current->flags & (PF_KTHREAD | PF_EXITING));
}

void __usermode_works(void)
{
	if (likely(may_work()))
		static_call(usermode_run)();
}

long usermode_close(const struct pt_regs *regs)
{
	long ret = syscall_entry_close(regs);

	usermode_works();
	return ret;
}

void usermode_throttle(void)
{
	if (unlikely(current->flags & PF_KTHREAD))
		return;
#ifdef CONFIG_MEMCG
	if (unlikely(current->memcg_nr_pages_over_high))
		static_call(usermode_over_high)(GFP_KERNEL);
#endif
	static_call(usermode_io)();
}

static int __init usermode_missing(const char *what)
{
	pr_err("this kernel %s in a way that is not known here\n", what);
	return -ENOENT;
}

static int __init find_throttles(void)
{
	void *over_high = symbols_find("__mem_cgroup_handle_over_high") ?:
			  symbols_find("mem_cgroup_handle_over_high");
	void *io = symbols_find("blkcg_maybe_throttle_current");

	if (over_high)
		static_call_update(usermode_over_high, over_high);
	else if (IS_ENABLED(CONFIG_MEMCG))
		return usermode_missing("throttles memory");
	if (io)
		static_call_update(usermode_io, io);
	else if (IS_ENABLED(CONFIG_BLK_CGROUP))
		return usermode_missing("throttles storage");
	return 0;
}

int __init usermode_init(void)
{
	void *run = symbols_find("task_work_run");

	if (!run)
		return usermode_missing("does the work of tasks");
	static_call_update(usermode_run, run);
	if (USERMODE_UNKNOWN)
		pr_notice("this kernel may have work before a return to user mode that is not known here (thread flags %#lx): it ends runs\n",
			  (unsigned long)USERMODE_UNKNOWN);
	return find_throttles();
}
