/* SPDX-License-Identifier: GPL-2.0 */
/* The flags of a thread that stand for work before it returns to user mode: usermode.h. */
#ifndef SYSCRIPT_ARCH_USERMODE_H
#define SYSCRIPT_ARCH_USERMODE_H

#include <linux/entry-common.h>

#define ARCH_USERMODE_WORK	EXIT_TO_USER_MODE_WORK
/* Further flags: work that may wait for the return, and work that ends a run. */
#define ARCH_USERMODE_WAITS	0
#define ARCH_USERMODE_ENDS	0

#endif /* SYSCRIPT_ARCH_USERMODE_H */
