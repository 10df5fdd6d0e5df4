/* SPDX-License-Identifier: GPL-2.0 */
/* files_read(), for its gate (gates.c). */
#ifndef SYSCRIPT_FILES_ENTRY_H
#define SYSCRIPT_FILES_ENTRY_H

#include "files.h"

struct pt_regs;

/*
 * On the task's stack, where nothing watches the task: @regs has the run and the
 * struct files_reading.  As the entries of system calls, but -EINTR for -ERESTART*.
 */
long files_read_entry(const struct pt_regs *regs);

/* The same from anywhere in a run. */
long files_read_sleepable(struct run *run, struct files_reading *reading);

#endif /* SYSCRIPT_FILES_ENTRY_H */
