/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bits of a thread that make the system call entry look for observers: on x86 a word of
 * their own (CONFIG_GENERIC_ENTRY), which is 0 for most threads.
 */
#ifndef SYSCRIPT_ARCH_WATCH_H
#define SYSCRIPT_ARCH_WATCH_H

#include <linux/thread_info.h>

#define WATCH_FILTERS	SYSCALL_WORK_SECCOMP
#define WATCH_EVENTS	SYSCALL_WORK_SYSCALL_TRACEPOINT
/* Ptrace's stops, and system call user dispatch. */
#define WATCH_AT_ENTRY	(SYSCALL_WORK_SYSCALL_TRACE | SYSCALL_WORK_SYSCALL_EMU |	\
			 SYSCALL_WORK_SYSCALL_USER_DISPATCH)
#define WATCH_ALL	(WATCH_FILTERS | WATCH_EVENTS | WATCH_AT_ENTRY)

/* The word of a struct thread_info that has them. */
#define WATCH_WORD	syscall_work

#endif /* SYSCRIPT_ARCH_WATCH_H */
