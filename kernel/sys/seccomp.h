/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asks seccomp filters about the call in the task's registers, by the kernel's own function,
 * which evaluates and logs the filters and carries out their verdict.
 */
#ifndef SYSCRIPT_SECCOMP_H
#define SYSCRIPT_SECCOMP_H

#include <linux/types.h>

struct pt_regs;

/* If the kernel has no such function, filters cannot be asked. */
void filters_init(void);
void filters_exit(void);

bool filters_can_be_asked(void);

#define FILTERS_NOT_ASKED	-2

/*
 * 0: the filters allow the call; if the task has slept, its state may have changed. -1: a filter
 * refuses it.  FILTERS_NOT_ASKED: this kernel cannot ask.  On the task's own stack; may sleep,
 * and may end the thread by do_exit(): deferred_exit.h.
 */
long filters_ask(const struct pt_regs *unused);

#endif /* SYSCRIPT_SECCOMP_H */
