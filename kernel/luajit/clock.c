// SPDX-License-Identifier: GPL-2.0
/*
 * See clock.h.
 */
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>

#include "../compat.h"
#include "clock.h"
#include "vm.h"

#define PERIOD		(NSEC_PER_MSEC)
/*
 * After a tick that found nobody in VM mode: scripts that are mostly outside
 * shall not pay for one that is not.  With so much leeway the scheduler's tick
 * of a busy CPU comes first, and one interrupt does for both.
 */
#define IDLE_LEEWAY	(NSEC_PER_SEC / HZ)
#define IDLE_PERIODS	16

u32 clock_mult __ro_after_init;

static u64 clock_period_cycles __ro_after_init;

DEFINE_PER_CPU(struct clock, clocks);

static bool wanted(const struct clock *clock)
{
	const struct vm *vm = clock->vm;
	u64 ran = clock_ns(clock_cycles() - clock->since);

	return need_resched() || fatal_signal_pending(current) || vm->doom ||
	       vm->stats.run_time + ran > vm->deadline;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct clock *clock = container_of(timer, struct clock, timer);

	/* Its CPU went offline and left the timer to this one. */
	if (clock != this_cpu_ptr(&clocks))
		goto off;
	if (clock->vm) {
		clock->idle = 0;
		if (!clock->since)
			clock->since = clock_cycles() - clock_period_cycles;
		/* If the VM is changing its dispatch table: next time. */
		if (wanted(clock))
			vm_interrupt(clock->vm);
	} else if (++clock->idle > IDLE_PERIODS) {
		goto off;
	}
	hrtimer_set_expires_range_ns(timer, ktime_add_ns(ktime_get(), PERIOD),
				     clock->idle ? IDLE_LEEWAY : 0);
	return HRTIMER_RESTART;
off:
	WRITE_ONCE(clock->armed, false);
	return HRTIMER_NORESTART;
}

void clock_arm(struct clock *clock)
{
	clock->armed = true;
	clock->idle = 0;
	hrtimer_start(&clock->timer, ns_to_ktime(PERIOD),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

void clock_init(void)
{
	int cpu;

	clock_mult = (u32)div_u64((u64)NSEC_PER_MSEC << 22, tsc_khz);
	clock_period_cycles = div_u64((u64)tsc_khz * PERIOD, NSEC_PER_MSEC);
	for_each_possible_cpu(cpu)
		compat_hrtimer_setup(&per_cpu(clocks, cpu).timer, tick);
}

void clock_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(clocks, cpu).timer);
}
