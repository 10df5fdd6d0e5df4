// SPDX-License-Identifier: GPL-2.0
/*
 * Implements clock.h: a pinned hrtimer per CPU, whose handler recognises script code by the
 * interrupted stack.
 */
#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>
#include <asm/irq_regs.h>

#include "atomic.h"
#include "clock.h"
#include "compat.h"
#include "cycles.h"
#include "engine.h"
#include "usermode.h"

#define PERIOD		(NSEC_PER_MSEC)
/*
 * The slack after a tick that found no script in VM mode, so that scripts that are mostly outside
 * of script code cost little. With this slack the timer expires together with the scheduler's
 * tick on a busy CPU: one interrupt serves both.
 */
#define IDLE_LEEWAY	(NSEC_PER_SEC / HZ)
#define IDLE_PERIODS	16
/* The most that a script is charged for the time between two ticks, or from the last one on. */
#define LATE		(PERIOD + 2 * IDLE_LEEWAY)

static u64 clock_period_cycles __ro_after_init;
static u64 clock_late_cycles __ro_after_init;

DEFINE_PER_CPU(struct clock, clocks);
static enum cpuhp_state hotplug_state __ro_after_init;

/* Is there work that only run_poll() can do? */
static bool is_needed_outside(const struct run_priv *own)
{
	const struct run *run = &own->run;

	if (jiffies_to_nsecs(jiffies - own->wallclock.seen) > run->wall_limit ||
	    task_work_pending(current) || usermode_flags(USERMODE_RESCHED))
		return true;
	if (!usermode_flags(USERMODE_ENDS))
		return false;
	return fatal_signal_pending(current) || !own->wallclock.signalled ||
	       run_has_passed(own->wallclock.signalled, run->grace);
}

static bool is_wanted(const struct atomic_run *atomic)
{
	const struct run *run = &atomic->own.run;
	u64 ran = cycles_ns(cycles_now() - atomic->clock.since);

	return need_resched() || local_softirq_pending() || run->stop_reason ||
	       run->time + ran > run->deadline || is_needed_outside(&atomic->own);
}

/*
 * The run whose script code this tick has interrupted, or NULL. The run exists, because its task
 * is on the engine's stack and not preemptible.
 */
static struct atomic_run *clock_interrupted(const struct clock *clock)
{
	const struct pt_regs *regs = get_irq_regs();
	struct run *run;

	if (READ_ONCE(clock->task) != current || !atomic_was_interrupted() ||
	    READ_ONCE(clock->stack) - regs->sp >= RUN_STACK_SIZE)
		return NULL;
	run = READ_ONCE(clock->run);
	return run ? atomic_run(run_priv(run)) : NULL;
}

u64 clock_charged_until(const struct atomic_clock *clock, u64 now)
{
	return min(now, clock->seen + clock_late_cycles);
}

static void count_tick(struct atomic_clock *clock)
{
	u64 now = cycles_now();

	if (!clock->since)
		clock->since = now - clock_period_cycles;
	else
		clock->since += now - clock_charged_until(clock, now);
	clock->seen = now;
	clock->ticks++;
}

static enum hrtimer_restart clock_tick(struct hrtimer *timer)
{
	struct clock *clock = container_of(timer, struct clock, timer);
	struct atomic_run *atomic;

	/* The timer's CPU went offline, which moved the timer to this CPU: clock_reset(). */
	if (clock != this_cpu_ptr(&clocks))
		return HRTIMER_NORESTART;
	atomic = clock_interrupted(clock);
	if (atomic) {
		clock->idle = 0;
		count_tick(&atomic->clock);
		atomic_look(atomic);
		if (is_wanted(atomic))
			luajit_engine.interrupt(atomic->own.run.vm);
	} else if (++clock->idle > IDLE_PERIODS && !atomic_may_enter()) {
		WRITE_ONCE(clock->armed, false);
		WRITE_ONCE(clock->run, NULL);
		return HRTIMER_NORESTART;
	}
	hrtimer_set_expires_range_ns(timer, ktime_add_ns(ktime_get(), PERIOD),
				     clock->idle ? IDLE_LEEWAY : 0);
	return HRTIMER_RESTART;
}

static void clock_arm(struct clock *clock)
{
	clock->armed = true;
	clock->idle = 0;
	hrtimer_start(&clock->timer, ns_to_ktime(PERIOD),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

void clock_forget(struct atomic_run *atomic)
{
	if (atomic->clock.cpu >= 0)
		cmpxchg(&per_cpu(clocks, atomic->clock.cpu).run, &atomic->own.run, NULL);
}

void clock_watch(struct atomic_run *atomic)
{
	struct clock *clock = this_cpu_ptr(&clocks);

	/* At most one CPU refers to the run: clock_forget(). */
	if (atomic->clock.cpu != smp_processor_id())
		clock_forget(atomic);
	/* No tick may combine one run's task with another run's stack. */
	WRITE_ONCE(clock->run, NULL);
	WRITE_ONCE(clock->task, current);
	WRITE_ONCE(clock->stack, atomic->own.stack);
	WRITE_ONCE(clock->run, &atomic->own.run);
	/* Stays armed from here on, because the run has announced its entry. */
	if (!READ_ONCE(clock->armed))
		clock_arm(clock);
}

/*
 * Resets the clock of a CPU that is offline: no code runs there, and its timer may have moved to
 * another CPU. When the CPU comes back, its clock is off.
 */
static int clock_reset(unsigned int cpu)
{
	struct clock *clock = &per_cpu(clocks, cpu);

	hrtimer_cancel(&clock->timer);
	clock->armed = false;
	clock->run = NULL;
	return 0;
}

int clock_init(void)
{
	int cpu, state;

	clock_period_cycles = cycles_in(PERIOD);
	clock_late_cycles = cycles_in(LATE);
	for_each_possible_cpu(cpu)
		compat_hrtimer_setup(&per_cpu(clocks, cpu).timer, clock_tick);
	state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "syscript:clock",
					  clock_reset, clock_reset);
	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

void clock_exit(void)
{
	int cpu;

	cpuhp_remove_state_nocalls(hotplug_state);
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(clocks, cpu).timer);
}
