/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Architecture's part of machine code in the kernel: the filler of unused bytes, and how CPUs
 * learn of new code.
 */
#ifndef CONFINED_ARCH_CODE_H
#define CONFINED_ARCH_CODE_H

#include <linux/types.h>
#include <asm/cpufeature.h>
#include <asm/sync_core.h>

/* eight int3 */
#define ARCH_CODE_FILL	0xccccccccccccccccULL

/* Does BARRIER (stubs.h) generate any code on this CPU? */
static inline bool arch_has_barrier(void)
{
	return boot_cpu_has(X86_FEATURE_CLEAR_BHB_LOOP) ||
	       boot_cpu_has(X86_FEATURE_CLEAR_BHB_HW);
}

/* Makes this CPU discard fetched instructions that were overwritten since. */
static inline void arch_sync_code(void)
{
	sync_core();
}

#endif /* CONFINED_ARCH_CODE_H */
