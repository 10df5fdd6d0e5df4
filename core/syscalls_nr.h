/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Numbers of the system calls in syscalls.def, also with headers older than
 * the call. Since Linux 5.1 all architectures give new calls the same numbers.
 */
#ifndef SYSCRIPT_SYSCALLS_NR_H
#define SYSCRIPT_SYSCALLS_NR_H

#if !defined(__LP64__) || (!defined(__x86_64__) && !defined(__aarch64__))
#error "syscript knows the system calls of x86-64 and arm64 only"
#endif

#include <asm/unistd.h>

#ifdef __x86_64__
#include "arch/x86/syscalls_nr.h"
#else
#include "arch/arm64/syscalls_nr.h"
#endif

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_lsm_list_modules
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_getxattrat
#define __NR_getxattrat 464
#endif
#ifndef __NR_listxattrat
#define __NR_listxattrat 465
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif
#ifndef __NR_listns
#define __NR_listns 470
#endif
#ifndef __NR_rseq_slice_yield
#define __NR_rseq_slice_yield 471
#endif

#endif /* SYSCRIPT_SYSCALLS_NR_H */
