// SPDX-License-Identifier: GPL-2.0
/*
 * System calls on behalf of a script.
 *
 * They are made through x64_sys_call(), the function that the system call
 * entry itself uses: one symbol to find, whatever the number of calls, and
 * numbers that a kernel does not know are its own business (-ENOSYS).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "syscalls.h"
#include "syscalls_nr.h"

#include <asm/ptrace.h>
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>

#define SYSCALL(name, kinds, flags)				\
	[__NR_##name] = BUILD_BUG_ON_ZERO(sizeof(kinds) > 7),
static const char kinds_fit[] __maybe_unused = {
#include "syscalls.def"
};

#define SYSCALL(name, kinds, flags) { __NR_##name, flags },
const struct syscall_entry syscalls_entries[] = {
#include "syscalls.def"
};

const unsigned int syscalls_count = ARRAY_SIZE(syscalls_entries);

static long no_entry(const struct pt_regs *regs, unsigned int nr)
{
	return -ENODEV;
}

/*
 * A static call and no pointer: kernels with IBT seal x64_sys_call(), which
 * they only call directly, against being called through one.
 */
DEFINE_STATIC_CALL(syscalls_entry, no_entry);

/* Tasks inside a script's ioctl(2), for syscalls_nested(). */
struct ioctl_caller {
	struct list_head node;
	struct task_struct *task;
};

static LIST_HEAD(ioctl_callers);
static DEFINE_SPINLOCK(ioctl_callers_lock);
static atomic_t ioctl_callers_count = ATOMIC_INIT(0);

static long call_ioctl(const struct pt_regs *regs, unsigned int nr)
{
	struct ioctl_caller caller = { .task = current };
	long ret;

	atomic_inc(&ioctl_callers_count);
	spin_lock(&ioctl_callers_lock);
	list_add(&caller.node, &ioctl_callers);
	spin_unlock(&ioctl_callers_lock);

	ret = static_call(syscalls_entry)(regs, nr);

	spin_lock(&ioctl_callers_lock);
	list_del(&caller.node);
	spin_unlock(&ioctl_callers_lock);
	atomic_dec(&ioctl_callers_count);
	return ret;
}

bool syscalls_nested(void)
{
	struct ioctl_caller *caller;
	bool nested = false;

	/* A task sees its own increment: no barrier is needed. */
	if (likely(!atomic_read(&ioctl_callers_count)))
		return false;

	spin_lock(&ioctl_callers_lock);
	list_for_each_entry(caller, &ioctl_callers, node)
		if (caller->task == current)
			nested = true;
	spin_unlock(&ioctl_callers_lock);
	return nested;
}

static long call_entry(const struct pt_regs *regs,
		       const struct syscall_entry *entry)
{
	if (unlikely(entry->flags & SC_IOCTL))
		return call_ioctl(regs, entry->nr);
	return static_call(syscalls_entry)(regs, entry->nr);
}

/*
 * An earlier call of this run (ppoll, epoll_pwait, ...) was interrupted while
 * it had replaced the signal mask.  The signal is handled under that mask and
 * the saved one comes back at the return to user space, so a second such call
 * must not save the replacement over it.
 */
static long call_masked(const struct pt_regs *regs,
			const struct syscall_entry *entry)
{
	sigset_t saved = current->saved_sigmask;
	long ret;

	ret = call_entry(regs, entry);
	if (signal_pending(current)) {
		current->saved_sigmask = saved;
		set_restore_sigmask();
	} else {
		/* The script took the signal itself (signalfd, ...). */
		clear_restore_sigmask();
		sigprocmask(SIG_SETMASK, &saved, NULL);
	}
	return ret;
}

int syscalls_call(unsigned int index, const long *args, long *ret)
{
	const struct syscall_entry *entry;
	struct syscalls_frame frame;
	/* Entries read their arguments, so the rest stays unset. */
	struct pt_regs regs __uninitialized;

	if (unlikely(!syscalls_enter(&frame)))
		return -EOPNOTSUPP;
	if (unlikely(index >= syscalls_count)) {
		*ret = -EINVAL;
		return 0;
	}
	entry = &syscalls_entries[array_index_nospec(index, syscalls_count)];
	syscalls_regs(&regs, entry, args);

	if (unlikely(test_restore_sigmask()))
		*ret = call_masked(&regs, entry);
	else
		*ret = call_entry(&regs, entry);
	*ret = syscalls_leave(&frame, *ret);
	return 0;
}

long syscalls_plain(unsigned int nr, long a, long b, long c, long d)
{
	const struct syscalls_frame frame = { .mark = deferred_mark() };
	const struct syscall_entry entry = { .nr = nr };
	const long args[6] = { a, b, c, d };
	struct pt_regs regs __uninitialized;

	syscalls_regs(&regs, &entry, args);
	return syscalls_leave(&frame, static_call(syscalls_entry)(&regs, nr));
}

int syscalls_init(void)
{
	/* The symbol is not exported; a probe that is never armed finds it. */
	struct kprobe probe = {
		.symbol_name = "x64_sys_call",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int ret;

	ret = deferred_init();
	if (ret)
		return ret;
	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("no x64_sys_call() in this kernel (%d): use 6.9 or later, or the newest 6.1 or 6.6\n",
		       ret);
		return -ENOENT;
	}
	/* Past an endbr64 if there is one, which is as good for a direct call. */
	static_call_update(syscalls_entry, (void *)probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

void syscalls_exit(void)
{
	static_call_update(syscalls_entry, no_entry);
}
