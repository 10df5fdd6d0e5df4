/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flags of a thread that stand for work before it returns to user mode: usermode.h. arm64 has
 * two of its own: the FPU's registers, which no code of a run uses, wait; an asynchronous tag
 * fault (MTE) is about to become a signal.
 */
#ifndef SYSCRIPT_ARCH_USERMODE_H
#define SYSCRIPT_ARCH_USERMODE_H

#include <linux/thread_info.h>
#ifdef CONFIG_GENERIC_IRQ_ENTRY
#include <linux/irq-entry-common.h>
#define ARCH_USERMODE_WORK	EXIT_TO_USER_MODE_WORK
#else
#define ARCH_USERMODE_WORK	_TIF_WORK_MASK
#endif

#define ARCH_USERMODE_WAITS	_TIF_FOREIGN_FPSTATE
#define ARCH_USERMODE_ENDS	_TIF_MTE_ASYNC_FAULT

#endif /* SYSCRIPT_ARCH_USERMODE_H */
