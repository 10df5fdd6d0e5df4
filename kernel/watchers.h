/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watchers of a task's system calls see those of its scripts: seccomp filters decide,
 * tracepoints fire and audit records, as if each call had come from user mode.
 * Filters see its number and arguments, and the instruction pointer of the call that
 * runs the script.
 *
 * Watchers that need a real system call entry (ptrace's stops, a SIGSYS handler
 * that makes the call from the registers, system call user dispatch) miss nothing:
 * the run ends before the call, with -EOPNOTSUPP.
 */
#ifndef SYSCRIPT_WATCHERS_H
#define SYSCRIPT_WATCHERS_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <linux/types.h>

#include "audits.h"
#include "filters.h"

struct run;

/* Cannot fail: if a kernel lacks something, tasks are refused instead. */
void watchers_init(void);
void watchers_exit(void);

#define WATCHERS_WORK	(SYSCALL_WORK_SECCOMP | SYSCALL_WORK_SYSCALL_TRACEPOINT |	\
			 SYSCALL_WORK_SYSCALL_TRACE | SYSCALL_WORK_SYSCALL_EMU |	\
			 SYSCALL_WORK_SYSCALL_USER_DISPATCH)

/*
 * Is @task, which is current, watched?  Covers everything that can change during a
 * system call: audit rules cannot, if audit_dummy_context() was true at its entry.
 */
static __always_inline bool watchers_watch_at_entry(const struct task_struct *task)
{
	/* READ_ONCE() would be an instruction more, at each call of a script. */
	return data_race(task_thread_info(task)->syscall_work) & WATCHERS_WORK;
}

/* Is the task watched?  Can become true at any time: other threads install filters. */
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
 * struct watchers_regs - registers that the system call entry sets
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

/*
 * The first @n arguments in @regs; the others are 0, because the process must not see
 * their contents.
 */
static __always_inline void watchers_mask_args(const struct pt_regs *regs, unsigned int n,
					       unsigned long *args)
{
	args[0] = n > 0 ? regs->di : 0;
	args[1] = n > 1 ? regs->si : 0;
	args[2] = n > 2 ? regs->dx : 0;
	args[3] = n > 3 ? regs->r10 : 0;
	args[4] = n > 4 ? regs->r8 : 0;
	args[5] = n > 5 ? regs->r9 : 0;
}

/* As the system call entry leaves them. */
static __always_inline void watchers_set(struct pt_regs *regs, unsigned long nr, long ax,
					 const unsigned long *args)
{
	regs->orig_ax = nr;
	regs->ax = ax;
	watchers_set_args(regs, args);
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
 * @ret:   its result, or the result to return instead
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

/* Call @nr, which takes @n of the arguments in @regs. */
void watchers_describe(struct watchers_call *call, unsigned int nr, unsigned int n,
		       const struct pt_regs *regs);

/*
 * Before the call.  0: make it.  1: do not make it, @ret is its result.
 * After both call watchers_leave().  -EOPNOTSUPP, -ECANCELED: the run must end,
 * without another call.  May sleep.
 */
int watchers_enter(struct watchers_call *call);
/* After it, with its result in @ret. */
void watchers_leave(struct watchers_call *call);

/* -- Filters, for gates --------------------------------------------------------- */

/*
 * Is @task, which is current, watched only by filters, so that filters_ask() is
 * enough for its calls?  A tracer or a blocked SIGSYS needs watchers_enter().
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

/* No thread can join it: a filter that kills the thread kills the process. */
static __always_inline bool watchers_is_alone(const struct task_struct *task)
{
	return atomic_read(&task->signal->live) == 1;
}

/* filters_ask(), for a task with other threads. */
long watchers_ask_filters_guarded(const struct pt_regs *unused);

/**
 * struct watchers_outer - the call that runs a script
 * @regs:  the task's registers, saved while those of a script's call are shown
 * @shown: a script's call is shown
 */
struct watchers_outer {
	struct watchers_regs regs;
	bool shown;
};

/*
 * Shows system call @nr, which takes @n arguments: it stays in the task's registers
 * until the next one, or until watchers_hide() at the end of the run.  In between only
 * observers of the task read them, because a task that stops or dies of a signal has
 * ended its run.
 */
static __always_inline void watchers_show(struct watchers_outer *outer,
					  struct pt_regs *regs, unsigned long nr,
					  unsigned int n, const struct pt_regs *call)
{
	unsigned long args[6];

	if (unlikely(!outer->shown)) {
		watchers_save(&outer->regs, regs);
		outer->shown = true;
	}
	watchers_mask_args(call, n, args);
	watchers_set(regs, nr, -ENOSYS, args);
}

static inline void watchers_hide(struct watchers_outer *outer, struct pt_regs *regs)
{
	if (outer->shown)
		watchers_restore(&outer->regs, regs);
	outer->shown = false;
}

/* In place of watchers_enter(), after filters_ask() has returned @answer. */
int watchers_answered(struct watchers_call *call, long answer);

/* -- Batches -------------------------------------------------------------------- */

/*
 * For each part of a batch that replaces a system call.  0: do it, and then call
 * watchers_done().  Else an error that is the result; if the run must end, it is
 * doomed.
 */
long watchers_ask(struct run *run, struct watchers_call *call);
/* Returns @ret. */
long watchers_done(struct watchers_call *call, long ret);

#endif /* SYSCRIPT_WATCHERS_H */
