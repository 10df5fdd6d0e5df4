/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of script code that may not be preempted: LuaJIT's keeps values in XMM registers,
 * and changes its own machine code and tables without locks.
 *
 * So preemption and bottom halves are off in script code, and other tasks, softirqs, the
 * script's limits and signals need something that interrupts it: clock.h, and watchdog.h
 * behind that.  Where script code is left, for what may sleep, both are on again.
 *
 * The other half of a run, which is the same for all engines, is core/kernel/run_own.h.
 */
#ifndef SYSCRIPT_ATOMIC_H
#define SYSCRIPT_ATOMIC_H

#include <linux/container_of.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "fpu.h"
#include "kernel/run_own.h"

/*
 * Exits left before the next slow-path check: until a stretch of script code is timed,
 * but for atomic_look(), which puts the rest aside.
 */
struct atomic_countdown {
	int quiet, left;
};

/* Between the run and its clock. */
struct atomic_clock {
	u64 since;			/* cycles at the entry; 0: less than a tick ago */
	u64 seen;			/* cycles at @since, or at the last tick that saw it */
	unsigned long ticks;		/* number of such ticks */
	int cpu;			/* CPU on which it was last in script code, or -1 */
};

/* Timed stretches of script code, because ticks alone could be evaded. */
struct atomic_samples {
	bool next, timed;		/* the next one is to be; this one is */
	u32 random;
	u64 ns;				/* run time estimated from the samples */
	u64 task_time;			/* task time when the run began */
};

/**
 * struct atomic_run - a program's runs, one at a time
 * @id:    of a run on that stack; unique
 * @gates: calls go through atomic_gates.c, which leave script code by themselves
 * @rare:  each of them takes the slow path
 * @fpu:   the caller's registers
 */
struct atomic_run {
	u64 id;
	bool gates, rare;
	struct atomic_countdown countdown;
	struct atomic_clock clock;
	struct atomic_samples samples;
	struct fpu_regs fpu;
	/* Last, and longer than this says: run_create(). */
	struct run_own own;
};

static __always_inline struct atomic_run *atomic_run(struct run_own *own)
{
	return container_of(own, struct atomic_run, own);
}

/* For interrupts: was script code, or other non-preemptible code, interrupted? */
static inline bool atomic_was_interrupted(void)
{
	return preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK);
}

/*
 * Interrupts only: may the interrupted code reach script code without being
 * preempted before?  An idle CPU may not be preempted, either, but does not.
 */
static inline bool atomic_may_enter(void)
{
	return atomic_was_interrupted() && !is_idle_task(current);
}

/* For interrupts of script code: makes its next exit take the slow path. */
static inline void atomic_look(struct atomic_run *atomic)
{
	atomic->countdown.left += atomic->countdown.quiet;
	atomic->countdown.quiet = 0;
}

extern const struct run_atomic_ops atomic_ops;

/* stack_on() and stack_off() of core/kernel/run_own.h, to vm_run() and atomic_sleepable(). */
long atomic_stack_on(long (*fn)(void *), void *arg, void *top, void **home);
long atomic_stack_off(long (*fn)(void *), void *arg, void *home);

#endif /* SYSCRIPT_ATOMIC_H */
