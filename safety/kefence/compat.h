/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that Kefence builds for, from 6.1 to the
 * newest, but for the allocator's functions, which are in stand_ins.h.
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

/* Caches that are one to the kernel would be one to Kefence. */
#ifdef SLAB_NO_MERGE
#define COMPAT_SLAB_NO_MERGE	SLAB_NO_MERGE
#else
#define COMPAT_SLAB_NO_MERGE	SLAB_NOLEAKTRACE
#endif

/* As kefence.h has it, which is not for Kefence's own sources. */
#define KEFENCE_GFP_STRUCT	((__force gfp_t)(1U << 31))

#endif /* KEFENCE_COMPAT_H */
