/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that Kefence builds for, from 6.1 to the newest. Differences in
 * the allocator's functions are in stand_ins.h.
 */
#ifndef KEFENCE_COMPAT_H
#define KEFENCE_COMPAT_H

#include <linux/ftrace.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "kefence needs Linux 6.1 or newer"
#endif

#ifndef ftrace_regs_set_instruction_pointer
#define ftrace_regs_set_instruction_pointer ftrace_instruction_pointer_set
#endif

/* Caches that the kernel merges could not be told apart. */
#ifdef SLAB_NO_MERGE
#define COMPAT_SLAB_NO_MERGE	SLAB_NO_MERGE
#else
#define COMPAT_SLAB_NO_MERGE	SLAB_NOLEAKTRACE
#endif

/* As in kefence.h, which Kefence's own sources do not include. */
#define KEFENCE_GFP_STRUCT	((__force gfp_t)(1U << 31))

#endif /* KEFENCE_COMPAT_H */
