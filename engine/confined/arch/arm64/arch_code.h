/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The architecture's part of managing machine code in the kernel: a filler for unused bytes, and
 * how a CPU learns of new code.
 */
#ifndef CONFINED_ARCH_CODE_H
#define CONFINED_ARCH_CODE_H

#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/cacheflush.h>
#include <asm/cpufeature.h>
#include <asm/spectre.h>
#include <asm/sysreg.h>

#include "symbols.h"

/* brk #0, twice */
#define ARCH_CODE_FILL	0xd4200000d4200000ULL

/* Does BARRIER (stubs.h) do anything on this machine? */
static inline bool arch_has_barrier(void)
{
	return cpus_have_cap(ARM64_SPECTRE_BHB);
}

/* The most branches of any of the kernel's loops, and the field CLRBHB of ID_AA64ISAR2_EL1. */
#define ARCH_HISTORY_MAX	132
#define ARCH_ISAR2_CLRBHB	28

/*
 * Taken branches that clear a CPU's branch history (BARRIER), as after users' BPF programs: none
 * where the kernel itself is not protected, or all CPUs have clearbhb; else as many as in its own
 * loop.
 */
static inline u32 arch_history(void)
{
	enum mitigation_state (*state)(void) = symbols_find("arm64_get_spectre_bhb_state");
	u8 (*loop)(void) = symbols_find("get_spectre_bhb_loop_value");
	u64 isar2 = read_sanitised_ftr_reg(SYS_ID_AA64ISAR2_EL1);

	if ((state && state() == SPECTRE_VULNERABLE) ||
	    cpuid_feature_extract_unsigned_field(isar2, ARCH_ISAR2_CLRBHB))
		return 0;
	return (loop ? loop() : 0) ?: ARCH_HISTORY_MAX;
}

/* The kernel does not track which CPUs run a memory map: all CPUs learn of new code. */
static inline u64 arch_code_map(const struct mm_struct *mm)
{
	return 0;
}

/*
 * To be called when code has been written, by another mapping, where it is executed: instruction
 * caches do not look into data caches.
 */
static inline void arch_code_written(const void *code, size_t size)
{
	caches_clean_inval_pou((unsigned long)code, (unsigned long)code + size);
}

/* Makes this CPU discard instructions that it fetched before they were overwritten. */
static inline void arch_sync_code(void)
{
	isb();
}

#endif /* CONFINED_ARCH_CODE_H */
