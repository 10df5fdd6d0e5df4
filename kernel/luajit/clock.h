/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watches over VM mode, where preemption is off: a timer per CPU interrupts
 * the VM that runs there when someone else needs the CPU, when its time is up
 * or when its task has been killed.
 *
 * The timer is armed by the first entry into VM mode and goes off by itself
 * some periods after the last, so that a call arms and cancels nothing.
 */
#ifndef SYSCRIPT_LUAJIT_CLOCK_H
#define SYSCRIPT_LUAJIT_CLOCK_H

#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <asm/msr.h>
#include <asm/tsc.h>

struct vm;

struct clock {
	struct hrtimer timer;
	struct vm *vm;			/* in VM mode on this CPU, or NULL */
	u64 since;			/* when, in cycles; 0: less than a tick ago */
	unsigned int idle;		/* periods in a row with nothing to see */
	bool armed;
};

DECLARE_PER_CPU(struct clock, clocks);

extern u32 clock_mult;			/* ns per cycle, times 2^22 */

void clock_init(void);
void clock_exit(void);
void clock_arm(struct clock *clock);

/*
 * Time in VM mode, which no task leaves for another CPU: the bare counter will
 * do, and costs a fraction of sched_clock().
 */
static inline u64 clock_cycles(void)
{
	return rdtsc();
}

static inline u64 clock_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles, clock_mult, 22);
}

/*
 * @vm is in VM mode on this CPU; preemption is off.  Reading the counter is
 * dear beside a short call, so that begins with @since 0: unknown.  A tick that
 * comes meanwhile sets it, and takes a whole short period for granted, which is
 * right on average where ticks come that often.
 */
static __always_inline void clock_watch(struct vm *vm, u64 since)
{
	struct clock *clock = this_cpu_ptr(&clocks);

	clock->since = since;
	/* First the VM: a tick in between then leaves the timer armed. */
	WRITE_ONCE(clock->vm, vm);
	if (unlikely(!READ_ONCE(clock->armed)))
		clock_arm(clock);
}

/* Returns the ns since clock_watch(), 0 if that is not known. */
static __always_inline u64 clock_unwatch(void)
{
	struct clock *clock = this_cpu_ptr(&clocks);

	WRITE_ONCE(clock->vm, NULL);
	return unlikely(clock->since) ? clock_ns(clock_cycles() - clock->since) : 0;
}

#endif
