/* SPDX-License-Identifier: GPL-2.0 */
/* A run as the module's core sees it: what run.h hides from engines. */
#ifndef SYSCRIPT_RUN_OWN_H
#define SYSCRIPT_RUN_OWN_H

#include <linux/container_of.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <asm/ptrace.h>

#include "fpu.h"
#include "run.h"
#include "watchers.h"

struct frames_port;
struct scratch;

struct run_own {
	void *home;			/* the task's stack, or NULL: still on it */
	unsigned long stack;		/* the engine's: where it ends, or 0 */
	struct task_struct *task;	/* whose run it is */
	u64 id;				/* of this run on that stack: never another's */
	bool thread;			/* of the kernel */
	struct pt_regs regs;		/* a system call's arguments */
	unsigned long switches;		/* the task's, when it left script code */
	struct fpu_regs fpu;		/* of whoever called */
	bool atomic;			/* not preemptible */
	bool gated;			/* gates may leave it by themselves (gates.c) */
	/*
	 * When script code was entered: atomic, in cycles, or 0: less than a tick
	 * ago; else the task's time.
	 */
	u64 since;
	/*
	 * How often script code is left until something is to be looked at: until
	 * it is timed, but for run_look(), which puts the rest aside.
	 */
	int quiet, left;
	bool rare;			/* something is to be looked at each time */
	/*
	 * Not atomic: jiffies while nothing is, for calls from the task's stack, and
	 * for those that go home; else what jiffies are not.
	 */
	unsigned long open, open_home;
	bool sample, sampled;		/* time the next stretch; this one is timed */
	u32 random;
	u64 sampled_ns;			/* of run time, from samples */
	u64 task_time;			/* when the run began */
	int cpu;			/* where it was last in script code, or -1 */
	unsigned long ticks;		/* of the clock that found it in script code */
	unsigned long signalled;	/* jiffies | 1 when a signal was seen, or 0 */
	unsigned long wall_seen, wall_used; /* jiffies */
	struct scratch *scratch;
	char *buffer;
	struct frames_port *ports;	/* of frames */
	/* Of the call that runs the script: the task's are those of a call of its. */
	struct watchers_regs outer;
	bool shown;
	struct run run;			/* last: its output is not zeroed */
};

static __always_inline struct run_own *run_own(struct run *run)
{
	return container_of(run, struct run_own, run);
}

/* Interrupts only: was script code, or anything else that may not be preempted, here? */
static inline bool run_is_atomic(void)
{
	return preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK);
}

/*
 * Interrupts only: may what was interrupted here come to script code without being
 * preempted before?  An idle CPU may not be preempted, either, and does not.
 */
static inline bool run_may_enter(void)
{
	return run_is_atomic() && !is_idle_task(current);
}

/* Interrupts of script code: it has to look at what has happened when it is left. */
static inline void run_look(struct run_own *own)
{
	own->left += own->quiet;
	own->quiet = 0;
}

/*
 * System call @index with own->regs, script code being left for it; the same after
 * watchers_ask_filters() has returned @answer; and what is to be done after a call
 * that returned @ret, which SC_WAITS if @waits.  All return what the script sees.
 */
long run_syscall_sleepable(struct run *run, unsigned int index, bool waits);
long run_syscall_answered(struct run *run, unsigned int index, bool waits, long answer);
long run_after_syscall(struct run *run, long ret, bool waits);

/*
 * Runs fn(arg) where it may sleep.  Unlike run_as_syscall() for what is no
 * system call's work.
 */
long run_outside(struct run *run, long (*fn)(void *arg), void *arg);

/* run_scratch(), where it may sleep. */
long run_scratch_mapped(struct run *run);

/*
 * Inside of what stands for a system call, where it holds no lock, between any two
 * of its parts that may take long: gives way, does the task's works, looks at clocks
 * and signals.  True if the run has to end.  @waits: as SC_WAITS.
 */
bool run_is_over(struct run *run, bool waits);

/* Is there anything about a run on this CPU that only run_poll() can do? */
bool run_overstays(const struct run *run);

/* stack.S: see there. */
long stack_on(long (*fn)(void *), void *arg, void *top, void **home);
long stack_off(long (*fn)(void *), void *arg, void *home);
void stack_abandon(long ret, void *home);

#endif /* SYSCRIPT_RUN_OWN_H */
