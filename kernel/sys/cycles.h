/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measures time in code that does not migrate to another CPU: there the bare time-stamp counter
 * is enough, and costs a fraction of sched_clock().
 */
#ifndef SYSCRIPT_CYCLES_H
#define SYSCRIPT_CYCLES_H

#include <linux/init.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "arch_time.h"

extern u32 cycles_mult;			/* ns per cycle, times 2^22 */

/* Returns 0, or -ENODEV after a message if the counter's frequency is unknown. */
int __init cycles_init(void);

static inline u64 cycles_now(void)
{
	return arch_cycles();
}

static inline u64 cycles_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles, cycles_mult, 22);
}

/* @ns in cycles. */
u64 cycles_in(u64 ns);

#endif /* SYSCRIPT_CYCLES_H */
