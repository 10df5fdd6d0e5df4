/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of ports that only the module's core calls, and that frames.h hides from engines. */
#ifndef SYSCRIPT_FRAMES_OWN_H
#define SYSCRIPT_FRAMES_OWN_H

#include <linux/init.h>

/* If the kernel lacks a function, frames_open() returns -EOPNOTSUPP. */
void __init frames_init(void);

#endif /* SYSCRIPT_FRAMES_OWN_H */
