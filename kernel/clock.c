// SPDX-License-Identifier: GPL-2.0
/* See clock.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "clock.h"
#include "run_own.h"
#include "engine.h"
#include "usermode.h"

#define PERIOD		(NSEC_PER_MSEC)
/*
 * After a tick that found no script in VM mode: scripts that are mostly outside
 * shall not pay for one that is not.  With so much leeway the scheduler's tick
 * of a busy CPU comes first, and one interrupt does for both.
 */
#define IDLE_LEEWAY	(NSEC_PER_SEC / HZ)
#define IDLE_PERIODS	16
/* What of the time between two ticks can be the script's. */
#define LATE		(PERIOD + 2 * IDLE_LEEWAY)
#define MEASURED	(4 * NSEC_PER_MSEC)

u32 clock_mult __ro_after_init;

static u64 clock_period_cycles __ro_after_init;
static u64 clock_late_cycles __ro_after_init;

DEFINE_PER_CPU(struct clock, clocks);
static enum cpuhp_state hotplug_state __ro_after_init;

/* Is there something that only run_poll() can do? */
static bool is_needed_outside(const struct run_own *own)
{
	const struct run *run = &own->run;

	if (jiffies_to_nsecs(jiffies - own->meanwhile.seen) > run->wall_limit ||
	    task_work_pending(current) || usermode_flags(USERMODE_RESCHED))
		return true;
	if (!usermode_flags(USERMODE_ENDS))
		return false;
	return fatal_signal_pending(current) || !own->meanwhile.signalled ||
	       run_has_passed(own->meanwhile.signalled, run->grace);
}

static bool is_wanted(const struct run_own *own)
{
	const struct run *run = &own->run;
	u64 ran = clock_ns(clock_cycles() - own->clock.since);

	return need_resched() || local_softirq_pending() || run->doom ||
	       run->time + ran > run->deadline || is_needed_outside(own);
}

/*
 * The run whose script code this tick has interrupted, or NULL.  Its task is on the
 * engine's stack then, without preemption, and so the run exists.
 */
static struct run_own *interrupted(const struct clock *clock)
{
	const struct pt_regs *regs = get_irq_regs();
	struct run *run;

	if (READ_ONCE(clock->task) != current || !run_is_atomic() ||
	    READ_ONCE(clock->stack) - regs->sp >= RUN_STACK_SIZE)
		return NULL;
	run = READ_ONCE(clock->run);
	return run ? run_own(run) : NULL;
}

/*
 * Of a gap between two ticks the script is charged for LATE at most: for the rest other
 * interrupts or the hypervisor had the CPU, or the virtual machine was stopped.
 */
static void count_tick(struct run_clock *clock)
{
	u64 now = clock_cycles(), gap = now - clock->seen;

	if (!clock->since)
		clock->since = now - clock_period_cycles;
	else if (gap > clock_late_cycles)
		clock->since += gap - clock_late_cycles;
	clock->seen = now;
	clock->ticks++;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct clock *clock = container_of(timer, struct clock, timer);
	struct run_own *own;

	/* Its CPU went offline and left the timer to this one: clock_reset(). */
	if (clock != this_cpu_ptr(&clocks))
		return HRTIMER_NORESTART;
	own = interrupted(clock);
	if (own) {
		clock->idle = 0;
		count_tick(&own->clock);
		run_look(own);
		if (is_wanted(own))
			own->run.engine->interrupt(own->run.vm);
	} else if (++clock->idle > IDLE_PERIODS && !run_may_enter()) {
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

void clock_forget(struct run *run, int cpu)
{
	if (cpu >= 0)
		cmpxchg(&per_cpu(clocks, cpu).run, run, NULL);
}

void clock_watch(struct run *run, unsigned long stack, int last_cpu)
{
	struct clock *clock = this_cpu_ptr(&clocks);

	/* One CPU at most keeps it: clock_forget(). */
	if (last_cpu != smp_processor_id())
		clock_forget(run, last_cpu);
	/* No tick may take one's task or stack for another's. */
	WRITE_ONCE(clock->run, NULL);
	WRITE_ONCE(clock->task, current);
	WRITE_ONCE(clock->stack, stack);
	WRITE_ONCE(clock->run, run);
	/* It stays so from here on: the run has said that it enters. */
	if (!READ_ONCE(clock->armed))
		clock_arm(clock);
}

/*
 * A CPU that is not online: no code runs there, and its timer may be another CPU's by
 * now.  So when it comes back, its clock is off.
 */
static int clock_reset(unsigned int cpu)
{
	struct clock *clock = &per_cpu(clocks, cpu);

	hrtimer_cancel(&clock->timer);
	clock->armed = false;
	clock->run = NULL;
	return 0;
}

/* Cycles per ms, as this CPU's counter and the system's clock see MEASURED ns. */
static u64 measured_khz(void)
{
	u64 since, cycles, ns;
	ktime_t start;

	preempt_disable();
	start = ktime_get();
	since = clock_cycles();
	do {
		cpu_relax();
		ns = ktime_to_ns(ktime_sub(ktime_get(), start));
		cycles = clock_cycles() - since;
	} while (ns < MEASURED);
	preempt_enable();
	return div64_u64(cycles * NSEC_PER_MSEC, ns);
}

/*
 * Where the counter is the system's clock, the kernel knows its frequency.  Elsewhere that
 * was measured once, at boot, and a busy host of this virtual machine can have made it
 * wrong by half.  The middle one of three: an interruption spoils one.
 */
static u64 frequency_khz(void)
{
	u64 a, b, c;

	if (!check_tsc_unstable())
		return tsc_khz;
	a = measured_khz();
	b = measured_khz();
	c = measured_khz();
	return max(min(a, b), min(max(a, b), c));
}

int clock_init(void)
{
	u64 khz = tsc_khz ? frequency_khz() : 0;
	int cpu, state;

	if (!khz) {
		pr_err("the frequency of this machine's time-stamp counter is not known\n");
		return -ENODEV;
	}
	clock_mult = (u32)div64_u64((u64)NSEC_PER_MSEC << 22, khz);
	clock_period_cycles = div_u64(khz * PERIOD, NSEC_PER_MSEC);
	clock_late_cycles = div_u64(khz * LATE, NSEC_PER_MSEC);
	for_each_possible_cpu(cpu)
		compat_hrtimer_setup(&per_cpu(clocks, cpu).timer, tick);
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
