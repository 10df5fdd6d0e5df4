/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* See ../mask.h. */
#ifndef SYSCRIPT_ARCH_X86_MASK_H
#define SYSCRIPT_ARCH_X86_MASK_H

/* All ones if @a is more than @b, else 0; in speculation, too. */
static inline unsigned long mask_above(unsigned long a, unsigned long b)
{
	unsigned long mask;

	__asm__ volatile("cmp %1, %2; sbb %0, %0" : "=r" (mask) : "r" (a), "r" (b) : "cc");
	return mask;
}

#endif /* SYSCRIPT_ARCH_X86_MASK_H */
