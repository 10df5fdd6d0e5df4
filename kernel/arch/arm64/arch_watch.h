/* SPDX-License-Identifier: GPL-2.0 */
/* The bits of a thread that make the system call entry look for observers: among its flags. */
#ifndef SYSCRIPT_ARCH_WATCH_H
#define SYSCRIPT_ARCH_WATCH_H

#include <linux/thread_info.h>

#define WATCH_FILTERS	_TIF_SECCOMP
#define WATCH_EVENTS	_TIF_SYSCALL_TRACEPOINT
/* Ptrace's stops. */
#define WATCH_AT_ENTRY	(_TIF_SYSCALL_TRACE | _TIF_SYSCALL_EMU)
#define WATCH_ALL	(WATCH_FILTERS | WATCH_EVENTS | WATCH_AT_ENTRY)

/* The word of a struct thread_info that has them. */
#define WATCH_WORD	flags

#endif /* SYSCRIPT_ARCH_WATCH_H */
