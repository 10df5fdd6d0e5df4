/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Comparisons whose result is a mask, for the Spectre-safe checks of ../mask.h. */
#ifndef SYSCRIPT_ARCH_ARM64_MASK_H
#define SYSCRIPT_ARCH_ARM64_MASK_H

/*
 * All ones if @a > @b, otherwise 0, without a branch. The hint, csdb, keeps the processor from
 * using a predicted value of the flags.
 */
static inline unsigned long mask_above(unsigned long a, unsigned long b)
{
	unsigned long mask;

	__asm__ volatile("cmp %2, %1; sbc %0, xzr, xzr; hint #20"
			 : "=r" (mask) : "r" (a), "r" (b) : "cc");
	return mask;
}

#endif /* SYSCRIPT_ARCH_ARM64_MASK_H */
