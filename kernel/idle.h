/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripts keep memory between calls, and engines keep some for future programs.  A worker frees
 * memory that has not been used for some seconds.
 */
#ifndef SYSCRIPT_IDLE_H
#define SYSCRIPT_IDLE_H

/* A script has been made: check for idle ones from now on. */
void idle_watch(void);

/* When the module is unloaded, and there can be no scripts any more. */
void idle_exit(void);

#endif /* SYSCRIPT_IDLE_H */
