/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Observers of a task's system calls see its scripts' calls, too: seccomp filters decide,
 * tracepoints fire and audit records, as if each call had come from user mode. Filters see the
 * call's number and arguments, and the instruction pointer of the call that runs the script.
 *
 * Observers that need a real system call entry (ptrace's stops, a SIGSYS handler that makes the
 * call from the registers, system call user dispatch) miss nothing: the run ends before the call,
 * with -EOPNOTSUPP.
 */
#ifndef SYSCRIPT_SYSCALL_OBSERVERS_H
#define SYSCRIPT_SYSCALL_OBSERVERS_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/types.h>

#include "arch_regs.h"
#include "arch_watch.h"
#include "audit.h"
#include "seccomp.h"

struct run;

/* Cannot fail: if the kernel lacks a function, watched tasks are refused. */
void observers_init(void);
void observers_exit(void);

/*
 * The bits of @task, which is current.  Other threads change them at any time.  No READ_ONCE(),
 * which would cost an instruction in each call of a script.
 */
static __always_inline unsigned long watch_bits(const struct task_struct *task)
{
	return data_race(task_thread_info(task)->WATCH_WORD) & WATCH_ALL;
}

/* The bits of the current task, read once for several decisions. */
static __always_inline unsigned long watch_bits_once(void)
{
	return READ_ONCE(current_thread_info()->WATCH_WORD) & WATCH_ALL;
}

/*
 * Is @task, which is current, watched?  Covers everything that can change during a
 * system call: audit rules cannot, if audit_dummy_context() was true at its entry.
 */
static __always_inline bool observers_watch_at_entry(const struct task_struct *task)
{
	return watch_bits(task);
}

/* Is the task watched?  Can become true at any time, when another thread installs filters. */
static __always_inline bool observers_watch(void)
{
	return unlikely(observers_watch_at_entry(current)) || audits_ask();
}

/* Returns 0, or -EOPNOTSUPP if scripts of the current task cannot be run under its observers. */
int __observers_check(void);

static inline int observers_check(void)
{
	return observers_watch() ? __observers_check() : 0;
}

/**
 * struct observers_call - a system call for observers to see
 * @nr:    its number
 * @args:  its arguments
 * @ret:   its result, or the result to return instead
 * @saved: registers of the call that runs the script, while the task's registers are this call's
 * @audit: audit context of the call that runs the script, while this call has its own; else NULL
 */
struct observers_call {
	unsigned int nr;
	long args[6];
	long ret;
	struct regs_saved saved;
	struct audit_context *audit;
};

/* Describes call @nr, whose first @n arguments are in @regs. */
void observers_describe(struct observers_call *call, unsigned int nr, unsigned int n,
		       const struct pt_regs *regs);

/*
 * To be called before the call. 0: make the call. 1: do not make it, @ret is its result. In both
 * cases observers_leave() must follow.  -EOPNOTSUPP, -ECANCELED: the run must end, without another
 * call.  May sleep.
 */
int observers_enter(struct observers_call *call);
/* To be called after the call, with its result in @ret. */
void observers_leave(struct observers_call *call);

/* -- Filters, for thunks --------------------------------------------------------- */

/*
 * Is @task, which is current, watched only by filters, so that filters_ask() is
 * enough for its calls?  A tracer or a blocked SIGSYS needs observers_enter().
 *
 * A filter that another thread is installing may be seen with the mode before it; then this is
 * false, and slower ways have the barrier (tests/litmus/filter-mode.litmus).
 */
static __always_inline bool observers_are_filters(const struct task_struct *task)
{
#ifdef CONFIG_SECCOMP_FILTER
	return watch_bits(task) == WATCH_FILTERS &&
	       data_race(task->seccomp.mode) == SECCOMP_MODE_FILTER &&
	       !data_race(task->ptrace) &&
	       !(data_race(task->pending.signal.sig[0]) & sigmask(SIGSYS));
#else
	return false;
#endif
}

/* No other thread can join: a filter that kills the thread kills the process. */
static __always_inline bool observers_is_alone(const struct task_struct *task)
{
	return atomic_read(&task->signal->live) == 1;
}

/* filters_ask(), for a task with other threads. */
long observers_ask_filters_guarded(const struct pt_regs *unused);

/**
 * struct observers_outer - the call that runs a script
 * @regs:  the task's registers, saved while those of a script's call are shown
 * @shown: a script's call is shown
 */
struct observers_outer {
	struct regs_saved regs;
	bool shown;
};

/*
 * Shows system call @nr, which takes @n arguments: it stays in the task's registers until the
 * next one, or until observers_hide() at the end of the run.  Meanwhile only observers of the task
 * read them: a task that stops or is killed by a signal has ended its run first.
 */
static __always_inline void observers_show(struct observers_outer *outer,
					  struct pt_regs *regs, unsigned long nr,
					  unsigned int n, const struct pt_regs *call)
{
	unsigned long args[6];

	if (unlikely(!outer->shown)) {
		regs_save(&outer->regs, regs);
		outer->shown = true;
	}
	regs_mask_args(call, n, args);
	regs_set_entry(regs, nr, args);
}

static inline void observers_hide(struct observers_outer *outer, struct pt_regs *regs)
{
	if (outer->shown)
		regs_restore(&outer->regs, regs);
	outer->shown = false;
}

/* In place of observers_enter(), after filters_ask() has returned @answer. */
int observers_answered(struct observers_call *call, long answer);

/* -- Batches -------------------------------------------------------------------- */

/*
 * Asks about a part of a batch that replaces a system call.  0: do it, and then call
 * observers_done(). Otherwise the part's result, an error; the run is stopped if it must end.
 */
long observers_ask(struct run *run, struct observers_call *call);
/* Returns @ret. */
long observers_done(struct observers_call *call, long ret);

#endif /* SYSCRIPT_SYSCALL_OBSERVERS_H */
