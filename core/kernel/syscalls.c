// SPDX-License-Identifier: GPL-2.0
/*
 * Makes system calls for a script.  A call may lead back to a script (by ioctl(2) or lseek(2) on
 * its descriptor), replace the signal mask, or ask to be restarted; each would go wrong within a
 * run, and is handled here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "run.h"
#include "syscalls.h"
#include "syscalls_nr.h"

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/spinlock.h>

#define SYSCALL(name, kinds, flags)				\
	[__NR_##name] = BUILD_BUG_ON_ZERO(sizeof(kinds) > 7),
static const char kinds_fit[] __maybe_unused = {
#include "syscalls.def"
};

#define SYSCALL(name, kinds, flags) sizeof(kinds) - 1,
static const u8 arg_counts[] = {
#include "syscalls.def"
};

#define SYSCALL(name, kinds, flags) flags,
static const u8 call_flags[] = {
#include "syscalls.def"
};

const u16 syscall_entry_numbers[] = {
#define SYSCALL(name, kinds, flags)	__NR_##name,
#include "syscalls.def"
};

/*
 * Tasks inside a script's call that can lead back to one, for syscalls_nested().  It looks for
 * its own task only: hashed lists stay short, however many tasks sleep in such calls.
 */
struct caller {
	struct hlist_node node;
	struct task_struct *task;
};

#define CALLERS_BITS	8

static struct callers {
	spinlock_t lock;
	struct hlist_head list;
} callers[1 << CALLERS_BITS] = {
	[0 ... (1 << CALLERS_BITS) - 1].lock = __SPIN_LOCK_UNLOCKED(callers.lock),
};
atomic_t syscalls_callers = ATOMIC_INIT(0);

static struct callers *callers_like(const struct task_struct *task)
{
	return &callers[hash_ptr(task, CALLERS_BITS)];
}

static long call_nesting(unsigned int index, const struct pt_regs *regs)
{
	struct caller caller = { .task = current };
	struct callers *like = callers_like(current);
	long ret;

	atomic_inc(&syscalls_callers);
	spin_lock(&like->lock);
	hlist_add_head(&caller.node, &like->list);
	spin_unlock(&like->lock);

	ret = syscall_entry_call(index, regs);

	spin_lock(&like->lock);
	hlist_del(&caller.node);
	spin_unlock(&like->lock);
	atomic_dec(&syscalls_callers);
	return ret;
}

bool __syscalls_nested(void)
{
	struct callers *like = callers_like(current);
	struct caller *caller;
	bool nested = false;

	spin_lock(&like->lock);
	hlist_for_each_entry(caller, &like->list, node)
		if (caller->task == current)
			nested = true;
	spin_unlock(&like->lock);
	return nested;
}

static long call_entry(unsigned int index, const struct pt_regs *regs)
{
	if (unlikely(syscalls_may_nest(call_flags[index], regs)))
		return call_nesting(index, regs);
	return syscall_entry_call(index, regs);
}

/*
 * An earlier call of this run (ppoll, epoll_pwait, ...) was interrupted while
 * it had replaced the signal mask.  The signal is handled under that mask and
 * the saved one comes back at the return to user space, so a second such call
 * must not save the replacement over it.
 */
static long call_masked(unsigned int index, const struct pt_regs *regs)
{
	sigset_t saved = current->saved_sigmask;
	long ret;

	ret = call_entry(index, regs);
	if (signal_pending(current)) {
		current->saved_sigmask = saved;
		set_restore_sigmask();
	} else {
		/* The script has taken the signal itself (signalfd, ...). */
		clear_restore_sigmask();
		sigprocmask(SIG_SETMASK, &saved, NULL);
	}
	return ret;
}

static long call_now(unsigned int index, const struct pt_regs *regs)
{
	if (unlikely(test_restore_sigmask()))
		return call_masked(index, regs);
	return call_entry(index, regs);
}

static void syscalls_describe(struct observers_call *call, unsigned int index,
			      const struct pt_regs *regs)
{
	observers_describe(call, syscall_entry_numbers[index], arg_counts[index], regs);
}

/* Returns 0, or the error that the run has to end with. @asked: the result of observers_enter(). */
static int call_if_allowed(struct observers_call *call, int asked, unsigned int index,
			   const struct pt_regs *regs, long *ret)
{
	if (asked < 0)
		return asked;
	if (!asked)
		call->ret = call_now(index, regs);
	else if (call_flags[index] & SC_INT)
		call->ret = (int)call->ret;
	observers_leave(call);
	*ret = call->ret;
	return 0;
}

static noinline int call_watched(unsigned int index, const struct pt_regs *regs, long *ret)
{
	struct observers_call call;

	syscalls_describe(&call, index, regs);
	return call_if_allowed(&call, observers_enter(&call), index, regs, ret);
}

int syscalls_call_answered(unsigned int index, const struct pt_regs *regs, long answer,
			   long *ret)
{
	struct observers_call call;
	int err;

	syscalls_describe(&call, index, regs);
	err = call_if_allowed(&call, observers_answered(&call, answer), index, regs, ret);
	*ret = syscalls_result(*ret);
	return err;
}

int syscalls_call(unsigned int index, const struct pt_regs *regs, long *ret)
{
	int err = 0;

	if (unlikely(observers_watch()))
		err = call_watched(index, regs, ret);
	else
		*ret = call_now(index, regs);
	*ret = syscalls_result(*ret);
	return err;
}

long syscalls_plain_watched(struct run *run, unsigned int index, const struct pt_regs *regs)
{
	long ret = 0;
	int err = call_watched(index, regs, &ret);

	if (err)
		run_stop(run, err);
	return err ? err : ret;
}

/* -- Loading ----------------------------------------------------------------------- */

/* Do the entries lead to the kernel's functions? */
static bool __init entries_work(void)
{
	static const struct pt_regs none;
	pid_t parent;

	rcu_read_lock();
	parent = task_tgid_vnr(rcu_dereference(current->real_parent));
	rcu_read_unlock();
	return syscall_entry_getppid(&none) == parent;
}

int __init syscalls_init(void)
{
	int err = arch_syscalls_init();

	if (!err && !entries_work())
		err = -ENOENT;
	if (err == -ENOENT)
		pr_err("this kernel's system calls cannot be made from here\n");
	return err;
}
