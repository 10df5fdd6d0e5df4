/* SPDX-License-Identifier: GPL-2.0 */
/* Machine code in the kernel: what fills its gaps, and how CPUs come to see it. */
#ifndef CONFINED_ARCH_CODE_H
#define CONFINED_ARCH_CODE_H

#include <linux/types.h>
#include <asm/cpufeature.h>
#include <asm/sync_core.h>

/* int3, eight times */
#define ARCH_CODE_FILL	0xccccccccccccccccULL

/* Does BARRIER (stubs.h) become anything? */
static inline bool arch_has_barrier(void)
{
	return boot_cpu_has(X86_FEATURE_CLEAR_BHB_LOOP) ||
	       boot_cpu_has(X86_FEATURE_CLEAR_BHB_HW);
}

/* This CPU forgets what it has fetched of code that was written since. */
static inline void arch_sync_code(void)
{
	sync_core();
}

#endif /* CONFINED_ARCH_CODE_H */
