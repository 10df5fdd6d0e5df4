/* SPDX-License-Identifier: GPL-2.0 */
/* A run as the module's core sees it: what run.h hides from engines. */
#ifndef SYSCRIPT_RUN_OWN_H
#define SYSCRIPT_RUN_OWN_H

#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <asm/ptrace.h>

#include "fpu.h"
#include "run.h"
#include "usermode.h"
#include "watchers.h"

struct scratch;

/* The state of a system call that script code was left for. */
struct run_call {
	struct pt_regs regs;		/* its arguments */
	unsigned long switches;		/* the task's, when it left script code */
};

/* Calls through gates.c, which leave script code by themselves. */
struct run_gating {
	bool used;
	bool rare;			/* each call takes the slow path */
	/*
	 * Preemptible: jiffies while the fast path is open, for calls from the task's
	 * stack, and for those that switch to it; else ~jiffies.
	 */
	unsigned long open, open_home;
};

/*
 * Exits left before the next slow-path check: until a stretch of script code is timed,
 * but for run_look(), which puts the rest aside.
 */
struct run_countdown {
	int quiet, left;
};

/* Between the run and its clock. */
struct run_clock {
	/*
	 * When script code was entered: atomic, in cycles, or 0: less than a tick
	 * ago; else the task's time.
	 */
	u64 since;
	u64 seen;			/* with @since: then, or when a tick has seen it last */
	unsigned long ticks;		/* how many have */
	int cpu;			/* where it was last in script code, or -1 */
};

/* Stretches of script code that are timed, where ticks alone could be evaded. */
struct run_samples {
	bool next, timed;		/* the next one is to be; this one is */
	u32 random;
	u64 ns;				/* of run time, estimated from them */
	u64 task_time;			/* when the run began */
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
	u64 id;				/* of this run on that stack; unique */
	bool thread;			/* of the kernel */
	bool atomic;			/* not preemptible */
	struct run_gating gate;
	struct run_countdown countdown;
	struct run_call call;
	struct run_clock clock;
	struct run_samples samples;
	struct run_meanwhile meanwhile;
	struct run_held held;
	struct fpu_regs fpu;		/* of the caller */
	struct watchers_outer outer;
	struct run run;			/* last: its output is not zeroed */
};

static __always_inline struct run_own *run_own(struct run *run)
{
	return container_of(run, struct run_own, run);
}

/* Interrupts only: was script code, or other non-preemptible code, interrupted? */
static inline bool run_is_atomic(void)
{
	return preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK);
}

/*
 * Interrupts only: may the interrupted code reach script code without being
 * preempted before?  An idle CPU may not be preempted, either, but does not.
 */
static inline bool run_may_enter(void)
{
	return run_is_atomic() && !is_idle_task(current);
}

/* Interrupts of script code: the next exit from it takes the slow path. */
static inline void run_look(struct run_own *own)
{
	own->countdown.left += own->countdown.quiet;
	own->countdown.quiet = 0;
}

/* Have @ns passed since jiffies were @since?  Not before, and a tick later at most. */
static inline bool run_has_passed(unsigned long since, unsigned long ns)
{
	return time_after(jiffies, since + nsecs_to_jiffies(ns));
}

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
