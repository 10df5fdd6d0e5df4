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
 * Is the counter the system's clock source? If not, the kernel has measured its frequency once,
 * at boot; in a virtual machine on a busy host it can be wrong by half.
 */
static inline bool arch_cycles_are_clock(void)
{
	return !check_tsc_unstable();
}

#endif /* SYSCRIPT_ARCH_TIME_H */
