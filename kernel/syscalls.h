/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making the system calls of syscalls.def from inside the kernel, for the
 * current task.  See docs/design/system-call-table.md for what was checked.
 */
#ifndef SYSCRIPT_SYSCALLS_H
#define SYSCRIPT_SYSCALLS_H

#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/thread_info.h>

#include "deferred.h"

/* Defines SC_*. */
#include "syscalls.def"

/* 0, or -ENOENT where the running kernel has no entry to call. */
int syscalls_init(void);
void syscalls_exit(void);

/*
 * Makes call @index (the line in syscalls.def, counting SYSCALL() only) with
 * as many of @args[6] as it takes.  Returns 0 with the call's own result in
 * @ret, where -ERESTART* has become -EINTR and an @index beyond the table is
 * -EINVAL, or -EOPNOTSUPP if the task is watched: then nothing was called.
 *
 * May sleep, unless the entry has SC_FAST.
 */
int syscalls_call(unsigned int index, const long *args, long *ret);

/* What a call returns: only the return to user space can restart one. */
static inline long syscalls_result(long ret)
{
	switch (ret) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return -EINTR;
	}
	return ret;
}

/*
 * The call with number @nr, whatever the table has; the current task has been
 * found not to be watched.  Sleeps.  Its result, with -EINTR for -ERESTART*.
 */
long syscalls_plain(unsigned int nr, long a, long b, long c, long d);

/*
 * True if the current task is inside an ioctl(2) that a script makes.  Requests
 * to the device and to scripts are then refused with -EDEADLK.
 */
bool syscalls_nested(void);

/*
 * True if someone would miss the system calls of the current task, because
 * they are not made through the system call entry.  Can become true at any
 * time: a seccomp filter can be installed on all threads of a process.
 */
static inline bool syscalls_watched(void)
{
	const unsigned long watchers = SYSCALL_WORK_SECCOMP |
				       SYSCALL_WORK_SYSCALL_TRACE |
				       SYSCALL_WORK_SYSCALL_EMU |
				       SYSCALL_WORK_SYSCALL_USER_DISPATCH;

	if (unlikely(READ_ONCE(current_thread_info()->syscall_work) & watchers))
		return true;
	/* A context stays as it was once auditing has been switched off. */
	return unlikely(!audit_dummy_context()) && audit_enabled;
}

/*
 * Around whatever stands for a system call and may sleep.  syscalls_enter() is
 * false for a watched task, which then has to be refused; syscalls_leave() gives
 * up the files that were let go of, and says what to return for @ret.
 */
struct syscalls_frame {
	const struct callback_head *mark;
};

static inline bool syscalls_enter(struct syscalls_frame *frame)
{
	frame->mark = deferred_mark();
	return likely(!syscalls_watched());
}

static inline long syscalls_leave(const struct syscalls_frame *frame, long ret)
{
	deferred_release(frame->mark);
	return syscalls_result(ret);
}

/*
 * The same for a call with SC_FAST: false, with nothing called, if it has not.
 * Here and inline because these calls are over in less time than a few
 * function returns take.
 */
struct syscall_entry {
	u16 nr;
	u16 flags;
};

/* Entries read their arguments and nothing else. */
static __always_inline void syscalls_regs(struct pt_regs *regs,
					  const struct syscall_entry *entry,
					  const long *args)
{
	regs->di = args[0];
	regs->si = args[1];
	regs->dx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
	regs->orig_ax = entry->nr;
}

extern const struct syscall_entry syscalls_entries[];
extern const unsigned int syscalls_count;

DECLARE_STATIC_CALL(syscalls_entry, long (const struct pt_regs *, unsigned int));

static __always_inline bool syscalls_call_fast(unsigned int index,
					       const long *args, long *ret)
{
	const struct syscall_entry *entry;
	struct pt_regs regs __uninitialized;

	if (index >= syscalls_count)
		return false;
	entry = &syscalls_entries[array_index_nospec(index, syscalls_count)];
	if (!(entry->flags & SC_FAST) || syscalls_watched())
		return false;
	syscalls_regs(&regs, entry, args);
	*ret = static_call(syscalls_entry)(&regs, entry->nr);
	return true;
}

#endif /* SYSCRIPT_SYSCALLS_H */
