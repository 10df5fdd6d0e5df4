/* SPDX-License-Identifier: GPL-2.0 */
/* The time-stamp counter, for cycles.h: how to read it, and whether its frequency is known. */
#ifndef SYSCRIPT_ARCH_TIME_H
#define SYSCRIPT_ARCH_TIME_H

#include <linux/types.h>
#include <asm/msr.h>
#include <asm/tsc.h>

static __always_inline u64 arch_cycles(void)
{
	return rdtsc();
}

/* The counter's frequency in kHz according to the kernel; 0 if there is no usable counter. */
static inline unsigned int arch_cycles_khz(void)
{
	return tsc_khz;
}

/*
 * Does the system take its time from the counter?  Elsewhere the kernel has measured the
 * frequency once, at boot, and a busy host of this virtual machine can have made it wrong by
 * half.
 */
static inline bool arch_cycles_are_clock(void)
{
	return !check_tsc_unstable();
}

#endif /* SYSCRIPT_ARCH_TIME_H */
