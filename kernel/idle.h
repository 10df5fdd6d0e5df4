/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frees memory that idles: that of scripts which have not been called for some
 * seconds, and what engines keep for programs to come.
 */
#ifndef SYSCRIPT_IDLE_H
#define SYSCRIPT_IDLE_H

/* There is a script: look at it from now on. */
void idle_watch(void);

/* If there is none and will be none. */
void idle_exit(void);

#endif /* SYSCRIPT_IDLE_H */
