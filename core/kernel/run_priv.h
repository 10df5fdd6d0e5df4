/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a run in the module, which run.h hides from engines.  What each call uses comes
 * first, so that a call touches few cache lines.
 */
#ifndef SYSCRIPT_RUN_PRIV_H
#define SYSCRIPT_RUN_PRIV_H

#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "arch_home.h"
#include "arch_regs.h"
#include "run.h"
#include "usermode.h"
#include "syscall_observers.h"

struct scratch;

/* The system call for which script code was left. */
struct run_call {
	struct pt_regs regs;		/* the call's arguments */
	unsigned long switches;		/* nvcsw when it left script code */
};

/*
 * Preemptible: jiffies while syscall_thunks.c may make calls at once, on the task's stack or by
 * switching to it; else ~jiffies.
 */
struct run_fastpath {
	unsigned long open, open_task_stack;
};

/* Time spent outside of script code, in jiffies. */
struct run_wallclock {
	unsigned long signalled;	/* | 1, when a signal was seen, or 0 */
	unsigned long seen, used;	/* wall time */
};

/**
 * struct run_keeper - a part of the core that has state for a program
 * @next:    the program's next keeper
 * @end_run: a run of a process has ended, with a result if @well
 * @release: the program has ended: frees everything, the keeper with it
 */
struct run_keeper {
	struct run_keeper *next;
	void (*end_run)(struct run_keeper *keeper, bool well);
	void (*release)(struct run_keeper *keeper);
};

/* State that a program keeps from run to run. */
struct run_resources {
	struct scratch *scratch;
	char *buffer;
	struct run_keeper *keepers;
};

struct run_priv {
	void *task_stack;			/* task's stack pointer; NULL: on it */
	unsigned long stack;		/* end of the engine's stack, or 0 */
	struct task_struct *task;	/* the task that runs it */
	bool thread;			/* it is a kernel thread */
	bool atomic;			/* non-preemptible: the engine has engine_ops.atomic */
	u64 since;			/* preemptible: task time at the entry */
	struct run_fastpath fastpath;
	struct run_call call;
	struct run_wallclock wallclock;
	struct run_resources resources;
	struct observers_outer outer;
	struct run run;			/* last: its output is not zeroed */
};

static __always_inline struct run_priv *run_priv(struct run *run)
{
	return container_of(run, struct run_priv, run);
}

/* Have @ns passed since jiffies were @since?  True at most a tick late, and never early. */
static inline bool run_has_passed(unsigned long since, unsigned long ns)
{
	return time_after(jiffies, since + nsecs_to_jiffies(ns));
}

u64 run_ask_task_time(void);

/*
 * The scheduler accounts the task's time at each tick; on CPUs with the tick stopped it is asked.
 */
static __always_inline u64 run_task_time(void)
{
	if (tick_nohz_full_enabled())
		return run_ask_task_time();
	return READ_ONCE(current->se.sum_exec_runtime);
}

/* -- Work outside of script code ------------------------------------------------- */

/**
 * struct run_work - a function to call outside of script code: fn(work), which may sleep
 * @index: index in syscalls.def of the system call to make
 * @ret: result of a system call that has been made
 * @answer: result of filters_ask() for the call
 * @as_syscall, @arg: a function to call in place of a system call
 * @waits:      SC_WAITS
 */
struct run_work {
	struct run_priv *own;
	long (*fn)(struct run_work *work);
	unsigned int index;
	long ret;
	long answer;
	long (*as_syscall)(void *arg);
	void *arg;
	bool waits;
};

/* The usual work: a system call. */
long run_work_syscall(struct run_work *work);

void run_check_clocks(struct run_priv *own, bool waited);
void run_do_work(struct run_priv *own);

/* To be called after sleepable work, with no lock but the script's: docs/design/runs.md. */
static __always_inline void run_checkpoint(struct run_priv *own, bool waits)
{
	/* Read before the work, because the work itself may sleep. */
	bool waited = waits && current->nvcsw != own->call.switches;

	usermode_works();
	if (unlikely(jiffies != own->wallclock.seen))
		run_check_clocks(own, waited);
	if (unlikely(usermode_flags(USERMODE_FLAGS)))
		run_do_work(own);
	else
		own->wallclock.signalled = 0;
}

/*
 * Does the task's own state need the slow path?  run_no_pending_work() tests, after each call, the
 * conditions that may begin at any time.
 */
static __always_inline bool run_task_needs_slowpath(void)
{
	return unlikely(test_restore_sigmask()) || unlikely(!audit_dummy_context());
}

static __always_inline bool run_needs_slowpath(const struct run_priv *own)
{
	return own->run.stop_reason || own->wallclock.signalled || run_task_needs_slowpath();
}

/*
 * Begins a run: clears the state of the last one, and returns whether its reason is permanent.  Not
 * for runs of kernel threads, because the process may still read the last error.
 */
static __always_inline bool run_begin_anew(struct run_priv *own)
{
	struct run *run = &own->run;
	int reason = run->stop_reason;

	own->thread = current->flags & PF_KTHREAD;
	if (unlikely(own->thread))
		return reason;
	if (unlikely(reason) && run_stop_passes(reason))
		run->stop_reason = reason = 0;
	run->error_len = 0;
	run->error[0] = '\0';
	return reason;
}

static __always_inline void run_set_limits(struct run_priv *own)
{
	own->run.deadline = own->run.time + own->run.time_limit;
	own->wallclock.signalled = 0;
	own->wallclock.used = 0;
	own->wallclock.seen = jiffies;
}

/* Ends a run, outside of script code, with its result. */
void run_end_rare(struct run_priv *own, bool well);

static __always_inline void run_end(struct run_priv *own, long ret)
{
	if (unlikely(own->outer.shown || own->resources.keepers))
		run_end_rare(own, ret >= 0 && !own->run.stop_reason);
}

/* -- Engines that are not preemptible --------------------------------------------- */

/**
 * struct run_atomic_ops - runs of an engine whose script code may not be preempted
 * @room:   bytes that the engine needs in front of a run's struct run_priv
 * @init:   a run has been made, and is all zero
 * @change: the next run is by another task than the last one, or on another stack
 * @forget: the run is about to be freed
 * @script: run_script()
 * @leave:  leaves script code, calls work->fn(work) on the task's stack, and enters script code
 *          again
 *
 * One such engine can be registered at a time.  @script and @leave are called directly.
 */
struct run_atomic_ops {
	size_t room;
	void (*init)(struct run_priv *own);
	void (*change)(struct run_priv *own);
	void (*forget)(struct run_priv *own);
	long (*script)(struct run_priv *own, long (*fn)(void *arg), void *arg, void *stack);
	long (*leave)(struct run_work *work);
};

struct engine_ops;

/*
 * For engine.c: patches the static calls to call this engine directly, or none if the pointer is
 * NULL.
 */
void run_set_atomic(const struct run_atomic_ops *ops);
void run_set_enter(const struct engine_ops *engine);

/* -- System calls ------------------------------------------------------------------ */

/*
 * Is no work pending after a call?  @rare: thread flags that need the slow path, besides those
 * that always do.
 */
static __always_inline bool run_no_pending_work(const struct run_priv *own, unsigned long rare)
{
	rare |= USERMODE_FLAGS;
	/* Without READ_ONCE(), which costs an instruction; the call is a barrier. */
	return !(data_race(task_thread_info(own->task)->flags) & rare) &&
	       !task_work_pending(own->task) &&
	       jiffies == own->wallclock.seen;
}

/*
 * The first leaves script code and makes system call @index with own->call.regs.  The second does
 * so after filters_ask() has returned @answer.  The third does the work that follows a call which
 * returned @ret; @waits: the call has SC_WAITS.  All return the result for the script.
 */
long run_syscall_sleepable(struct run *run, unsigned int index, bool waits);
long run_syscall_answered(struct run *run, unsigned int index, bool waits, long answer);
long run_after_syscall(struct run *run, long ret, bool waits);
/*
 * As run_syscall_sleepable(), but for a thunk that stands for several calls: the engine tests
 * run->stop_reason afterwards.
 */
long run_after_batch(struct run *run, long ret);

/*
 * Runs fn(arg) outside of script code, where it may sleep.  Unlike run_as_syscall(), it is for
 * work that does not replace a system call.
 */
long run_outside(struct run *run, long (*fn)(void *arg), void *arg);

/* As run_scratch(), called where the run may sleep. */
long run_scratch_mapped(struct run *run);

/*
 * Checkpoint within work that replaces a system call, to be called with no lock held between any
 * two long parts: reschedules if needed, runs pending task work, checks clocks and signals. True
 * if the run must end. @waits: as SC_WAITS.
 */
bool run_is_over(struct run *run, bool waits);

#endif /* SYSCRIPT_RUN_PRIV_H */
