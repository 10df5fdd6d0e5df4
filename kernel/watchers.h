/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who watches a task's system calls sees those of its scripts: seccomp filters are
 * asked, tracepoints fire and audit records, as if each call had come from user mode.
 * Filters see its number and arguments, and the instruction pointer of the call that
 * runs the script.
 *
 * What needs the call to be the processor's own - ptrace's stops, a handler of SIGSYS
 * that makes the call from the registers, system call user dispatch - gets no less:
 * the run ends before the call, with -EOPNOTSUPP.
 */
#ifndef SYSCRIPT_WATCHERS_H
#define SYSCRIPT_WATCHERS_H

#include <linux/compiler.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <linux/types.h>

#include "audits.h"

struct run;

/* Always there: where a kernel lacks what is needed, tasks are refused instead. */
void watchers_init(void);
void watchers_exit(void);

#define WATCHERS_WORK	(SYSCALL_WORK_SECCOMP | SYSCALL_WORK_SYSCALL_TRACEPOINT |	\
			 SYSCALL_WORK_SYSCALL_TRACE | SYSCALL_WORK_SYSCALL_EMU |	\
			 SYSCALL_WORK_SYSCALL_USER_DISPATCH)

/*
 * Does anyone watch @task, which is current?  All that can change during a system
 * call: auditing by rules cannot, where audit_dummy_context() was true at its entry.
 */
static __always_inline bool watchers_watch_at_entry(const struct task_struct *task)
{
	/* READ_ONCE() would be an instruction more, at each call of a script. */
	return data_race(task_thread_info(task)->syscall_work) & WATCHERS_WORK;
}

/* Does anyone watch?  Can become true at any time: other threads install filters. */
static __always_inline bool watchers_watch(void)
{
	return unlikely(watchers_watch_at_entry(current)) || audits_ask();
}

/* 0; -EOPNOTSUPP if scripts of the current task cannot be run under its watchers. */
int __watchers_check(void);

static inline int watchers_check(void)
{
	return watchers_watch() ? __watchers_check() : 0;
}

/**
 * struct watchers_regs - what system calls' entry puts in the task's registers
 */
struct watchers_regs {
	unsigned long orig_ax, ax, args[6];
};

static __always_inline void watchers_get_args(const struct pt_regs *regs,
					      unsigned long *args)
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

static __always_inline void watchers_set_args(struct pt_regs *regs,
					      const unsigned long *args)
{
	regs->di = args[0];
	regs->si = args[1];
	regs->dx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

static __always_inline void watchers_save(struct watchers_regs *saved,
					  const struct pt_regs *regs)
{
	saved->orig_ax = regs->orig_ax;
	saved->ax = regs->ax;
	watchers_get_args(regs, saved->args);
}

static __always_inline void watchers_restore(const struct watchers_regs *saved,
					     struct pt_regs *regs)
{
	regs->orig_ax = saved->orig_ax;
	regs->ax = saved->ax;
	watchers_set_args(regs, saved->args);
}

/**
 * struct watchers_call - a system call for watchers to see
 * @nr:    its number
 * @args:  its arguments
 * @ret:   what it returned, or what is to be returned in its place
 * @saved: of the script's call, while the registers are the call's
 * @audit: context of the script's call, while the call has one of its own; else NULL
 */
struct watchers_call {
	unsigned int nr;
	long args[6];
	long ret;
	struct watchers_regs saved;
	struct audit_context *audit;
};

/*
 * Before the call.  0: it is to be made.  1: it is not, @ret stands for its result.
 * After both comes watchers_leave().  -EOPNOTSUPP, -ECANCELED: the run has to end,
 * with no other call.  May sleep.
 */
int watchers_enter(struct watchers_call *call);
/* After it, with its result in @ret. */
void watchers_leave(struct watchers_call *call);

/* -- Filters, for gates --------------------------------------------------------- */

/*
 * Is @task, which is current, watched by filters and no one else, so that its calls
 * may be shown to watchers_ask_filters() and be made?  A tracer or a blocked SIGSYS
 * needs watchers_enter().
 */
static __always_inline bool watchers_are_filters(const struct task_struct *task)
{
#ifdef CONFIG_SECCOMP_FILTER
	return (data_race(task_thread_info(task)->syscall_work) & WATCHERS_WORK) ==
		       SYSCALL_WORK_SECCOMP &&
	       data_race(task->seccomp.mode) == SECCOMP_MODE_FILTER &&
	       !data_race(task->ptrace) &&
	       !(data_race(task->pending.signal.sig[0]) & sigmask(SIGSYS));
#else
	return false;
#endif
}

/* One that no other can join: a filter that kills threads kills the process. */
static __always_inline bool watchers_is_alone(const struct task_struct *task)
{
	return atomic_read(&task->signal->live) == 1;
}

#define WATCHERS_NOT_ASKED	-2

/*
 * Asks about the call that is in the task's registers.  0: nothing is against it,
 * but for what has happened to the task meanwhile, if it has slept.  -1: else.
 * WATCHERS_NOT_ASKED: this kernel cannot.  The second is for a task with other
 * threads.  On its own stack; may sleep.
 */
long watchers_ask_filters(const struct pt_regs *unused);
long watchers_ask_filters_guarded(const struct pt_regs *unused);

/* In place of watchers_enter(): they have been asked, and that was the @answer. */
int watchers_answered(struct watchers_call *call, long answer);

/* -- Batches -------------------------------------------------------------------- */

/*
 * Both, for what a batch does in place of a system call.  0: do it, and then say
 * watchers_done().  Else an error that stands for the result; in a run that has to
 * end, which is then doomed.
 */
long watchers_ask(struct run *run, struct watchers_call *call);
/* Returns @ret. */
long watchers_done(struct watchers_call *call, long ret);

#endif /* SYSCRIPT_WATCHERS_H */
