/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Numbers of system calls that x86-64 has and arm64 lacks.
 *
 * Calls that a newer one replaces exactly (open by openat) have a number here, from the end of
 * the tables downwards, which no kernel uses: images name them by it, and who makes the call makes
 * the newer one (old_calls.h). The others are SYSCALL_ABSENT.
 */
#ifndef SYSCRIPT_ARM64_SYSCALLS_NR_H
#define SYSCRIPT_ARM64_SYSCALLS_NR_H

#define SYSCALL_ABSENT		0xffff

#define SYSCALL_OLD_FIRST	486
#define __NR_access	486
#define __NR_alarm	487
#define __NR_chmod	488
#define __NR_chown	489
#define __NR_creat	490
#define __NR_dup2	491
#define __NR_epoll_create	492
#define __NR_epoll_wait	493
#define __NR_eventfd	494
#define __NR_getpgrp	495
#define __NR_inotify_init	496
#define __NR_lchown	497
#define __NR_link	498
#define __NR_lstat	499
#define __NR_mkdir	500
#define __NR_mknod	501
#define __NR_open	502
#define __NR_pipe	503
#define __NR_poll	504
#define __NR_readlink	505
#define __NR_rename	506
#define __NR_rmdir	507
#define __NR_signalfd	508
#define __NR_stat	509
#define __NR_symlink	510
#define __NR_unlink	511

#define __NR__sysctl	SYSCALL_ABSENT
#define __NR_afs_syscall	SYSCALL_ABSENT
#define __NR_arch_prctl	SYSCALL_ABSENT
#define __NR_create_module	SYSCALL_ABSENT
#define __NR_epoll_ctl_old	SYSCALL_ABSENT
#define __NR_epoll_wait_old	SYSCALL_ABSENT
#define __NR_fork	SYSCALL_ABSENT
#define __NR_futimesat	SYSCALL_ABSENT
#define __NR_get_kernel_syms	SYSCALL_ABSENT
#define __NR_get_thread_area	SYSCALL_ABSENT
#define __NR_getdents	SYSCALL_ABSENT
#define __NR_getpmsg	SYSCALL_ABSENT
#define __NR_ioperm	SYSCALL_ABSENT
#define __NR_iopl	SYSCALL_ABSENT
#define __NR_modify_ldt	SYSCALL_ABSENT
#define __NR_pause	SYSCALL_ABSENT
#define __NR_putpmsg	SYSCALL_ABSENT
#define __NR_query_module	SYSCALL_ABSENT
#define __NR_security	SYSCALL_ABSENT
#define __NR_select	SYSCALL_ABSENT
#define __NR_set_thread_area	SYSCALL_ABSENT
#define __NR_sysfs	SYSCALL_ABSENT
#define __NR_time	SYSCALL_ABSENT
#define __NR_tuxcall	SYSCALL_ABSENT
#define __NR_uprobe	SYSCALL_ABSENT
#define __NR_uretprobe	SYSCALL_ABSENT
#define __NR_uselib	SYSCALL_ABSENT
#define __NR_ustat	SYSCALL_ABSENT
#define __NR_utime	SYSCALL_ABSENT
#define __NR_utimes	SYSCALL_ABSENT
#define __NR_vfork	SYSCALL_ABSENT
#define __NR_vserver	SYSCALL_ABSENT

#endif /* SYSCRIPT_ARM64_SYSCALLS_NR_H */
