/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The architecture's part of managing machine code in the kernel: a filler for unused bytes, and
 * how a CPU learns of new code.
 */
#ifndef CONFINED_ARCH_CODE_H
#define CONFINED_ARCH_CODE_H

#include <linux/mm_types.h>
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

/* Branches that clear a CPU's branch history: the stubs know them. */
static inline u32 arch_history(void)
{
	return 0;
}

/*
 * The id of the memory map @mm, never reused. Interrupting mm_cpumask() is enough for new code of
 * @mm: a CPU that loads @mm later serialises by its write to CR3. An architecture where that is
 * not so returns 0.
 */
static inline u64 arch_code_map(const struct mm_struct *mm)
{
	return mm->context.ctx_id;
}

/* To be called when code has been written, by another mapping, where it is executed. */
static inline void arch_code_written(const void *code, size_t size)
{
}

/* Makes this CPU discard instructions that it fetched before they were overwritten. */
static inline void arch_sync_code(void)
{
	sync_core();
}

#endif /* CONFINED_ARCH_CODE_H */
