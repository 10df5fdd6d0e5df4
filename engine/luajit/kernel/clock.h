/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watches over script code that runs without preemption: a timer per CPU
 * interrupts it when another task or a softirq needs the CPU, when its time is up
 * or when its task has been killed or signalled.
 *
 * The first entry into script code arms the timer, which stops by itself some periods after the
 * last, so most calls neither arm nor cancel it. Still every entry is watched, because of the
 * order of its steps:
 *
 *   1. The run announces its entry: preemption or bottom halves are off from here
 *      until it has left script code.  It stays on this CPU meanwhile.
 *   2. It checks clock_sees(), and if that is false calls clock_watch().
 *   3. It enters script code.
 *
 * and because a tick stops the timer only if it has interrupted preemptible code, or an idle CPU:
 * then no run is between 1 and 3 (atomic_may_enter()).  No other CPU stops the clock of one that
 * is online.  tests/unit/test_clock_model.py tries all orders of these steps; watchdog.h catches
 * faults that remain.
 */
#ifndef SYSCRIPT_CLOCK_H
#define SYSCRIPT_CLOCK_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "cycles.h"

struct atomic_clock;
struct atomic_run;
struct run;

struct clock {
	struct hrtimer timer;
	/*
	 * The last run in script code on this CPU; NULL if it has moved to another CPU or was
	 * freed, or the timer is off. The run may have ended: it may be accessed only while it is
	 * seen to run on @stack.
	 */
	struct run *run;
	struct task_struct *task;
	unsigned long stack;		/* end of the run's stack */
	unsigned int idle;		/* consecutive periods without script code */
	bool armed;
};

DECLARE_PER_CPU(struct clock, clocks);

/*
 * Until when a stretch of script code that ends at @now is charged, in cycles: for a bounded time
 * after the last tick. A longer gap means that other interrupts or the hypervisor had the CPU, or
 * that the virtual machine was stopped.
 */
u64 clock_charged_until(const struct atomic_clock *clock, u64 now);

int clock_init(void);
void clock_exit(void);

/*
 * Do ticks on this CPU see @run? To be checked at each entry to script code, after its
 * announcement: the run may have moved to this CPU, another run may have been here, or the clock
 * may have stopped.
 */
static __always_inline bool clock_sees(const struct run *run)
{
	return this_cpu_read(clocks.run) == run;
}

/*
 * Makes ticks on this CPU see the run, while it is on its stack, and ticks on its previous CPU
 * forget it.  Preemption is off.
 */
void clock_watch(struct atomic_run *atomic);

/* Makes ticks forget a run that is not in script code: those of the CPU where it was last. */
void clock_forget(struct atomic_run *atomic);

#endif /* SYSCRIPT_CLOCK_H */
