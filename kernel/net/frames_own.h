/* SPDX-License-Identifier: GPL-2.0 */
/* Ports of frames as the module sees them: what frames.h hides from engines. */
#ifndef SYSCRIPT_FRAMES_OWN_H
#define SYSCRIPT_FRAMES_OWN_H

#include <linux/init.h>

/* Without what it looks for, frames_open() returns -EOPNOTSUPP. */
void __init frames_init(void);

#endif /* SYSCRIPT_FRAMES_OWN_H */
