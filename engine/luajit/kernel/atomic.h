/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of script code that may not be preempted: LuaJIT's keeps values in XMM registers,
 * and changes its own machine code and tables without locks.
 *
 * So preemption and bottom halves are off in script code, and a timer interrupts it for other
 * tasks, softirqs, the script's limits and signals: clock.h, backed up by watchdog.h. Outside of
 * script code, for work that may sleep, both are on.
 *
 * core/kernel/run_priv.h has the state of a run that all engines share.
 */
#ifndef SYSCRIPT_ATOMIC_H
#define SYSCRIPT_ATOMIC_H

#include <linux/container_of.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "fpu.h"
#include "kernel/run_priv.h"

/*
 * Exits left before the next slow-path check, which times a stretch of script code. atomic_look()
 * forces the check, and keeps the count in @left.
 */
struct atomic_countdown {
	int quiet, left;
};

/* Shared by the run and its clock. */
struct atomic_clock {
	u64 since;			/* cycles at the entry; 0: entered less than a tick ago */
	u64 seen;			/* cycles at @since, or at the last tick that saw it */
	unsigned long ticks;		/* number of such ticks */
	int cpu;			/* CPU on which the run was last in script code, or -1 */
};

/* Timed stretches of script code, because ticks alone could be evaded. */
struct atomic_samples {
	bool next, timed;		/* the next stretch will be timed; this one is */
	u32 random;
	u64 ns;				/* run time estimated from the samples */
	u64 task_time;			/* task time when the run began */
};

/**
 * struct atomic_run - a program's runs, one at a time
 * @id:    unique id of the run
 * @thunks: calls go through atomic_thunks.c, which leave script code by themselves
 * @rare:  every exit takes the slow path
 * @fpu:   the caller's registers
 */
struct atomic_run {
	u64 id;
	bool thunks, rare;
	struct atomic_countdown countdown;
	struct atomic_clock clock;
	struct atomic_samples samples;
	struct fpu_regs fpu;
	/* Last, and longer than declared: run_create(). */
	struct run_priv own;
};

static __always_inline struct atomic_run *atomic_run(struct run_priv *own)
{
	return container_of(own, struct atomic_run, own);
}

/* For interrupts: was script code, or other non-preemptible code, interrupted? */
static inline bool atomic_was_interrupted(void)
{
	return preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK);
}

/*
 * For interrupts: can the interrupted code reach script code without being preempted first? An
 * idle task cannot be preempted either, but does not enter script code.
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

/* stack_on() and stack_off() of core/kernel/run_priv.h, for vm_run() and atomic_sleepable(). */
long atomic_stack_on(long (*fn)(void *), void *arg, void *top, void **home);
long atomic_stack_off(long (*fn)(void *), void *arg, void *home);

#endif /* SYSCRIPT_ATOMIC_H */
