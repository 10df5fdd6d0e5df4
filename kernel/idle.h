/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripts keep memory between calls, and engines keep some for future programs.  What has not
 * been used for some seconds is freed here.
 */
#ifndef SYSCRIPT_IDLE_H
#define SYSCRIPT_IDLE_H

/* A script has been made: check for idle ones from now on. */
void idle_watch(void);

/* When the module is unloaded: there are no scripts, and there will be none. */
void idle_exit(void);

#endif /* SYSCRIPT_IDLE_H */
