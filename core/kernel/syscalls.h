/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making the system calls of syscalls.def from inside the kernel, for the
 * current task.  See docs/design/system-call-table.md for what was checked.
 */
#ifndef SYSCRIPT_SYSCALLS_H
#define SYSCRIPT_SYSCALLS_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/thread_info.h>

#include "syscall_jump_table.h"
#include "../../include/uapi/syscript.h"
#include "usermode.h"
#include "syscall_observers.h"

struct run;

/* Defines SC_*. */
#include "syscalls.def"

/* 0, -ENOMEM, or -ENOENT after a message. */
int __init syscalls_init(void);

/*
 * Makes call @index (the line in syscalls.def, counting SYSCALL() only) with the arguments in
 * @regs.  Returns 0 with the call's own result in @ret, where -ERESTART* has become -EINTR; or,
 * without having made the call, the error that the run has to end with: see syscall_observers.h.
 *
 * May sleep, unless the entry has SC_FAST.
 */
int syscalls_call(unsigned int index, const struct pt_regs *regs, long *ret);

/* As syscalls_call(), after filters_ask() has returned @answer. */
int syscalls_call_answered(unsigned int index, const struct pt_regs *regs, long answer,
			   long *ret);

/*
 * The call's result for a script: -ERESTART* becomes -EINTR, because only the return to user mode
 * could restart a call.
 */
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
 * True if the current task is inside a script's call that can lead back to a script.
 * Requests to the device and to scripts are then refused with -EDEADLK.
 */
bool __syscalls_nested(void);

extern atomic_t syscalls_callers;

static inline bool syscalls_nested(void)
{
	/* A task sees its own increment: no barrier is needed. */
	return unlikely(atomic_read(&syscalls_callers)) && __syscalls_nested();
}

/* Can this call lead back to a script?  See SC_IOCTL, SC_SEEK. */
static __always_inline bool syscalls_may_nest(unsigned int flags, const struct pt_regs *regs)
{
	return flags & SC_IOCTL ||
	       (flags & SC_SEEK && (unsigned int)regs_arg(regs, 2) == SYSCRIPT_SEEK_CALL);
}

/* For syscalls_plain(): makes call @index of a watched task. */
long syscalls_plain_watched(struct run *run, unsigned int index,
			    const struct pt_regs *regs);

static __always_inline long __syscalls_again(struct run *run, unsigned int index,
					     long (*entry)(const struct pt_regs *regs),
					     const struct pt_regs *regs)
{
	long ret = unlikely(observers_watch()) ? syscalls_plain_watched(run, index, regs) :
						entry(regs);

	usermode_works();
	return syscalls_result(ret);
}

static __always_inline long __syscalls_plain(struct run *run, unsigned int index,
					     long (*entry)(const struct pt_regs *regs),
					     long a, long b, long c, long d)
{
	const struct pt_regs regs = REGS_ARGS(a, b, c, d, 0, 0);

	return __syscalls_again(run, index, entry, &regs);
}

/*
 * Makes the call @name as a part of a batch.  May sleep.  Returns its result, with -EINTR for
 * -ERESTART*; a run that observers end is stopped.
 */
#define syscalls_plain(run, name, a, b, c, d)	\
	__syscalls_plain(run, SYSCALL_ENTRY_##name, syscall_entry_##name, a, b, c, d)

/* As syscalls_plain(), for a repeated call whose arguments are in @regs. */
#define syscalls_again(run, name, regs)	\
	__syscalls_again(run, SYSCALL_ENTRY_##name, syscall_entry_##name, regs)

#endif /* SYSCRIPT_SYSCALLS_H */
