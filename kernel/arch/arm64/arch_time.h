/* SPDX-License-Identifier: GPL-2.0 */
/* The generic timer's counter, for cycles.h: how to read it, and its frequency. */
#ifndef SYSCRIPT_ARCH_TIME_H
#define SYSCRIPT_ARCH_TIME_H

#include <linux/types.h>
#include <asm/sysreg.h>

static __always_inline u64 arch_cycles(void)
{
	return read_sysreg(cntvct_el0);
}

/* The counter's frequency in kHz, which firmware sets. */
static inline unsigned int arch_cycles_khz(void)
{
	return (unsigned int)read_sysreg(cntfrq_el0) / 1000;
}

/* Is the counter the system's clock source?  Linux has no other one on arm64. */
static inline bool arch_cycles_are_clock(void)
{
	return true;
}

#endif /* SYSCRIPT_ARCH_TIME_H */
