/* SPDX-License-Identifier: GPL-2.0 */
/* A run as the module's core sees it: what run.h hides from engines. */
#ifndef SYSCRIPT_RUN_OWN_H
#define SYSCRIPT_RUN_OWN_H

#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "arch_regs.h"
#include "run.h"
#include "usermode.h"
#include "watchers.h"

struct scratch;

/* The state of a system call that script code was left for. */
struct run_call {
	struct pt_regs regs;		/* its arguments */
	unsigned long switches;		/* the task's, when it left script code */
};

/*
 * Preemptible: jiffies while gates.c makes calls at once, from the task's stack and for
 * those that switch to it; else ~jiffies.
 */
struct run_gating {
	unsigned long open, open_home;
};

/* The time outside of script code, in jiffies. */
struct run_meanwhile {
	unsigned long signalled;	/* | 1, when a signal was seen, or 0 */
	unsigned long seen, used;	/* wall time */
};

/**
 * struct run_keeper - a part of the core that keeps something for a program
 * @next:    of the same program
 * @end_run: a run of a process has ended, with a result if @well
 * @release: the program has ended: frees everything, the keeper with it
 */
struct run_keeper {
	struct run_keeper *next;
	void (*end_run)(struct run_keeper *keeper, bool well);
	void (*release)(struct run_keeper *keeper);
};

/* The program's, from run to run. */
struct run_held {
	struct scratch *scratch;
	char *buffer;
	struct run_keeper *keepers;
};

struct run_own {
	void *home;			/* the task's stack, or NULL: still on it */
	unsigned long stack;		/* end of the engine's stack, or 0 */
	struct task_struct *task;	/* whose run it is */
	bool thread;			/* of the kernel */
	bool atomic;			/* not preemptible */
	u64 since;			/* preemptible: the task's time at the entry */
	struct run_gating gate;
	struct run_call call;
	struct run_meanwhile meanwhile;
	struct run_held held;
	struct watchers_outer outer;
	struct run run;			/* last: its output is not zeroed */
};

static __always_inline struct run_own *run_own(struct run *run)
{
	return container_of(run, struct run_own, run);
}

/* Have @ns passed since jiffies were @since?  Not before, and a tick later at most. */
static inline bool run_has_passed(unsigned long since, unsigned long ns)
{
	return time_after(jiffies, since + nsecs_to_jiffies(ns));
}

u64 run_ask_task_time(void);

/*
 * The scheduler accounts for the task's time, with each of its ticks.  Where it does
 * without most of them it is asked.
 */
static __always_inline u64 run_task_time(void)
{
	if (tick_nohz_full_enabled())
		return run_ask_task_time();
	return READ_ONCE(current->se.sum_exec_runtime);
}

/* -- Work outside of script code ------------------------------------------------- */

/**
 * struct run_work - what script code is left for: fn(work), which may sleep
 * @index:      of a system call
 * @ret:        of one that has been made
 * @answer:     about one that filters were asked about
 * @as_syscall, @arg: in place of one
 * @waits:      SC_WAITS
 */
struct run_work {
	struct run_own *own;
	long (*fn)(struct run_work *work);
	unsigned int index;
	long ret;
	long answer;
	long (*as_syscall)(void *arg);
	void *arg;
	bool waits;
};

/* The work of most: a system call. */
long run_work_syscall(struct run_work *work);

void run_look_at_clocks(struct run_own *own, bool waited);
void run_do_work(struct run_own *own);

/* After the work, with no lock held but the script's turn: docs/design/runs.md. */
static __always_inline void run_look(struct run_own *own, bool waits)
{
	/* Before the works, which may sleep as well. */
	bool waited = waits && current->nvcsw != own->call.switches;

	usermode_works();
	if (unlikely(jiffies != own->meanwhile.seen))
		run_look_at_clocks(own, waited);
	if (unlikely(usermode_flags(USERMODE_FLAGS)))
		run_do_work(own);
	else
		own->meanwhile.signalled = 0;
}

/*
 * Gates that find nothing rare look at no more than what can become so at any time:
 * run_is_quiet().
 */
static __always_inline bool run_task_has_rare(void)
{
	return unlikely(test_restore_sigmask()) || unlikely(!audit_dummy_context());
}

static __always_inline bool run_has_rare(const struct run_own *own)
{
	return own->run.doom || own->meanwhile.signalled || run_task_has_rare();
}

/*
 * At a run's beginning: clears what the last run has left, and says whether a doom has
 * stayed.  Not for runs of kernel threads: the process may still read its error.
 */
static __always_inline bool run_begin_anew(struct run_own *own)
{
	struct run *run = &own->run;
	int doom = run->doom;

	own->thread = current->flags & PF_KTHREAD;
	if (unlikely(own->thread))
		return doom;
	if (unlikely(doom) && run_doom_passes(doom))
		run->doom = doom = 0;
	run->error_len = 0;
	run->error[0] = '\0';
	return doom;
}

static __always_inline void run_set_limits(struct run_own *own)
{
	own->run.deadline = own->run.time + own->run.time_limit;
	own->meanwhile.signalled = 0;
	own->meanwhile.used = 0;
	own->meanwhile.seen = jiffies;
}

/* At its end, outside of script code, with its result. */
void run_end_rare(struct run_own *own, bool well);

static __always_inline void run_end(struct run_own *own, long ret)
{
	if (unlikely(own->outer.shown || own->held.keepers))
		run_end_rare(own, ret >= 0 && !own->run.doom);
}

/* -- Engines that are not preemptible --------------------------------------------- */

/**
 * struct run_atomic_ops - runs of an engine whose script code may not be preempted
 * @room:   bytes of its own, in front of a run's struct run_own
 * @init:   a run has been made, and is all zero
 * @change: the next run is another task's than the last one, or on another stack
 * @forget: it is about to be freed
 * @script: run_script()
 * @leave:  leaves script code, calls work->fn(work) on the task's stack, and enters
 *          script code again
 *
 * One such engine can be registered at a time.  @script and @leave are called directly.
 */
struct run_atomic_ops {
	size_t room;
	void (*init)(struct run_own *own);
	void (*change)(struct run_own *own);
	void (*forget)(struct run_own *own);
	long (*script)(struct run_own *own, long (*fn)(void *arg), void *arg, void *stack);
	long (*leave)(struct run_work *work);
};

struct engine_ops;

/*
 * For the table of engines: from here on calls of an engine, or of none if it is NULL, lead
 * to it directly.
 */
void run_set_atomic(const struct run_atomic_ops *ops);
void run_set_enter(const struct engine_ops *engine);

/* -- System calls ------------------------------------------------------------------ */

/*
 * Is there nothing to be done after a call?  @rare: flags of the thread that tell of
 * something, besides those that always do.
 */
static __always_inline bool run_is_quiet(const struct run_own *own, unsigned long rare)
{
	rare |= USERMODE_FLAGS;
	/* READ_ONCE() would be an instruction more, and the call is a barrier. */
	return !(data_race(task_thread_info(own->task)->flags) & rare) &&
	       !task_work_pending(own->task) &&
	       jiffies == own->meanwhile.seen;
}

/*
 * System call @index with own->call.regs, leaving script code for it; the same after
 * filters_ask() has returned @answer; and the work after a call
 * that returned @ret, with SC_WAITS if @waits.  All return the script's result.
 */
long run_syscall_sleepable(struct run *run, unsigned int index, bool waits);
long run_syscall_answered(struct run *run, unsigned int index, bool waits, long answer);
long run_after_syscall(struct run *run, long ret, bool waits);
/* The same for a gate that stands for several calls: the engine looks at run->doom. */
long run_after_batch(struct run *run, long ret);

/*
 * Runs fn(arg) where it may sleep.  Unlike run_as_syscall(), for work that does not
 * replace a system call.
 */
long run_outside(struct run *run, long (*fn)(void *arg), void *arg);

/* run_scratch(), where it may sleep. */
long run_scratch_mapped(struct run *run);

/*
 * For work that replaces a system call, without a lock held, between any two long
 * parts: reschedules if needed, does the task's works, checks clocks
 * and signals.  True if the run must end.  @waits: as SC_WAITS.
 */
bool run_is_over(struct run *run, bool waits);

/* stack.S: see there. */
long stack_on(long (*fn)(void *), void *arg, void *top, void **home);
long stack_off(long (*fn)(void *), void *arg, void *home);
void stack_abandon(long ret, void *home);

#endif /* SYSCRIPT_RUN_OWN_H */
