/* SPDX-License-Identifier: GPL-2.0 */
/* Ports of frames as the module's core sees them: what frames.h hides from engines. */
#ifndef SYSCRIPT_FRAMES_OWN_H
#define SYSCRIPT_FRAMES_OWN_H

#include <linux/init.h>
#include <linux/types.h>

struct frames_port;

/* Without what it looks for, frames_open() returns -EOPNOTSUPP. */
void __init frames_init(void);

/*
 * A program's ports: no frame and no socket is held from here on, but for what is to
 * be kept, if @may_keep.
 */
void frames_end_run(struct frames_port *ports, bool may_keep);
/* After that: nothing is. */
void frames_release(struct frames_port *ports);

#endif /* SYSCRIPT_FRAMES_OWN_H */
