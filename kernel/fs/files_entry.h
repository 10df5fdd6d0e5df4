/* SPDX-License-Identifier: GPL-2.0 */
/* files_read() as a function on the task's stack, for its thunk in syscall_thunks.c. */
#ifndef SYSCRIPT_FILES_ENTRY_H
#define SYSCRIPT_FILES_ENTRY_H

#include "fs/files.h"

struct pt_regs;

/*
 * Called on the task's stack, for tasks without observers.  @regs has the run and the struct
 * files_reading.  Returns as entries of system calls do, with -EINTR for -ERESTART*.
 */
long files_read_entry(const struct pt_regs *regs);

/* As above, callable anywhere in a run. */
long files_read_sleepable(struct run *run, struct files_reading *reading);

#endif /* SYSCRIPT_FILES_ENTRY_H */
