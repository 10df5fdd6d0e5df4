/* SPDX-License-Identifier: GPL-2.0 */
/* The bits of a thread that make the system call entry look for observers: among its flags. */
#ifndef SYSCRIPT_ARCH_WATCH_H
#define SYSCRIPT_ARCH_WATCH_H

#include <linux/compiler.h>
#include <linux/thread_info.h>

#define WATCH_FILTERS	_TIF_SECCOMP
#define WATCH_EVENTS	_TIF_SYSCALL_TRACEPOINT
/* Ptrace's stops. */
#define WATCH_AT_ENTRY	(_TIF_SYSCALL_TRACE | _TIF_SYSCALL_EMU)
#define WATCH_ALL	(WATCH_FILTERS | WATCH_EVENTS | WATCH_AT_ENTRY)

/*
 * The bits of @task, which is current.  Other threads change them at any time.  No READ_ONCE(),
 * which would cost an instruction in each call of a script.
 */
static __always_inline unsigned long watch_bits(const struct task_struct *task)
{
	return data_race(task_thread_info(task)->flags) & WATCH_ALL;
}

/* The bits of the current task, read once for several decisions. */
static __always_inline unsigned long watch_bits_once(void)
{
	return READ_ONCE(current_thread_info()->flags) & WATCH_ALL;
}

#endif /* SYSCRIPT_ARCH_WATCH_H */
