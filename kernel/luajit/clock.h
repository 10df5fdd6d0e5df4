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

#include <linux/math64.h>
#include <linux/types.h>
#include <asm/msr.h>
#include <asm/tsc.h>

struct vm;

void clock_init(void);
void clock_exit(void);

/*
 * Time in VM mode, which no task leaves for another CPU: the bare counter will
 * do, and costs a fraction of sched_clock().
 */
static inline u64 clock_cycles(void)
{
	return rdtsc();
}

extern u32 clock_mult;			/* ns per cycle, times 2^22 */

static inline u64 clock_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles, clock_mult, 22);
}

/* @vm is in VM mode on this CPU since @now, in cycles; preemption off. */
void clock_watch(struct vm *vm, u64 now);
void clock_unwatch(void);

#endif
